//! Items that the code gives away or releases as if it owned them.

use super::{int, object};

#[test]
fn given_to_a_tuple() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *pair = PyTuple_New(1);
    if (pair == NULL)
        return NULL;
    PyTuple_SET_ITEM(pair, 0, PyDict_GetItem(dict, key));
    return pair;
"#
    ), @"
    6: review: no other code takes an extra reference for `value`, which is given away here without an owned reference
    @@
     {
         PyObject *pair = PyTuple_New(1);
    +    PyObject *value;
         if (pair == NULL)
             return NULL;
    -    PyTuple_SET_ITEM(pair, 0, PyDict_GetItem(dict, key));
    +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
    +        Py_DECREF(pair);
    +        return NULL;
    +    }
    +    PyTuple_SET_ITEM(pair, 0, value);
         return pair;
     }
    ");
}

#[test]
fn a_release_drops_a_count_on_purpose() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyDict_GetItem(dict, key);
    if (value) {
        Py_DECREF(value);
        PyErr_SetString(PyExc_ValueError, "there already");
        return -1;
    }
    return 0;
"#
    ), @"3: correct the original code first (the function releases or gives away a reference in `value` that it does not own)");
    insta::assert_snapshot!(super::all("void drop(PyObject *ref)
{
    Py_DECREF(PyWeakref_GetObject(ref));
}
"), @"3: correct the original code first (the function releases or gives away a reference in `referent` that it does not own)");
}

#[test]
fn used_after_it_was_given_away() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *pair = PyTuple_New(1), *value = PyDict_GetItem(dict, key);
    if (pair == NULL)
        return NULL;
    PyTuple_SET_ITEM(pair, 0, value);
    use(value);
    return pair;
"#
    ), @"
        3: correct the original code first (`PyTuple_SET_ITEM` takes over a reference that the function does not own)
        ");
}

#[test]
fn the_slot_is_filled_anew() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *last = PyList_GetItem(list, i);
    Py_DECREF(last);
    PyList_SET_ITEM(list, i, key);
    return 0;
"#
    ), @"
        3: correct the original code first (the function releases or gives away a reference in `last` that it does not own)
        ");
}

#[test]
fn others_do_without_it() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *row = PyList_GetItem(list, i);
    while (i-- > 0)
        take(PyFloat_AsDouble(PyList_GET_ITEM(row, i)));
    Py_DECREF(row);
    return 0;
"#
    ), @"
        3: correct the original code first (the function releases or gives away a reference in `row` that it does not own)
        @@
         {
             PyObject *row = PyList_GetItem(list, i);
        -    while (i-- > 0)
        -        take(PyFloat_AsDouble(PyList_GET_ITEM(row, i)));
        +    while (i-- > 0) {
        +        PyObject *item = PyList_GetItemRef(row, i);
        +        take(PyFloat_AsDouble(item));
        +        Py_XDECREF(item);
        +    }
             Py_DECREF(row);
             return 0;
        ");
}
