//! A number says whether the variable holds an object.

use super::int;

#[test]
fn a_test_that_is_kept() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyDict_GetItem(dict, key);
    int found = item != NULL;
    found = found && check(item) > 0;
    if (!found)
        return -1;
    i = use(item);
    return i;
"#
    ), @"
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyDict_GetItem(dict, key);
    -    int found = item != NULL;
    +    PyObject *item;
    +    int found;
    +    if (PyDict_GetItemRef(dict, key, &item) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    found = item != NULL;
         found = found && check(item) > 0;
    -    if (!found)
    +    if (!found) {
    +        Py_XDECREF(item);
             return -1;
    +    }
         i = use(item);
    +    Py_DECREF(item);
         return i;
     }
    ");
}

#[test]
fn set_where_there_is_an_item() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    int ok = i > 0;
    if (ok) {
        item = PyList_GetItem(list, i);
        if (item == NULL)
            return -1;
        ok = check(item);
    }
    if (!ok) {
        log_it("odd");
        return -1;
    }
    i = use(item);
    return i;
"#
    ), @r#"
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item;
    +    PyObject *item = NULL;
         int ok = i > 0;
         if (ok) {
    -        item = PyList_GetItem(list, i);
    +        item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
    @@
         }
         if (!ok) {
    +        Py_XDECREF(item);
             log_it("odd");
             return -1;
         }
         i = use(item);
    +    Py_DECREF(item);
         return i;
     }
    "#);
}

#[test]
fn set_where_there_is_none_either() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyDict_GetItem(dict, key);
    int found = item != NULL;
    if (i > 0)
        found = 1;
    if (!found)
        return -1;
    i = use(item);
    return i;
"#
    ), @"
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyDict_GetItem(dict, key);
    -    int found = item != NULL;
    +    PyObject *item;
    +    int found;
    +    if (PyDict_GetItemRef(dict, key, &item) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    found = item != NULL;
         if (i > 0)
             found = 1;
    -    if (!found)
    +    if (!found) {
    +        Py_XDECREF(item);
             return -1;
    +    }
         i = use(item);
    +    Py_XDECREF(item);
         return i;
     }
    ");
}

#[test]
fn set_by_others() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyDict_GetItem(dict, key);
    int found = item != NULL;
    find_out(&found);
    if (!found)
        return -1;
    i = use(item);
    return i;
"#
    ), @"
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyDict_GetItem(dict, key);
    -    int found = item != NULL;
    +    PyObject *item;
    +    int found;
    +    if (PyDict_GetItemRef(dict, key, &item) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    found = item != NULL;
         find_out(&found);
    -    if (!found)
    +    if (!found) {
    +        Py_XDECREF(item);
             return -1;
    +    }
         i = use(item);
    +    Py_XDECREF(item);
         return i;
     }
    ");
}

#[test]
fn of_an_earlier_item() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    int found;
    item = PyDict_GetItem(dict, list);
    found = item != NULL;
    check(item);
    item = PyDict_GetItem(dict, key);
    if (!found)
        i = 2;
    else
        i = use(item);
    return i;
"#
    ), @"
    @@
         PyObject *item;
         int found;
    -    item = PyDict_GetItem(dict, list);
    +    if (PyDict_GetItemRef(dict, list, &item) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
         found = item != NULL;
         check(item);
    -    item = PyDict_GetItem(dict, key);
    +    Py_XDECREF(item);
    +    if (PyDict_GetItemRef(dict, key, &item) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
         if (!found)
             i = 2;
         else
             i = use(item);
    +    Py_XDECREF(item);
         return i;
     }
    ");
}

#[test]
fn a_part_of_a_number() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = NULL;
    int mode = count_it(list);
    if (mode & 4) {
        item = PyList_GetItem(list, i);
        if (item == NULL)
            return -1;
    }
    if (!mode)
        return 0;
    i = use(item);
    return i;
"#
    ), @"
    @@
         int mode = count_it(list);
         if (mode & 4) {
    -        item = PyList_GetItem(list, i);
    +        item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
         }
    -    if (!mode)
    +    if (!mode) {
    +        Py_XDECREF(item);
             return 0;
    +    }
         i = use(item);
    +    Py_XDECREF(item);
         return i;
     }
    ");
}
