//! Functions whose authors wrote the strong calls by hand.

use super::{TRIGGERS, UNCHECKED_RESULT};
use crate::capi::{self, Absent};
use crate::testing::report;

const METHODS: &str = "static PyMethodDef methods[] = {{\"f\", f, METH_VARARGS, NULL}, {NULL}};\n";

fn said(body: &str) -> String {
    let function = format!(
        "static PyObject *f(PyObject *self, PyObject *args)\n{{\n    PyObject *l, *d, *k, *v;\n    \
         int rc;\n    if (!PyArg_ParseTuple(args, \"OOO\", &l, &d, &k))\n        return NULL;\n\
         {body}    Py_RETURN_NONE;\n}}\n"
    );
    report(&UNCHECKED_RESULT, &format!("{function}{METHODS}"))
}

#[test]
fn an_item_of_a_list_that_nobody_tests() {
    insta::assert_snapshot!(said("
    v = PyList_GetItemRef(l, 0);
    if (!PyBytes_Check(v)) {
        Py_DECREF(v);
        return NULL;
    }
    Py_DECREF(v);
"), @"
    8: `PyList_GetItemRef` may return `NULL`; the result is used without a test
      9: it is read here
      by hand: test the result, and if it is `NULL`, leave the function with the exception that is then set
    ");
}

#[test]
fn a_status_that_tells_errors_apart_and_not_absence() {
    insta::assert_snapshot!(said("
    if (PyDict_GetItemRef(d, k, &v) < 0)
        return NULL;
    Py_DECREF(v);
"), @"
    8: `PyDict_GetItemRef` may return `NULL`; the result is used without a test
      10: it is read here
      by hand: test the result of the call (1 means that the object was found, 0 that it was not, and -1 that an exception is set)
    ");
}

#[test]
fn swapped_statuses() {
    insta::assert_snapshot!(said("
    rc = PyDict_GetItemRef(d, k, &v);
    if (rc == 0) {
        Py_DECREF(v);
    }
"), @"
    8: `PyDict_GetItemRef` may return `NULL`; the result is used without a test
      10: it is read here
      by hand: test the result of the call (1 means that the object was found, 0 that it was not, and -1 that an exception is set)
    ");
}

#[test]
fn a_switch_that_falls_to_the_use() {
    insta::assert_snapshot!(said("
    switch (PyDict_GetItemStringRef(d, \"x\", &v)) {
    case -1:
        return NULL;
    default:
        Py_DECREF(v);
    }
"), @"
    8: `PyDict_GetItemStringRef` may return `NULL`; the result is used without a test
      12: it is read here
      by hand: test the result of the call (1 means that the object was found, 0 that it was not, and -1 that an exception is set)
    ");
}

#[test]
fn a_field_of_a_dead_referent() {
    insta::assert_snapshot!(said("
    (void)PyWeakref_GetRef(l, &v);
    rc = ((Thing *)v)->count;
    Py_XDECREF(v);
"), @"
    8: `PyWeakref_GetRef` may return `NULL`; the result is used without a test
      9: it is read here
      by hand: test the result of the call (1 means that the object was found, 0 that it was not, and -1 that an exception is set)
    ");
}

#[test]
fn results_that_are_tested() {
    for body in [
        "v = PyList_GetItemRef(l, 0);\n    if (v == NULL)\n        return NULL;\n    Py_DECREF(v);\n",
        "v = PyList_GetItemRef(l, 0);\n    if (PyErr_Occurred())\n        return NULL;\n    Py_DECREF(v);\n",
        "v = PyList_GetItemRef(l, 0);\n    if (v && PyBytes_Check(v))\n        rc = 1;\n    Py_XDECREF(v);\n",
        "if (PyDict_GetItemRef(d, k, &v) == 1)\n        Py_DECREF(v);\n",
        "rc = PyDict_GetItemRef(d, k, &v);\n    if (rc < 0)\n        return NULL;\n    if (rc)\n        Py_DECREF(v);\n",
        "switch (PyDict_GetItemRef(d, k, &v)) {\n    case 1:\n        Py_DECREF(v);\n        break;\n    \
         case 0:\n        break;\n    default:\n        return NULL;\n    }\n",
        "(void)PyDict_GetItemRef(d, k, &v);\n    if (v == NULL)\n        return NULL;\n    Py_DECREF(v);\n",
        "v = PyList_GetItemRef(l, 0);\n    assert(v != NULL);\n    Py_DECREF(v);\n",
        "v = PyList_GetItemRef(l, 0);\n    if (v == Py_None)\n        Py_DECREF(v);\n    else\n        Py_XDECREF(v);\n",
        "v = PyList_GetItemRef(l, 0);\n    if (!is_fine(v))\n        return NULL;\n    Py_DECREF(v);\n",
    ] {
        assert_eq!(said(&format!("    {body}")), "", "{body}");
    }
}

#[test]
fn a_list_that_nobody_else_has() {
    assert_eq!(
        said(
            "    l = PyList_New(1);\n    if (l == NULL)\n        return NULL;\n    \
              PyList_SET_ITEM(l, 0, PyLong_FromLong(1));\n    v = PyList_GetItemRef(l, 0);\n    \
              Py_DECREF(v);\n    Py_DECREF(l);\n"
        ),
        ""
    );
}

#[test]
fn what_was_there_when_the_function_asked() {
    insta::assert_snapshot!(said("
    if (PySequence_Size(l) < 1)
        return NULL;
    v = PySequence_GetItem(l, 0);
    if (PyFloat_Check(v))
        return v;
    Py_DECREF(v);
"), @"
    10: `PySequence_GetItem` may return `NULL`; the result is used without a test
      8: this may no longer be true at this point
      11: it is read here
      by hand: test the result, and leave the function if it is `NULL`
    ");
    insta::assert_snapshot!(said("
    if (PySet_GET_SIZE(l) == 0)
        return NULL;
    k = PyObject_GetIter(l);
    v = PyIter_Next(k);
    Py_DECREF(v);
"), @"
    11: `PyIter_Next` may return `NULL`; the result is used without a test
      8: this may no longer be true at this point
      12: it is read here
      by hand: test the result, and leave the function if it is `NULL`
    ");
}

#[test]
fn lookups_that_fail_alike_with_the_gil() {
    for body in [
        "v = PyObject_GetAttrString(d, \"a\");\n    Py_DECREF(v);\n",
        "rc = PyObject_HasAttrString(d, \"b\");\n    v = PyObject_GetAttrString(d, \"a\");\n    Py_DECREF(v);\n",
        "if (PyDict_Size(d) > 3)\n        return NULL;\n    v = PyObject_GetAttrString(d, \"a\");\n    Py_DECREF(v);\n",
        "v = PySequence_GetItem(l, 0);\n    Py_DECREF(v);\n    rc = PySequence_Size(l);\n",
        "rc = PySequence_Size(l);\n    l = k;\n    v = PySequence_GetItem(l, 0);\n    Py_DECREF(v);\n",
        "rc = PySequence_Size(l);\n    v = PySequence_GetItem(l, 0);\n    if (v == NULL)\n        return NULL;\n    Py_DECREF(v);\n",
        "rc = PySequence_Size(l);\n    v = PySequence_GetItem(l, 0);\n    Py_XDECREF(v);\n",
        "if (!PyObject_HasAttrString(d, \"a\"))\n        return NULL;\n    v = PyObject_GetAttrString(d, \"a\");\n    \
         if (!PyCallable_Check(v))\n        return NULL;\n    k = PyObject_CallObject(v, NULL);\n    Py_DECREF(v);\n    return k;\n",
        "rc = PySequence_Size(l);\n    v = PyList_New(rc);\n    PyList_SET_ITEM(v, 0, PySequence_GetItem(l, 0));\n    \
         if (PyErr_Occurred())\n        return NULL;\n    return v;\n",
        "rc = PySequence_Size(args);\n    v = PySequence_GetItem(args, 0);\n    Py_DECREF(v);\n",
        "rc = PySequence_Size(l);\n    v = Py_BuildValue(\"N\", PySequence_GetItem(l, 0));\n    return v;\n",
    ] {
        assert_eq!(said(&format!("    {body}")), "", "{body}");
    }
}

#[test]
fn all_strong_forms_of_what_other_threads_change_are_looked_at() {
    let changeable = |row: &&capi::Replacement| {
        let container = row.strong.split('_').next().unwrap();
        row.absent == Absent::None || matches!(container, "PyDict" | "PyList")
    };
    let rows = capi::REPLACEMENTS.iter().filter(changeable);
    let mut names: Vec<&str> = rows.map(|row| row.strong).collect();
    names.sort_unstable();
    names.dedup();
    // It puts the key in where it is missing.
    names.retain(|name| *name != "PyDict_SetDefaultRef");
    names.extend(capi::FINDERS);
    names.sort_unstable();
    assert_eq!(names, TRIGGERS);
}
