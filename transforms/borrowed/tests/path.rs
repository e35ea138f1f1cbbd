//! The steps that make a borrowed reference unsafe, as a finding tells them.

use super::super::list_item::BORROWED_LIST_ITEM;
use crate::testing::report;

fn path(body: &str) -> String {
    let head = "static PyObject *f(PyObject *self, PyObject *list)\n{\n";
    report(&BORROWED_LIST_ITEM, &format!("{head}{body}}}\n"))
}

#[test]
fn the_first_call_that_runs_python_code_and_the_last_use_are_told() {
    insta::assert_snapshot!(path(
        r#"    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return NULL;
    PyObject *other = PyObject_Repr(list);
    Py_XDECREF(other);
    long n = PyLong_AsLong(item);
    return PyObject_Str(item);
"#
    ), @"
    3: `PyList_GetItem` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
      3: borrowed here
      6: `PyObject_Repr` can run Python code, which may free the object
      9: used here, after that call
      safe: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)
    ");
}

#[test]
fn nothing_that_comes_after_the_value_was_adopted_is_told() {
    insta::assert_snapshot!(path(
        r#"    PyObject *item = PyList_GetItem(list, 0);
    Py_XINCREF(item);
    PyObject_Repr(list);
    return item;
"#
    ), @"
    3: `PyList_GetItem` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
      3: borrowed here
      4: used here, after another thread may have freed it
      safe: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)
    ");
}

#[test]
fn tests_of_the_pointer_are_no_use_of_the_value() {
    insta::assert_snapshot!(path(
        r#"    PyObject *item = PyList_GetItem(list, 0);
    PyObject_Repr(list);
    if (item == NULL)
        return NULL;
    return Py_None;
"#
    ), @"
    3: `PyList_GetItem` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
      safe: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)
    ");
}

#[test]
fn another_value_of_the_variable_is_not_the_borrowed_one() {
    insta::assert_snapshot!(path(
        r#"    PyObject *item = PyList_GetItem(list, 0);
    Py_ssize_t n = PyObject_Size(item);
    item = PyObject_Repr(list);
    return item;
"#
    ), @"
    3: `PyList_GetItem` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
      3: borrowed here
      4: used here, after another thread may have freed it
      safe: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)
    ");
}
