//! The same, where the exit has to release what the function made.

use super::{int, object};
use crate::transforms::borrowed::list_macro::UNCHECKED_LIST_ITEM;

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
        7: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory that outlives the call)
        8: use `PyList_GetItemRef`, and on `NULL` release the references that are stored in `pair` (the checked call can fail where the macro could not)
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
        7: review: in `f`, `PyDict_SetItem(dict, key, list)` (line 4) need not be undone at the new error exit (the function could not leave here before)
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

#[test]
fn zero_is_the_error_of_some_functions() {
    insta::assert_snapshot!(int(
        r#"
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "a list");
        return 0;
    }
    use(PyList_GET_ITEM(list, i));
    return 1;
"#
    ), @r#"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        +    PyObject *item;
             if (!PyList_Check(list)) {
                 PyErr_SetString(PyExc_TypeError, "a list");
                 return 0;
             }
        -    use(PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return 0;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             return 1;
         }
        "#);
}

#[test]
fn zero_is_no_error_where_nothing_else_is_returned() {
    insta::assert_snapshot!(int(
        r#"
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "a list");
        return 0;
    }
    use(PyList_GET_ITEM(list, i));
    return 0;
"#
    ), @"7: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn a_result_that_is_partly_made() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *out;
    double *values;
    Py_ssize_t at, n;
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "a list");
        return NULL;
    }
    n = PyList_Size(list);
    out = PyList_New(n);
    values = PyMem_RawMalloc(n * sizeof(double));
    for (at = 0; at < n; at++) {
        values[at] = PyFloat_AsDouble(PyList_GET_ITEM(list, at));
        PyList_SET_ITEM(out, at, PyFloat_FromDouble(values[at]));
    }
    PyMem_RawFree(values);
    return out;
"#
    ), @"
        @@
             values = PyMem_RawMalloc(n * sizeof(double));
             for (at = 0; at < n; at++) {
        -        values[at] = PyFloat_AsDouble(PyList_GET_ITEM(list, at));
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            Py_XDECREF(out);
        +            PyMem_RawFree(values);
        +            return NULL;
        +        }
        +        values[at] = PyFloat_AsDouble(item);
        +        Py_DECREF(item);
                 PyList_SET_ITEM(out, at, PyFloat_FromDouble(values[at]));
             }
        ");
}

#[test]
fn what_is_never_released_is_not_released_here() {
    insta::assert_snapshot!(object(
        r#"
    struct stream *stream = get_stream(self);
    PyObject *kept = PySequence_Fast(key, "a sequence");
    if (kept == NULL)
        return NULL;
    mix(stream, PyList_GET_ITEM(list, i));
    Py_RETURN_NONE;
"#
    ), @r#"
        @@
             struct stream *stream = get_stream(self);
             PyObject *kept = PySequence_Fast(key, "a sequence");
        +    PyObject *item;
             if (kept == NULL)
                 return NULL;
        -    mix(stream, PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return NULL;
        +    }
        +    mix(stream, item);
        +    Py_DECREF(item);
             Py_RETURN_NONE;
         }
        "#);
}

#[test]
fn a_function_may_have_taken_it_over() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *node = PyDict_New();
    if (node == NULL)
        return NULL;
    append_node(self, node);
    use(PyList_GET_ITEM(list, i));
    Py_RETURN_NONE;
"#
    ), @"7: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn an_alias_is_not_released_twice() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *first = PyDict_New();
    PyObject *second = first;
    if (first == NULL)
        return NULL;
    use(PyList_GET_ITEM(list, i));
    Py_DECREF(second);
    Py_RETURN_NONE;
"#
    ), @"7: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn an_argument_that_the_function_consumes() {
    insta::assert_snapshot!(int(
        r#"
    if (PyDict_SetItem(dict, key, list) < 0) {
        return -1;
    }
    use(PyList_GET_ITEM(list, i));
    Py_DECREF(key);
    return 0;
"#
    ), @"6: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

/// Two variables hold one object, which is released once.
#[test]
fn one_object_in_two_variables() {
    insta::assert_snapshot!(object(
        r#"
    Thing *thing;
    PyObject *result;
    thing = PyObject_New(Thing, &Thing_Type);
    if (thing == NULL)
        return NULL;
    result = (PyObject *)thing;
    if (PyDict_SetItem(dict, key, list) < 0) {
        Py_DECREF(result);
        return NULL;
    }
    use(PyList_GET_ITEM(list, 0));
    return result;
"#
    ), @"
        13: review: in `f`, `PyDict_SetItem(dict, key, list)` (line 9) need not be undone at the new error exit (the function could not leave here before)
        @@
             Thing *thing;
             PyObject *result;
        +    PyObject *item;
             thing = PyObject_New(Thing, &Thing_Type);
             if (thing == NULL)
        @@
                 return NULL;
             }
        -    use(PyList_GET_ITEM(list, 0));
        +    item = PyList_GetItemRef(list, 0);
        +    if (item == NULL) {
        +        Py_DECREF(result);
        +        return NULL;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             return result;
         }
        ");
}

/// It depends on the path which object is in which.
#[test]
fn one_object_in_two_variables_on_some_paths() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *one, *other;
    one = PyDict_New();
    if (one == NULL)
        return NULL;
    if (i > 0)
        other = one;
    else
        other = PyDict_New();
    use(PyList_GET_ITEM(list, 0));
    if (other == one)
        return other;
    Py_XDECREF(one);
    return other;
"#
    ), @"
        11: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

