//! Variables that own what was looked up, and hold other objects on other paths, of which the code
//! knows by itself what to do.

use super::super::dict_item::BORROWED_DICT_ITEM;
use super::{int, object};
use crate::testing::report;

#[test]
fn another_object_comes_with_its_reference() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *found, *other;
    other = PyObject_GetAttr(self, key);
    found = PyDict_GetItem(dict, key);
    if (found != NULL) {
        Py_INCREF(found);
        Py_XDECREF(other);
        goto done;
    }
    if (other != NULL) {
        found = other;
        goto done;
    }
    PyErr_SetObject(PyExc_KeyError, key);
done:
    Py_DECREF(list);
    return found;
"#
    ), @"
        @@
         {
             PyObject *found, *other;
        +    PyObject *exc;
             other = PyObject_GetAttr(self, key);
        -    found = PyDict_GetItem(dict, key);
        +    exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef(dict, key, &found) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
             if (found != NULL) {
        -        Py_INCREF(found);
                 Py_XDECREF(other);
                 goto done;
        ");
}

#[test]
fn the_count_is_taken_under_another_name() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *origin, *other;
    origin = PyObject_GetAttr(self, key);
    if (origin == NULL) {
        PyErr_Clear();
        origin = PyDict_GetItemWithError(dict, key);
        if (origin == NULL)
            return NULL;
        Py_INCREF(origin);
    }
    other = PyDict_GetItemWithError(dict, origin);
    if (other != NULL) {
        Py_DECREF(origin);
        Py_INCREF(other);
        origin = other;
    }
    use(origin);
    Py_DECREF(origin);
    Py_RETURN_NONE;
"#
    ), @"
        @@
             if (origin == NULL) {
                 PyErr_Clear();
        -        origin = PyDict_GetItemWithError(dict, key);
        +        (void)PyDict_GetItemRef(dict, key, &origin);
                 if (origin == NULL)
                     return NULL;
        -        Py_INCREF(origin);
             }
        -    other = PyDict_GetItemWithError(dict, origin);
        +    (void)PyDict_GetItemRef(dict, origin, &other);
             if (other != NULL) {
                 Py_DECREF(origin);
        -        Py_INCREF(other);
                 origin = other;
             }
        ");
}

/// On the path with the other object there is no reference to release.
#[test]
fn what_the_code_forgets_is_not_released_for_all() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *found = PyDict_GetItemWithError(dict, key);
    if (found == NULL)
        found = list;
    else
        Py_INCREF(found);
    if (use(found) < 0)
        return -1;
    if (found != list)
        Py_DECREF(found);
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *found = PyDict_GetItemWithError(dict, key);
        +    PyObject *found;
        +    (void)PyDict_GetItemRef(dict, key, &found);
             if (found == NULL)
                 found = list;
        -    else
        -        Py_INCREF(found);
             if (use(found) < 0)
                 return -1;
        ");
}

/// What was looked up is not counted: all that the variable holds has to be.
#[test]
fn nothing_is_settled_without_a_count() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *found = PyDict_GetItemWithError(dict, key);
    if (found == NULL)
        found = list;
    use(found);
    if (i)
        Py_INCREF(found);
    use(found);
    if (i)
        Py_DECREF(found);
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *found = PyDict_GetItemWithError(dict, key);
        +    PyObject *found;
        +    PyObject *found_ref = NULL;
        +    (void)PyDict_GetItemRef(dict, key, &found_ref);
        +    found = found_ref;
             if (found == NULL)
                 found = list;
        @@
             if (i)
                 Py_DECREF(found);
        +    Py_XDECREF(found_ref);
             return 0;
         }
        ");
}

/// What becomes of a lookup behind which a function of others makes something of the object.
fn converted(counted: &str, released: &str) -> String {
    let text = format!(
        "PyObject *convert(PyObject *o);
static int f(PyObject *dict, PyObject *key, int i)
{{
    PyObject *made, *v = PyDict_GetItemWithError(dict, key);
    int rc;
    if (v == NULL)
        return -1;
    {counted}
    made = convert(v);
    {released}
    rc = use(made);
    Py_DECREF(made);
    return rc;
}}
"
    );
    let report = report(&BORROWED_DICT_ITEM, &text);
    let lines = report.lines().rev().take(2).map(str::trim);
    lines.collect::<Vec<_>>().join("; ")
}

/// The code released its own reference before as well.
#[test]
fn a_release_of_the_code_itself_may_come_early() {
    insta::assert_snapshot!(converted("Py_INCREF(v);", "Py_DECREF(v);"), @"
        safe: take a strong reference (`PyDict_GetItemWithError` → `PyDict_GetItemRef`); 8: used here, after another thread may have freed it
        ");
}

#[test]
fn a_new_release_must_not() {
    insta::assert_snapshot!(
        [
            converted("", ""),
            converted("if (i) Py_INCREF(v);", "if (i) Py_DECREF(v);"),
        ]
        .join("\n"),
        @"
    assumes that in `f`, what a function made from the object that `PyDict_GetItemRef` returned stays valid after the object is released; review: take a strong reference (`PyDict_GetItemWithError` → `PyDict_GetItemRef`)
    by hand: take the reference in `v` on all paths (only some paths own it); 10: used here, after another thread may have freed it
    "
    );
}
