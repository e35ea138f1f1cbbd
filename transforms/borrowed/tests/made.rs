//! Objects that the code made itself and lost: the change leaves that as it was.

use super::int;

#[test]
fn an_object_that_the_dict_keeps_is_lost_as_before() {
    insta::assert_snapshot!(int(
        r"
    PyObject *index;
    int rc = -1;
    index = PyDict_GetItemWithError(dict, key);
    if (index) {
        rc = encode(self, index);
    } else {
        index = PyLong_FromSsize_t(i);
        if (index && PyDict_SetItem(dict, key, index) == 0) {
            rc = 0;
        }
    }
    return rc;"
    ), @"
        @@
             PyObject *index;
             int rc = -1;
        -    index = PyDict_GetItemWithError(dict, key);
        +    (void)PyDict_GetItemRef(dict, key, &index);
             if (index) {
                 rc = encode(self, index);
        +        Py_DECREF(index);
             } else {
                 index = PyLong_FromSsize_t(i);
        ");
}

#[test]
fn one_that_a_lookup_takes_the_place_of_is_lost_as_before() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyLong_FromSsize_t(i);
    if (PyModule_AddObject(self, "size", value) < 0) {
        note(self);
    }
    value = PyDict_GetItemWithError(dict, key);
    if (value != NULL) {
        use(value);
    }
    return 0;"#
    ), @"
        @@
                 note(self);
             }
        -    value = PyDict_GetItemWithError(dict, key);
        +    (void)PyDict_GetItemRef(dict, key, &value);
             if (value != NULL) {
                 use(value);
        +        Py_DECREF(value);
             }
             return 0;
        ");
}

#[test]
fn what_is_released_at_the_end_is_owned_on_all_paths() {
    insta::assert_snapshot!(int(
        r"
    PyObject *waiting = NULL;
    Py_ssize_t at;
    for (at = 0; at < i; at++) {
        if (PyDict_Contains(dict, key))
            waiting = PyDict_GetItemWithError(dict, key);
        else
            waiting = PyList_New(0);
        if (waiting == NULL || PyList_Append(waiting, self) < 0)
            break;
    }
    if (i == 3) {
        waiting = PyDict_GetItemWithError(dict, list);
        count(self, PyList_Size(waiting));
    }
    Py_XDECREF(waiting);
    return 0;"
    ), @"
        @@
             Py_ssize_t at;
             for (at = 0; at < i; at++) {
        +        Py_XDECREF(waiting);
                 if (PyDict_Contains(dict, key))
        -            waiting = PyDict_GetItemWithError(dict, key);
        +            (void)PyDict_GetItemRef(dict, key, &waiting);
                 else
                     waiting = PyList_New(0);
        @@
             }
             if (i == 3) {
        -        waiting = PyDict_GetItemWithError(dict, list);
        +        Py_XDECREF(waiting);
        +        (void)PyDict_GetItemRef(dict, list, &waiting);
                 count(self, PyList_Size(waiting));
             }
        ");
}

#[test]
fn tested_where_it_is_made() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    if ((item = PyDict_GetItemString(dict, "key")) == NULL) {
        if ((item = PyDict_New()) == NULL) {
            PyErr_SetString(PyExc_RuntimeError, "no dict");
            return -1;
        }
        if (PyDict_SetItemString(dict, "key", item) < 0) {
            Py_DECREF(item);
            return -1;
        }
    }
    if (PyDict_SetItem(item, key, key) < 0)
        return -1;
    return 0;
"#
    ), @r#"
        @@
         {
             PyObject *item;
        -    if ((item = PyDict_GetItemString(dict, "key")) == NULL) {
        +    if (PyDict_GetItemStringRef(dict, "key", &item) < 0) {
        +        return -1;
        +    }
        +    if (item == NULL) {
                 if ((item = PyDict_New()) == NULL) {
                     PyErr_SetString(PyExc_RuntimeError, "no dict");
        @@
                 }
             }
        -    if (PyDict_SetItem(item, key, key) < 0)
        +    if (PyDict_SetItem(item, key, key) < 0) {
        +        Py_DECREF(item);
                 return -1;
        +    }
        +    Py_DECREF(item);
             return 0;
         }
        "#);
}
