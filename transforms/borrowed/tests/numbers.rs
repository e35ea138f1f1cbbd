//! Results that turn into numbers, and functions whose results are declared anew.

use super::super::dict_item::BORROWED_DICT_ITEM;
use super::super::list_item::BORROWED_LIST_ITEM;
use super::{all, object};
use crate::testing::report;

/// What the rule about dicts finds in a function with this body.
fn found(result: &str, body: &str) -> String {
    let body = body.trim_matches('\n');
    let text = format!("static {result} f(PyObject *d, PyObject *k)\n{{\n{body}\n}}\n");
    report(&BORROWED_DICT_ITEM, &text)
}

#[test]
fn a_truth_only_asks() {
    insta::assert_snapshot!(found("bool", r#"
    bool there;
    if (!PyDict_Check(d))
        return false;
    there = PyDict_GetItemWithError(d, k);
    return there;
"#), @"
    6: `PyDict_GetItemWithError` returns a borrowed reference from `d`, which the caller passes; another thread can free the object
      6: borrowed here
      7: used here, after another thread may have freed it
      safe: only test whether the key is present (`PyDict_GetItemWithError` → `PyDict_Contains`)
    ");
    insta::assert_snapshot!(found("_Bool", "    return PyDict_GetItemWithError(d, k);"), @"
    3: `PyDict_GetItemWithError` returns a borrowed reference, but the code does not use the object
      safe as it is: the code only asks whether the key is present
    ");
    insta::assert_snapshot!(found("int", r#"
    int there = (bool)PyDict_GetItemString(d, "k");
    return there;
"#), @"
    3: `PyDict_GetItemString` returns a borrowed reference, but the code does not use the object
      safe as it is: the code only asks whether the key is present
    ");
}

#[test]
fn a_number_owns_nothing() {
    for (ty, cast) in [
        ("int", "(int)(long)"),
        ("uint32_t", "(uint32_t)(uintptr_t)"),
        ("uintptr_t", "(uintptr_t)"),
        ("unsigned long", "(unsigned long)"),
        ("handle", "(handle)"),
    ] {
        let body = format!("    {ty} a = {cast}PyDict_GetItem(d, k);\n    return a != 0;");
        let found = found("int", &body);
        assert!(
            found.contains("`a` is not known to be a pointer"),
            "{ty}: {found}"
        );
    }
    let text = "typedef char bool;\nstatic int f(PyObject *d, PyObject *k)\n{\n    bool b = (bool)(long)PyDict_GetItem(d, k);\n    return b;\n}\n";
    insta::assert_snapshot!(report(&BORROWED_DICT_ITEM, text), @"
    4: `PyDict_GetItem` returns a borrowed reference from `d`, which the caller passes; another thread can free the object
      4: borrowed here
      5: used here, after another thread may have freed it
      by hand: hold the object in a `PyObject *` variable, and read from that what the code needs (`b` is not known to be a pointer, so it cannot own the object)
    ");
    let text =
        "static int f(PyObject *l)\n{\n    bool b = PyList_GetItem(l, 0);\n    return b;\n}\n";
    insta::assert_snapshot!(report(&BORROWED_LIST_ITEM, text), @"
    3: `PyList_GetItem` returns a borrowed reference from `l`, which the caller passes; another thread can free the object
      3: borrowed here
      4: used here, after another thread may have freed it
      by hand: hold the object in a `PyObject *` variable, and read from that what the code needs (`b` is not known to be a pointer, so it cannot own the object)
    ");
}

#[test]
fn an_address_in_a_number_is_used_before_the_release() {
    insta::assert_snapshot!(object(r#"
    PyObject *v = PyDict_GetItemWithError(dict, key);
    unsigned long text;
    PyObject *r;
    if (v == NULL)
        return NULL;
    text = (unsigned long)PyUnicode_AsUTF8(v);
    r = PyUnicode_FromString((char *)text);
    return r;
"#), @"
    @@
     static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *v = PyDict_GetItemWithError(dict, key);
    +    PyObject *v;
         unsigned long text;
         PyObject *r;
    +    (void)PyDict_GetItemRef(dict, key, &v);
         if (v == NULL)
             return NULL;
         text = (unsigned long)PyUnicode_AsUTF8(v);
         r = PyUnicode_FromString((char *)text);
    +    Py_DECREF(v);
         return r;
     }
    ");
    insta::assert_snapshot!(found("unsigned long", r#"
    PyObject *v = PyDict_GetItemWithError(d, k);
    if (v == NULL)
        return 0;
    return (unsigned long)PyUnicode_AsUTF8(v);
"#), @"
    3: `PyDict_GetItemWithError` returns a borrowed reference from `d`, which the caller passes; another thread can free the object
      3: borrowed here
      6: used here, after another thread may have freed it
      by hand: keep a strong reference as long as the pointer (a pointer into the object in `v` is returned or stored, and would dangle)
    ");
}

#[test]
fn results_are_declared_without_what_qualifies_them() {
    for (result, declared) in [
        ("const int", "int result;"),
        ("volatile int", "int result;"),
        ("_Bool", "_Bool result;"),
        ("const char *const *", "const char *const *result;"),
    ] {
        let text = format!(
            "static {result} f(PyObject *d, PyObject *k)\n{{\n    PyObject *v = PyDict_GetItemWithError(d, k);\n    return PyObject_IsTrue(v) ? many : one;\n}}\n"
        );
        let new = all(&text);
        let declared = format!("+    {declared}\n");
        assert!(new.contains(&declared), "{new}");
    }
    let text = "typedef const int status;\nstatic status f(PyObject *d, PyObject *k)\n{\n    PyObject *v = PyDict_GetItemWithError(d, k);\n    return use(v);\n}\n";
    insta::assert_snapshot!(report(&BORROWED_DICT_ITEM, text), @"
    4: `PyDict_GetItemWithError` returns a borrowed reference from `d`, which the caller passes; another thread can free the object
      4: borrowed here
      5: used here, after another thread may have freed it
      by hand: release `the result` by hand, or restructure the function (no statement after its last use is reached on every path)
    ");
}

#[test]
fn a_comma_is_put_into_parentheses() {
    insta::assert_snapshot!(object(r#"
    PyObject *v = PyDict_GetItemWithError(dict, key);
    if (v == NULL)
        return PyErr_SetString(PyExc_KeyError, "key"), NULL;
    if (PyLong_Check(v))
        return PyErr_Format(PyExc_TypeError, "%R", v), NULL;
    return PyErr_Clear(), PyObject_Str(v);
"#), @r#"
    @@
     static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *v = PyDict_GetItemWithError(dict, key);
    +    PyObject *v;
    +    PyObject *ret;
    +    (void)PyDict_GetItemRef(dict, key, &v);
         if (v == NULL)
             return PyErr_SetString(PyExc_KeyError, "key"), NULL;
    -    if (PyLong_Check(v))
    -        return PyErr_Format(PyExc_TypeError, "%R", v), NULL;
    -    return PyErr_Clear(), PyObject_Str(v);
    +    if (PyLong_Check(v)) {
    +        PyObject *result = (PyErr_Format(PyExc_TypeError, "%R", v), NULL);
    +        Py_DECREF(v);
    +        return result;
    +    }
    +    ret = (PyErr_Clear(), PyObject_Str(v));
    +    Py_DECREF(v);
    +    return ret;
     }
    "#);
}
