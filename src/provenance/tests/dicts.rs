//! Arguments that are dicts for sure.

use super::super::Cx;
use crate::program::testing::with_program;
use crate::program::{Body, CallIndex};
use crate::roles::Roles;

/// The functions of the file whose `PyDict_GetItem` gets a dict for sure.
fn sure(text: &str) -> String {
    with_program(&[("a.c", text)], |program| {
        let calls = CallIndex::new(program);
        let roles = Roles::new(program);
        let cx = Cx::new(program, &calls, &roles);
        let sites = calls.calls_to("PyDict_GetItem").iter();
        let names = sites.filter(|site| cx.is_dict(**site, 0)).map(|site| {
            match &program.items[site.item.0 as usize].body {
                Some(Body::Function(function)) => function.name.as_str(),
                _ => "?",
            }
        });
        names.collect::<Vec<_>>().join(" ")
    })
}

#[test]
fn calls_that_make_dicts() {
    let text = r#"
static PyObject *helper(void) { return PyDict_New(); }
static PyObject *other(PyObject *d) { return d; }
PyObject *made(PyObject *k) { PyObject *d = PyDict_New(); return PyDict_GetItem(d, k); }
PyObject *module(PyObject *m, PyObject *k) { return PyDict_GetItem(PyModule_GetDict(m), k); }
PyObject *by_helper(PyObject *k) { PyObject *d = helper(); return PyDict_GetItem(d, k); }
PyObject *by_other(PyObject *k) { PyObject *d = other(k); return PyDict_GetItem(d, k); }
PyObject *attribute(PyObject *o, PyObject *k) {
    PyObject *d = PyObject_GetAttrString(o, "d");
    return PyDict_GetItem(d, k);
}
PyObject *none(PyObject *k, int n) {
    PyObject *d = PyDict_New();
    if (n)
        d = Py_None;
    return PyDict_GetItem(d, k);
}
"#;
    insta::assert_snapshot!(sure(text), @"made module by_helper");
}

#[test]
fn parsed_arguments() {
    let text = r#"
PyObject *typed(PyObject *self, PyObject *args) {
    PyObject *d, *k;
    if (!PyArg_ParseTuple(args, "O!O", &PyDict_Type, &d, &k)) return NULL;
    return PyDict_GetItem(d, k);
}
PyObject *untyped(PyObject *self, PyObject *args) {
    PyObject *d, *k;
    if (!PyArg_ParseTuple(args, "OO", &d, &k)) return NULL;
    return PyDict_GetItem(d, k);
}
"#;
    insta::assert_snapshot!(sure(text), @"typed");
}

#[test]
fn checks_on_every_path() {
    let text = r#"
PyObject *inside(PyObject *d, PyObject *k) {
    if (PyDict_Check(d))
        return PyDict_GetItem(d, k);
    return NULL;
}
PyObject *behind(PyObject *d, PyObject *k) {
    if (!PyDict_CheckExact(d))
        return NULL;
    return PyDict_GetItem(d, k);
}
PyObject *wrong_branch(PyObject *d, PyObject *k) {
    if (!PyDict_Check(d))
        return PyDict_GetItem(d, k);
    return NULL;
}
PyObject *one_path(PyObject *d, PyObject *k, int n) {
    if (n && !PyDict_Check(d))
        return NULL;
    return PyDict_GetItem(d, k);
}
PyObject *set_again(PyObject *d, PyObject *k) {
    if (!PyDict_Check(d))
        return NULL;
    d = k;
    return PyDict_GetItem(d, k);
}
PyObject *another(PyObject *d, PyObject *k) {
    if (!PyDict_Check(k))
        return NULL;
    return PyDict_GetItem(d, k);
}
"#;
    insta::assert_snapshot!(sure(text), @"inside behind");
}

#[test]
fn parameters_of_helpers_and_variables() {
    let text = r#"
static PyObject *cache, *mixed;
static PyObject *helper(PyObject *d, PyObject *k) { return PyDict_GetItem(d, k); }
static PyObject *open_helper(PyObject *d, PyObject *k) { return PyDict_GetItem(d, k); }
void calls(PyObject *o, PyObject *k) {
    PyObject *d = PyDict_New();
    helper(d, k);
    open_helper(d, k);
    open_helper(o, k);
    cache = d;
    mixed = d;
    mixed = o;
}
PyObject *global(PyObject *k) { return PyDict_GetItem(cache, k); }
PyObject *mixed_global(PyObject *k) { return PyDict_GetItem(mixed, k); }
"#;
    insta::assert_snapshot!(sure(text), @"helper global");
}

#[test]
fn fields_that_only_get_dicts() {
    let text = r#"
typedef struct { PyObject_HEAD PyObject *memo; PyObject *given; PyObject *shown; } Foo;
int init(Foo *self, PyObject *args) {
    self->memo = PyDict_New();
    self->shown = PyDict_New();
    return PyArg_ParseTuple(args, "O", &self->given) - 1;
}
int clear(Foo *self) { Py_CLEAR(self->memo); self->shown = NULL; return 0; }
static PyMemberDef members[] = {{"shown", 6, offsetof(Foo, shown)}, {NULL}};
PyObject *field(Foo *self, PyObject *k) { return PyDict_GetItem(self->memo, k); }
PyObject *given_field(Foo *self, PyObject *k) { return PyDict_GetItem(self->given, k); }
PyObject *shown_field(Foo *self, PyObject *k) { return PyDict_GetItem(self->shown, k); }
PyObject *type_dict(PyTypeObject *t, PyObject *k) { return PyDict_GetItem(t->tp_dict, k); }
"#;
    insta::assert_snapshot!(sure(text), @"field type_dict");
}
