//! Lookups that found nothing in what is no dict, and whose new call minds.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::decided::findings;

/// The confidence of the one lookup in what `self->d` or `shared` holds, whose package stores into
/// it by `store` and asks by `test`.
fn lookup(store: &str, test: &str, container: &str) -> String {
    let text = format!(
        "#include <Python.h>
typedef struct {{ PyObject_HEAD PyObject *d; }} Box;
static PyObject *shared;
static int Box_init(Box *self, PyObject *args, PyObject *kwds) {{
    PyObject *v = NULL;
    {store}
    return 0;
}}
static PyObject *Box_get(Box *self, PyObject *ignored) {{
    PyObject *item;
    {test}
    item = PyDict_GetItemString({container}, \"key\");
    if (item == NULL) {{
        PyErr_SetString(PyExc_KeyError, \"key\");
        return NULL;
    }}
    return PyObject_Str(item);
}}
static PyMethodDef methods[] = {{
    {{\"get\", (PyCFunction)Box_get, METH_NOARGS, NULL}},
    {{NULL}}
}};
static PyTypeObject Box_Type = {{
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = \"m.Box\",
    .tp_init = (initproc)Box_init,
    .tp_methods = methods,
}};
"
    );
    let found = findings(&text, "UG1");
    let [lookup] = &found[..] else {
        panic!("{} findings", found.len());
    };
    let said = &lookup["outcome"]["assumptions"];
    let said = said.as_array().unwrap().iter();
    let doubts = said.filter(|it| {
        it.as_str()
            .unwrap()
            .starts_with("the first argument is a dict")
    });
    let confidence = lookup["outcome"]["confidence"].as_str().unwrap();
    format!("{confidence}, {} doubts", doubts.count())
}

const PARSED: &str = r#"if (!PyArg_ParseTuple(args, "O", &v)) return -1;
    Py_INCREF(v); Py_XSETREF(self->d, v);"#;
const NONE: &str = "Py_INCREF(Py_None); self->d = Py_None;";
const MADE: &str = "v = PyDict_New(); if (v == NULL) return -1; Py_XSETREF(self->d, v);";

#[test]
fn a_field_of_what_python_gave() {
    assert_eq!(lookup(PARSED, "", "self->d"), "review, 1 doubts");
    let checked = "if (!PyDict_Check(self->d)) Py_RETURN_NONE;";
    assert_eq!(lookup(PARSED, checked, "self->d"), "safe, 0 doubts");
    let parsed = PARSED.replace(r#""O", "#, r#""O!", &PyDict_Type, "#);
    assert_eq!(lookup(&parsed, "", "self->d"), "safe, 0 doubts");
    assert_eq!(lookup(MADE, "", "self->d"), "safe, 0 doubts");
}

#[test]
fn a_field_that_may_be_none() {
    assert_eq!(lookup(NONE, "", "self->d"), "review, 1 doubts");
    let compared = "if (self->d == Py_None) Py_RETURN_NONE;";
    assert_eq!(lookup(NONE, compared, "self->d"), "safe, 0 doubts");
    let elsewhere = "if (self->d == Py_None) PyErr_Clear();";
    assert_eq!(lookup(NONE, elsewhere, "self->d"), "review, 1 doubts");
}

#[test]
fn a_static_variable() {
    let store = |text: &str| text.replace("self->d", "shared");
    assert_eq!(lookup(&store(PARSED), "", "shared"), "review, 1 doubts");
    assert_eq!(lookup(&store(NONE), "", "shared"), "review, 1 doubts");
    assert_eq!(lookup(&store(MADE), "", "shared"), "safe, 0 doubts");
}

#[test]
fn an_attribute_is_anything() {
    let store = r#"v = PyObject_GetAttrString(args, "d"); if (v == NULL) return -1;
    Py_XSETREF(self->d, v);"#;
    assert_eq!(lookup(store, "", "self->d"), "review, 1 doubts");
}

#[test]
fn none_in_the_place_of_a_dict() {
    let either = "self->d ? self->d : Py_None";
    assert_eq!(lookup(MADE, "", either), "review, 1 doubts");
    let local = "PyObject *d = Py_None; if (ignored) d = self->d;";
    assert_eq!(lookup(MADE, local, "d"), "review, 1 doubts");
    let compared = format!("{local} if (d == Py_None) return PyErr_NoMemory();");
    assert_eq!(lookup(MADE, &compared, "d"), "safe, 0 doubts");
}

#[test]
fn another_object_in_the_place_of_a_dict() {
    let store = NONE.replace("Py_None", "Py_Ellipsis");
    assert_eq!(lookup(&store, "", "self->d"), "review, 1 doubts");
    let local = "PyObject *d = Py_False; if (ignored) d = self->d;";
    assert_eq!(lookup(MADE, local, "d"), "review, 1 doubts");
    let proxy = MADE.replace("PyDict_New()", "PyDictProxy_New(args)");
    assert_eq!(lookup(&proxy, "", "self->d"), "review, 1 doubts");
    let copied = MADE.replace("self->d, v", "self->d, Py_NewRef(v)");
    assert_eq!(lookup(&copied, "", "self->d"), "safe, 0 doubts");
}
