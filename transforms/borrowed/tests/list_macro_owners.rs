//! Items that no macro looks up any more, where the function owns something at the exit.

use super::{int, object};

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
        @@
         {
             PyObject *tuple = PyTuple_New(1);
        +    PyObject *item;
             if (tuple == NULL)
                 return NULL;
        -    use(PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        Py_DECREF(tuple);
        +        return NULL;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             return tuple;
         }
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
