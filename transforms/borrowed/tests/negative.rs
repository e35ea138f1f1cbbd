//! Sites where the obvious rewrite is wrong.

use super::{int, object};

#[test]
fn returned_borrowed() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    return item;
"#
    ), @"3: return a strong reference, and release it in the callers; there is no automatic fix, because no analysed code calls it");
}

#[test]
fn returned_at_once() {
    insta::assert_snapshot!(object(
        r#"
    return PyDict_GetItem(dict, key);
"#
    ), @"3: return a strong reference, and release it in the callers; there is no automatic fix, because no analysed code calls it");
}

#[test]
fn stored_without_a_reference() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    ((Foo *)self)->item = item;
    return 0;
"#
    ), @"
        3: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        ");
}

#[test]
fn field_of_the_object() {
    insta::assert_snapshot!(int(
        r#"
    ((Foo *)self)->item = PyList_GetItem(list, i);
    return 0;
"#
    ), @"
        3: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory that outlives the call)
        ");
}

#[test]
fn raw_pointer_returned() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    return PyTuple_GET_ITEM(item, 0);
"#
    ), @"
        3: keep a strong reference as long as the pointer (a pointer into the object in `item` is returned or stored, and would dangle)
        ");
}

#[test]
fn chained_lookups_in_one_variable() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyDict_GetItemString(dict, "a");
    value = PyDict_GetItem(value, key);
    return check(value);
"#
    ), @r#"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItemString(dict, "a");
        -    value = PyDict_GetItem(value, key);
        -    return check(value);
        +    PyObject *value;
        +    PyObject *value2;
        +    int result;
        +    if (PyDict_GetItemStringRef(dict, "a", &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    if (PyDict_GetItemRef(value, key, &value2) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    Py_DECREF(value);
        +    value = value2;
        +    result = check(value);
        +    Py_XDECREF(value);
        +    return result;
         }
        "#);
}

#[test]
fn address_taken() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    fill(&item);
    return 0;
"#
    ), @"
        3: use a separate variable for the lookup (other code may read or replace `item`, because its address is passed on)
        ");
}

#[test]
fn static_variable() {
    insta::assert_snapshot!(int(
        r#"
    static PyObject *item;
    item = PyList_GetItem(list, i);
    return check(item);
"#
    ), @"
        4: store a strong reference in `item`, and release it when it is replaced (`item` keeps the borrowed reference after the function returns)
        ");
}

#[test]
fn loop_condition() {
    insta::assert_snapshot!(int(
        r#"
    while (check(PyList_GetItem(list, i)))
        i++;
    return 0;
"#
    ), @"
        3: move the call into the body of the loop (it is part of the condition)
        ");
}

#[test]
fn stolen_without_a_reference() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *tuple = PyTuple_New(1);
    PyObject *item = PyList_GetItem(list, i);
    PyTuple_SET_ITEM(tuple, 0, item);
    return tuple;
"#
    ), @"
    4: review: no other code takes an extra reference for `item`, which is given away here without an owned reference
    @@
     {
         PyObject *tuple = PyTuple_New(1);
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    if (item == NULL) {
    +        Py_XDECREF(tuple);
    +        return NULL;
    +    }
         PyTuple_SET_ITEM(tuple, 0, item);
         return tuple;
    ");
}

#[test]
fn previous_item_kept() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *last = NULL;
    for (Py_ssize_t n = 0; n < i; n++) {
        PyObject *item = PyList_GetItem(list, n);
        if (last != NULL)
            compare(last, item);
        last = item;
    }
    return 0;
"#
    ), @"
        5: take the reference in `item` on all paths (only some paths own it)
        ");
}

