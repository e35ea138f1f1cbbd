//! Branches in which nothing was done, until a release is.

use super::int;

#[test]
fn one_release_behind_the_if_needs_none() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    if (PyLong_Check(item)) {
        if (check(item))
            goto error;
    }
    else {
        // anything else is ignored
    }
    return 0;
error:
    note();
    return -1;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
             if (PyLong_Check(item)) {
        -        if (check(item))
        +        if (check(item)) {
        +            Py_DECREF(item);
                     goto error;
        +        }
             }
             else {
                 // anything else is ignored
             }
        +    Py_DECREF(item);
             return 0;
         error:
        ");
}

/// The function with `other` as the last branch.
fn kept(other: &str) -> String {
    int(&format!(
        "    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    if (i > 3) {{
        Py_INCREF(item);
        PyList_SetItem(self, 0, item);
    }} else {other}
    return 0;"
    ))
}

#[test]
fn else_that_was_empty() {
    insta::assert_snapshot!(kept("{\n        // not wanted\n    }"), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
             if (i > 3) {
        -        Py_INCREF(item);
                 PyList_SetItem(self, 0, item);
             } else {
                 // not wanted
        +        Py_DECREF(item);
             }
             return 0;
        ");
    insta::assert_snapshot!(kept("{\n    }"), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
             if (i > 3) {
        -        Py_INCREF(item);
                 PyList_SetItem(self, 0, item);
             } else {
        +        Py_DECREF(item);
             }
             return 0;
        ");
}

#[test]
fn else_that_was_empty_on_one_line() {
    insta::assert_snapshot!(kept("{}"), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
             if (i > 3) {
        -        Py_INCREF(item);
                 PyList_SetItem(self, 0, item);
        -    } else {}
        +    } else {
        +        Py_DECREF(item);
        +    }
             return 0;
         }
        ");
    insta::assert_snapshot!(kept("{ /* not wanted */ }"), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
             if (i > 3) {
        -        Py_INCREF(item);
                 PyList_SetItem(self, 0, item);
        -    } else { /* not wanted */ }
        +    } else { /* not wanted */
        +        Py_DECREF(item);
        +    }
             return 0;
         }
        ");
    assert_eq!(kept("{}").replace("{}", "{ }"), kept("{ }"));
}

#[test]
fn first_branch_that_was_empty() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    PyObject *other = PyList_GetItem(list, 0);
    if (item == NULL || other == NULL)
        return -1;
    if (i > 3) {
        ;
    }
    if (i > 2) {
    }
    else if (i > 1) {
        Py_INCREF(item);
        PyList_SetItem(self, 0, item);
        Py_INCREF(other);
        PyList_SetItem(self, 1, other);
    }
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        -    PyObject *other = PyList_GetItem(list, 0);
        -    if (item == NULL || other == NULL)
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    PyObject *other = PyList_GetItemRef(list, 0);
        +    if (item == NULL || other == NULL) {
        +        Py_XDECREF(item);
        +        Py_XDECREF(other);
                 return -1;
        +    }
             if (i > 3) {
                 ;
             }
             if (i > 2) {
        +        Py_DECREF(item);
        +        Py_DECREF(other);
             }
             else if (i > 1) {
        -        Py_INCREF(item);
                 PyList_SetItem(self, 0, item);
        -        Py_INCREF(other);
                 PyList_SetItem(self, 1, other);
        +    } else {
        +        Py_DECREF(item);
        +        Py_DECREF(other);
             }
             return 0;
        ");
}
