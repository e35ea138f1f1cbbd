//! The unchecked macro: what happens where the checked call fails.

use super::{int, object};

#[test]
fn tested_already() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GET_ITEM(list, i);
    if (item == NULL)
        return -1;
    return check(item);
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    int result;
             if (item == NULL)
                 return -1;
        -    return check(item);
        +    result = check(item);
        +    Py_DECREF(item);
        +    return result;
         }
        ");
}

#[test]
fn a_return_that_is_an_error_elsewhere() {
    insta::assert_snapshot!(int(
        r#"
    Py_ssize_t at;
    for (at = 0; at < PyList_GET_SIZE(list); at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        if (PyDict_SetItem(dict, key, item) < 0)
            return -1;
    }
    return 0;
"#
    ), @"
        5: review: a list that shrinks meanwhile raises IndexError here
        @@
             Py_ssize_t at;
             for (at = 0; at < PyList_GET_SIZE(list); at++) {
        -        PyObject *item = PyList_GET_ITEM(list, at);
        -        if (PyDict_SetItem(dict, key, item) < 0)
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            return -1;
        +        }
        +        if (PyDict_SetItem(dict, key, item) < 0) {
        +            Py_DECREF(item);
                     return -1;
        +        }
        +        Py_DECREF(item);
             }
             return 0;
        ");
}

#[test]
fn the_cleanup_label() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *result = NULL, *name = NULL;
    PyObject *tuple = PyTuple_New(1);
    if (tuple == NULL)
        goto done;
    name = PyObject_Str(PyList_GET_ITEM(list, i));
    if (name == NULL)
        goto done;
    result = PyTuple_Pack(2, tuple, name);
done:
    Py_XDECREF(tuple);
    Py_XDECREF(name);
    return result;
"#
    ), @"
        7: review: a list that shrinks meanwhile raises IndexError here
        @@
             PyObject *result = NULL, *name = NULL;
             PyObject *tuple = PyTuple_New(1);
        +    PyObject *item;
             if (tuple == NULL)
                 goto done;
        -    name = PyObject_Str(PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        goto done;
        +    }
        +    name = PyObject_Str(item);
        +    Py_DECREF(item);
             if (name == NULL)
                 goto done;
        ");
}

#[test]
fn the_releases_of_an_error_branch() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *tuple = PyTuple_New(1);
    PyObject *item;
    if (!tuple)
        return NULL;
    item = PyList_GET_ITEM(list, i);
    if (PyObject_SetItem(tuple, key, item) < 0) {
        Py_DECREF(tuple);
        return NULL;
    }
    return tuple;
"#
    ), @"
        7: review: a list that shrinks meanwhile raises IndexError here
        @@
             if (!tuple)
                 return NULL;
        -    item = PyList_GET_ITEM(list, i);
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        Py_DECREF(tuple);
        +        return NULL;
        +    }
             if (PyObject_SetItem(tuple, key, item) < 0) {
        +        Py_DECREF(item);
                 Py_DECREF(tuple);
                 return NULL;
             }
        +    Py_DECREF(item);
             return tuple;
         }
        ");
}

#[test]
fn an_exit_that_only_raises() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "a list");
        return -1;
    }
    item = PyList_GET_ITEM(list, i);
    Py_INCREF(item);
    ((Foo *)self)->item = item;
    return 0;
"#
    ), @"
        8: review: a list that shrinks meanwhile raises IndexError here
        @@
                 return -1;
             }
        -    item = PyList_GET_ITEM(list, i);
        -    Py_INCREF(item);
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return -1;
        +    }
             ((Foo *)self)->item = item;
             return 0;
        ");
}

#[test]
fn two_items_at_once() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *a = PyList_GET_ITEM(list, 0);
    PyObject *b = PyList_GET_ITEM(list, 1);
    if (PyDict_SetItem(dict, a, b) < 0)
        return -1;
    return 0;
"#
    ), @"
        3: review: a list that shrinks meanwhile raises IndexError here
        4: review: a list that shrinks meanwhile raises IndexError here
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *a = PyList_GET_ITEM(list, 0);
        -    PyObject *b = PyList_GET_ITEM(list, 1);
        -    if (PyDict_SetItem(dict, a, b) < 0)
        +    PyObject *a = PyList_GetItemRef(list, 0);
        +    if (a == NULL) {
        +        return -1;
        +    }
        +    PyObject *b = PyList_GetItemRef(list, 1);
        +    if (b == NULL) {
        +        Py_DECREF(a);
        +        return -1;
        +    }
        +    if (PyDict_SetItem(dict, a, b) < 0) {
        +        Py_DECREF(a);
        +        Py_DECREF(b);
                 return -1;
        +    }
        +    Py_DECREF(a);
        +    Py_DECREF(b);
             return 0;
         }
        ");
}

