//! New variables that statements share.

use super::int;

#[test]
fn many_statements_share_one_though_they_could_declare_their_own() {
    insta::assert_snapshot!(int(
        r#"
    long a, b, c, d;
    a = PyLong_AsLong(PyList_GetItem(list, 0));
    b = PyLong_AsLong(PyList_GetItem(list, 1));
    c = PyLong_AsLong(PyList_GetItem(list, 2));
    d = PyLong_AsLong(PyList_GetItem(list, 3));
    int sum = a + b + c + d;
    return sum;
"#
    ), @"
    @@
     {
         long a, b, c, d;
    -    a = PyLong_AsLong(PyList_GetItem(list, 0));
    -    b = PyLong_AsLong(PyList_GetItem(list, 1));
    -    c = PyLong_AsLong(PyList_GetItem(list, 2));
    -    d = PyLong_AsLong(PyList_GetItem(list, 3));
    +    PyObject *item;
    +    item = PyList_GetItemRef(list, 0);
    +    a = PyLong_AsLong(item);
    +    Py_XDECREF(item);
    +    item = PyList_GetItemRef(list, 1);
    +    b = PyLong_AsLong(item);
    +    Py_XDECREF(item);
    +    item = PyList_GetItemRef(list, 2);
    +    c = PyLong_AsLong(item);
    +    Py_XDECREF(item);
    +    item = PyList_GetItemRef(list, 3);
    +    d = PyLong_AsLong(item);
    +    Py_XDECREF(item);
         int sum = a + b + c + d;
         return sum;
    ");
}

#[test]
fn a_statement_behind_which_another_variable_ends_shares_it_too() {
    insta::assert_snapshot!(int(
        r#"
    long a, b;
    PyObject *pair;
    for (; i > 0; i--) {
        pair = PyList_GetItem(list, i);
        a = PyLong_AsLong(PyList_GetItem(pair, 0));
        b = PyLong_AsLong(PyList_GetItem(pair, 1));
    }
    return a + b;
"#
    ), @"
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    8: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
         PyObject *pair;
         for (; i > 0; i--) {
    -        pair = PyList_GetItem(list, i);
    -        a = PyLong_AsLong(PyList_GetItem(pair, 0));
    -        b = PyLong_AsLong(PyList_GetItem(pair, 1));
    +        PyObject *item;
    +        pair = PyList_GetItemRef(list, i);
    +        item = PyList_GetItemRef(pair, 0);
    +        a = PyLong_AsLong(item);
    +        Py_XDECREF(item);
    +        item = PyList_GetItemRef(pair, 1);
    +        b = PyLong_AsLong(item);
    +        Py_XDECREF(item);
    +        Py_DECREF(pair);
         }
         return a + b;
    ");
}

#[test]
fn two_lookups_of_one_statement_have_two() {
    insta::assert_snapshot!(int(
        r#"
    long a;
    PyObject *pair = PyList_GetItem(list, i);
    a = pair_of(PyList_GetItem(pair, 0), PyList_GetItem(pair, 1));
    a += PyLong_AsLong(PyList_GetItem(pair, 2));
    return a;
"#
    ), @"
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    5: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    5: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     {
         long a;
    -    PyObject *pair = PyList_GetItem(list, i);
    -    a = pair_of(PyList_GetItem(pair, 0), PyList_GetItem(pair, 1));
    -    a += PyLong_AsLong(PyList_GetItem(pair, 2));
    +    PyObject *pair = PyList_GetItemRef(list, i);
    +    PyObject *item3;
    +    PyObject *item;
    +    PyObject *item2;
    +    item = PyList_GetItemRef(pair, 0);
    +    item2 = PyList_GetItemRef(pair, 1);
    +    a = pair_of(item, item2);
    +    Py_XDECREF(item);
    +    Py_XDECREF(item2);
    +    item3 = PyList_GetItemRef(pair, 2);
    +    a += PyLong_AsLong(item3);
    +    Py_XDECREF(item3);
    +    Py_DECREF(pair);
         return a;
     }
    ");
}