/// The exit from before serves, with a release of what was made since.
#[test]
fn earlier_exit() {
    insta::assert_snapshot!(object(
        r#"
    Thing *thing;
    PyObject *keys, *out, *value, *item;
    keys = PyObject_Dir(key);
    if (keys == NULL)
        return NULL;
    if (i > 0) {
        out = PyDict_New();
    } else {
        thing = PyObject_New(Thing, &Thing_Type);
        out = (PyObject *)thing;
    }
    if (out == NULL) {
    fail:
        Py_DECREF(keys);
        return NULL;
    }
    value = PyObject_Repr(key);
    if (value == NULL)
        goto fail;
    item = PyList_GET_ITEM(list, i);
    PyDict_SetItem(out, item, value);
    Py_DECREF(value);
    Py_DECREF(keys);
    return out;
"#
    ), @"
        @@
             if (value == NULL)
                 goto fail;
        -    item = PyList_GET_ITEM(list, i);
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        Py_DECREF(value);
        +        goto fail;
        +    }
             PyDict_SetItem(out, item, value);
        +    Py_DECREF(item);
             Py_DECREF(value);
             Py_DECREF(keys);
        ");
}

/// What is said of an item that is read after the list was given away.
fn read_later(second: &str, then: &str) -> String {
    let text = format!(
        "static int f(PyObject *self, long number)
{{
    PyObject *item, *pair = PyList_New(2);
    long sum;
    if (pair == NULL)
        return -1;
    PyList_SET_ITEM(pair, 0, PyLong_FromLong(number));
    {second}
    {then}
    if (PyObject_SetAttrString(self, \"pair\", pair) < 0)
        goto failed;
    item = PyList_GET_ITEM(pair, 1);
    sum = PyLong_AsLong(item);
    if (sum == -1 && PyErr_Occurred())
        goto failed;
    Py_DECREF(pair);
    return 0;
failed:
    Py_DECREF(pair);
    return -1;
}}
"
    );
    crate::testing::report(&UNCHECKED_LIST_ITEM, &text)
}

const ASKS: &str = "if (PyErr_Occurred()) goto failed;";

#[test]
fn a_list_whose_slots_are_all_filled_has_no_gaps() {
    let filled = "PyList_SET_ITEM(pair, 1, PyLong_FromLong(0));";
    insta::assert_snapshot!(read_later(filled, ASKS), @"
        12: `PyList_GET_ITEM` returns a borrowed reference from a container that is made here, and passed on or emptied on line 10; another thread can free the object
          12: borrowed here
          13: used here, after another thread may have freed it
          safe: take a strong reference (`PyList_GET_ITEM` → `PyList_GetItemRef`)
        ");
    let tested = "item = PyLong_FromLong(0);
    if (item == NULL) goto failed;
    PyList_SET_ITEM(pair, 1, item);";
    insta::assert_snapshot!(read_later(tested, ASKS), @"
        14: `PyList_GET_ITEM` returns a borrowed reference from a container that is made here, and passed on or emptied on line 12; another thread can free the object
          14: borrowed here
          15: used here, after another thread may have freed it
          safe: take a strong reference (`PyList_GET_ITEM` → `PyList_GetItemRef`)
        ");
}

#[test]
fn a_list_with_a_slot_that_may_be_empty_has_gaps() {
    // Either may be NULL, and nobody asks.
    let filled = "PyList_SET_ITEM(pair, 1, PyLong_FromLong(0));";
    insta::assert_snapshot!(read_later(filled, ""), @"
        12: `PyList_GET_ITEM` returns a borrowed reference from a container that is made here, and passed on or emptied on line 10; another thread can free the object
          12: borrowed here
          13: used here, after another thread may have freed it
          by hand: look the item up before the list is passed on (the list may have empty slots, which the strong function must not read)
        ");
    // The second slot stays empty.
    let maybe = "if (number) PyList_SET_ITEM(pair, 1, PyLong_FromLong(0));";
    insta::assert_snapshot!(read_later(maybe, ASKS), @"
        12: `PyList_GET_ITEM` returns a borrowed reference from a container that is made here, and passed on or emptied on line 10; another thread can free the object
          12: borrowed here
          13: used here, after another thread may have freed it
          by hand: look the item up before the list is passed on (the list may have empty slots, which the strong function must not read)
        ");
    // The exception of the first one is dropped.
    let dropped = "PyErr_Clear(); PyList_SET_ITEM(pair, 1, PyLong_FromLong(0));";
    insta::assert_snapshot!(read_later(dropped, ASKS), @"
        12: `PyList_GET_ITEM` returns a borrowed reference from a container that is made here, and passed on or emptied on line 10; another thread can free the object
          12: borrowed here
          13: used here, after another thread may have freed it
          by hand: look the item up before the list is passed on (the list may have empty slots, which the strong function must not read)
        ");
}
