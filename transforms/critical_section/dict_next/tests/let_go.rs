//! Loops over what the function has made and given up again.

use super::diff;

/// What the fix for a loop behind `made` takes for granted.
fn assumed(made: &str) -> String {
    let changed = diff(&format!(
        "
static PyObject *f(PyObject *o, PyObject *list)
{{
    PyObject *d, *t, *value;
    Py_ssize_t pos = 0;
    long n = 0;
    {made}
    while (PyDict_Next(d, &pos, NULL, &value))
        n += PyObject_IsTrue(value);
    return PyLong_FromLong(n);
}}
"
    ));
    let holds = changed.contains("+    Py_INCREF(d);\n+    Py_BEGIN_CRITICAL_SECTION(d);");
    let lines = changed.lines().map(str::trim);
    let said = lines.filter(|line| line.starts_with("safe:") || line.starts_with("assumes"));
    let said: Vec<&str> = said.collect();
    format!("{} {holds}", said.join("; "))
}

#[test]
fn a_dict_that_the_function_has_given_up_is_kept_by_others() {
    let made = "d = PyObject_GetAttrString(o, \"d\"); if (d == NULL) return NULL;";
    let kept = |then: &str| assumed(&format!("{made} {then}"));
    let is_safe = "safe: iterate over `d` in a critical section false";
    let is_gone = "assumes that another reference keeps `d` alive until the section begins true";
    assert_eq!(kept(""), is_safe);
    assert_eq!(kept("Py_DECREF(d);"), is_gone);
    assert_eq!(kept("Py_XDECREF(d);"), is_gone);
    // A reference of its own is left.
    assert_eq!(kept("Py_INCREF(d); Py_DECREF(d);"), is_safe);
    assert_eq!(kept("Py_INCREF(d); PyTuple_SET_ITEM(o, 0, d);"), is_safe);
    let twice = "Py_INCREF(d); PyTuple_SET_ITEM(o, 0, d); Py_DECREF(d);";
    assert_eq!(kept(twice), is_gone);
    // On one path only.
    assert_eq!(kept("if (list) Py_DECREF(d);"), is_gone);
    assert_eq!(kept("if (!list) { Py_DECREF(d); return NULL; }"), is_safe);
    // Given to a tuple, or to a list that has its own.
    let tuple = "t = PyTuple_New(1); PyTuple_SET_ITEM(t, 0, d); PyObject_Call(o, t, NULL);";
    assert_eq!(kept(tuple), is_gone);
    let list = "if (PyList_Append(list, d) < 0) { Py_DECREF(d); return NULL; }";
    assert_eq!(kept(list), is_safe);
    assert_eq!(kept(&format!("{list} Py_DECREF(d);")), is_gone);
    // By another name, by another function, or by a format.
    assert_eq!(kept("t = d; Py_DECREF(t);"), is_gone);
    assert_eq!(kept("Py_DecRef(d);"), is_gone);
    let built = "t = Py_BuildValue(\"(iN)\", 1, d); PyList_Append(list, t);";
    assert_eq!(kept(built), is_gone);
    // What was released is another one.
    let again = "Py_DECREF(d); d = PyObject_GetAttrString(o, \"e\"); if (!d) return NULL;";
    assert_eq!(kept(again), is_safe);
}

#[test]
fn a_dict_lives_by_what_it_is_taken_from() {
    let module = "t = PyImport_ImportModule(\"m\"); if (!t) return NULL; d = PyModule_GetDict(t);";
    let kept = |then: &str| assumed(&format!("{module} {then}"));
    assert!(kept("").starts_with("safe"));
    assert!(kept("Py_DECREF(t);").starts_with("assumes"));
    let alias = "t = PyObject_CallNoArgs(o); if (!t) return NULL; d = t;";
    assert!(assumed(alias).starts_with("safe"));
    assert!(assumed(&format!("{alias} Py_DECREF(t);")).starts_with("assumes"));
}

#[test]
fn a_parameter_lives_by_what_the_callers_have() {
    let changed = |then: &str| {
        diff(&format!(
            "
static long count(PyObject *d)
{{
    PyObject *value;
    Py_ssize_t pos = 0;
    long n = 0;
    while (PyDict_Next(d, &pos, NULL, &value))
        n += PyObject_IsTrue(value);
    return n;
}}
static PyObject *f(PyObject *o)
{{
    PyObject *d = PyObject_GetAttrString(o, \"d\");
    long n;
    if (d == NULL)
        return NULL;
    {then}
}}
"
        ))
    };
    let after = changed("n = count(d); Py_DECREF(d); return PyLong_FromLong(n);");
    assert!(after.contains("safe: "), "{after}");
    let before = changed("Py_DECREF(d); return PyLong_FromLong(count(d));");
    assert!(before.contains("keeps `d` alive until"), "{before}");
}