#[test]
fn wide_conversions_in_a_ternary() {
    insta::assert_snapshot!(int(
        r#"
    int n = i ? check(PyList_GetItem(list, i)) : 0;
    return n;
"#
    ), @"
        3: put the lookup in its own statement (a condition runs before it in the same expression)
        ");
}

#[test]
fn macros_wait_for_a_failure_path() {
    insta::assert_snapshot!(int(
        r#"
    return check(PyList_GET_ITEM(list, i));
"#
    ), @"
        3: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn the_name_stands_in_a_macro() {
    let text = r#"
#define F(name) name
#define GET(name) PyList_##name
static int f(PyObject *list)
{
    PyObject *item = F(PyList_GetItem)(list, 0);
    PyObject *other = GET(GetItem)(list, 1);
    if (item == NULL || other == NULL)
        return -1;
    return 0;
}
"#;
    insta::assert_snapshot!(crate::testing::run(crate::transforms::ALL, text), @"
        6: use the strong function, define each name that `F` builds from it, and release the new reference in addition to what the code releases already (the macro `F` gets the name of the function and may build other names from it)
        7: change the macro `GET` together with its uses (the call is in the macro)
        ");
}

#[test]
fn stored_without_a_reference_before_another_value() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    ((Foo *)self)->item = item;
    item = key;
    return check(item);
"#
    ), @"
        3: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
        ");
}

#[test]
fn stored_without_a_reference_before_another_lookup() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, 0);
    ((Foo *)self)->item = item;
    item = PyList_GetItem(list, 1);
    return check(item);
"#
    ), @"
    3: decide who owns the reference, and take a strong reference for it (the borrowed reference is stored in memory)
    5: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     {
         PyObject *item = PyList_GetItem(list, 0);
    +    int result;
         ((Foo *)self)->item = item;
    -    item = PyList_GetItem(list, 1);
    -    return check(item);
    +    item = PyList_GetItemRef(list, 1);
    +    result = check(item);
    +    Py_XDECREF(item);
    +    return result;
     }
    ");
}

#[test]
fn a_pointer_into_the_object_is_returned_where_paths_meet() {
    let text = |body: &str| {
        let text =
            format!("static const char *f(PyObject *dict, PyObject *key, int i)\n{{\n{body}}}\n");
        crate::testing::run(crate::transforms::ALL, &text)
    };
    insta::assert_snapshot!(text("    const char *text = NULL;
    PyObject *value;
    if (i) {
        value = PyDict_GetItem(dict, key);
        if (value != NULL)
            text = PyBytes_AsString(value);
    }
    return text;
"), @"
        6: keep a strong reference as long as the pointer (a pointer into the object in `value` is returned or stored, and would dangle)
        ");
    insta::assert_snapshot!(text("    const char *text;
    if (i)
        text = PyBytes_AsString(PyDict_GetItem(dict, key));
    else
        text = other(dict);
    return text;
"), @"
        5: keep a strong reference as long as the pointer (a pointer into the object in `value` is returned or stored, and would dangle)
        ");
}

#[test]
fn the_count_is_asked_for() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *v = PyDict_GetItem(dict, key);
    assert(v->ob_refcnt == 0);
    Py_INCREF(v);
    Py_INCREF(v);
    if (PyDict_DelItem(dict, key) < 0)
        Py_DECREF(v);
    assert(v->ob_refcnt == 1);
    return 0;
"#
    ), @"
        3: take a strong reference, and adapt the tests of the reference count (the function tests the count of the object in `v`)
        @@
         {
             PyObject *v = PyDict_GetItem(dict, key);
        -    assert(v->ob_refcnt == 0);
        +    assert(Py_REFCNT(v) == 0);
             Py_INCREF(v);
             Py_INCREF(v);
             if (PyDict_DelItem(dict, key) < 0)
                 Py_DECREF(v);
        -    assert(v->ob_refcnt == 1);
        +    assert(Py_REFCNT(v) == 1);
             return 0;
         }
        ");
}

#[test]
fn what_an_assert_reads_may_be_null() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyDict_GetItemString(dict, "a");
    assert(PyTuple_Check(value));
    check(list);
    return value != NULL && PyLong_Check(value);
"#
    ), @r#"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItemString(dict, "a");
        +    PyObject *value;
        +    int result;
        +    if (PyDict_GetItemStringRef(dict, "a", &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             assert(PyTuple_Check(value));
             check(list);
        -    return value != NULL && PyLong_Check(value);
        +    result = value != NULL && PyLong_Check(value);
        +    Py_XDECREF(value);
        +    return result;
         }
        "#);
    insta::assert_snapshot!(int(
        r"
    assert(PyLong_Check(PyList_GetItem(list, 3)));
    return 0;
"
    ), @"3: put the lookup in its own statement (a build without assertions leaves out the `assert` with the call)");
}