#[test]
fn nested_in_a_loop() {
    insta::assert_snapshot!(int(
        r#"
    Py_ssize_t at;
    if (PyDict_SetItem(dict, key, list) < 0)
        return -1;
    for (at = 0; at < PyList_GET_SIZE(list); at++)
        use(PyList_GET_ITEM(list, at));
    return 0;
"#
    ), @"
        7: review: a list that shrinks meanwhile raises IndexError here
        @@
             if (PyDict_SetItem(dict, key, list) < 0)
                 return -1;
        -    for (at = 0; at < PyList_GET_SIZE(list); at++)
        -        use(PyList_GET_ITEM(list, at));
        +    for (at = 0; at < PyList_GET_SIZE(list); at++) {
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            return -1;
        +        }
        +        use(item);
        +        Py_DECREF(item);
        +    }
             return 0;
         }
        ");
}

#[test]
fn nothing_releases_what_is_owned() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *tuple = PyTuple_New(1);
    if (tuple == NULL)
        return NULL;
    use(PyList_GET_ITEM(list, i));
    return tuple;
"#
    ), @"
        6: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
        ");
}

#[test]
fn the_label_would_release_twice() {
    insta::assert_snapshot!(int(
        r#"
    int result = -1;
    PyObject *name = PyObject_Str(key);
    if (name == NULL)
        goto done;
    Py_DECREF(name);
    use(PyList_GET_ITEM(list, i));
    result = 0;
    return result;
done:
    Py_XDECREF(name);
    return result;
"#
    ), @"
        8: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
        ");
}

#[test]
fn the_label_would_return_a_result() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *result = PyObject_Str(key);
    if (result == NULL)
        goto done;
    use(PyList_GET_ITEM(list, i));
done:
    return result;
"#
    ), @"
        6: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
        ");
}

#[test]
fn a_lock_is_held() {
    insta::assert_snapshot!(int(
        r#"
    if (PyDict_SetItem(dict, key, list) < 0)
        return -1;
    take_lock(self);
    use(PyList_GET_ITEM(list, i));
    drop_lock(self);
    return 0;
"#
    ), @"
        6: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
        ");
}

#[test]
fn none_is_no_error() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == NULL)
        return NULL;
    use(value);
    use(PyList_GET_ITEM(list, i));
    Py_RETURN_NONE;
"#
    ), @"
        7: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItemWithError(dict, key);
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(dict, key, &value);
             if (value == NULL)
                 return NULL;
             use(value);
        +    Py_DECREF(value);
             use(PyList_GET_ITEM(list, i));
             Py_RETURN_NONE;
        ");
}

#[test]
fn part_of_a_condition() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    if (PyDict_SetItem(dict, key, list) < 0)
        return -1;
    if ((item = PyList_GET_ITEM(list, i)) == key)
        use(item);
    return 0;
"#
    ), @"
        6: the checked call can fail where the macro could not: give it a statement of its own, and test its result for `NULL`
        ");
}

#[test]
fn an_array_owns() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *pair[2];
    if (PyDict_SetItem(dict, key, list) < 0)
        return -1;
    pair[0] = PyObject_Str(key);
    pair[1] = PyList_GET_ITEM(list, i);
    use(PyList_GET_ITEM(list, i));
    Py_XDECREF(pair[0]);
    return 0;
"#
    ), @"
        7: the borrowed reference is stored in memory that outlives the call: decide who owns it, and take a reference with it
        8: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
        ");
}

#[test]
fn a_cleared_struct_owns_nothing() {
    insta::assert_snapshot!(int(
        r#"
    struct params p;
    if (PyDict_SetItem(dict, key, list) < 0)
        return -1;
    memset(&p, 0, sizeof(p));
    use(PyList_GET_ITEM(list, i));
    return 0;
"#
    ), @"
        7: review: a list that shrinks meanwhile raises IndexError here
        @@
         {
             struct params p;
        +    PyObject *item;
             if (PyDict_SetItem(dict, key, list) < 0)
                 return -1;
             memset(&p, 0, sizeof(p));
        -    use(PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             return 0;
         }
        ");
}
