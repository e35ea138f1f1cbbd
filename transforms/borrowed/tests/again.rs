//! Lookups that a statement makes more than once.

use super::{int, object};

#[test]
fn one_item_is_looked_up_once() {
    insta::assert_snapshot!(int(
        r#"
    if (!PyLong_Check(PyList_GetItem(list, i)) && !PyFloat_Check(PyList_GetItem(list, i)))
        return -1;
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    if (!PyLong_Check(PyList_GetItem(list, i)) && !PyFloat_Check(PyList_GetItem(list, i)))
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    if (!PyLong_Check(item) && !PyFloat_Check(item)) {
    +        Py_DECREF(item);
             return -1;
    +    }
    +    Py_DECREF(item);
         return 0;
     }
    ");
}

#[test]
fn what_runs_behind_the_last_lookup_changes_nothing_for_it() {
    insta::assert_snapshot!(int(
        r#"
    if (PyTuple_Check(PyList_GetItem(list, i)) &&
        PyTuple_GET_SIZE(PyList_GetItem(list, i)) == 2 &&
        use(PyTuple_GET_ITEM(PyList_GetItem(list, i), 0)) < 0)
        return -1;
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    5: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    if (PyTuple_Check(PyList_GetItem(list, i)) &&
    -        PyTuple_GET_SIZE(PyList_GetItem(list, i)) == 2 &&
    -        use(PyTuple_GET_ITEM(PyList_GetItem(list, i), 0)) < 0)
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    if (PyTuple_Check(item) &&
    +        PyTuple_GET_SIZE(item) == 2 &&
    +        use(PyTuple_GET_ITEM(item, 0)) < 0) {
    +        Py_DECREF(item);
             return -1;
    +    }
    +    Py_DECREF(item);
         return 0;
     }
    ");
}

#[test]
fn an_item_of_an_item() {
    insta::assert_snapshot!(object(
        r#"
    if (PyList_Check(PyList_GET_ITEM(list, 0)) && PyLong_Check(PyList_GET_ITEM(PyList_GET_ITEM(list, 0), i)))
        Py_RETURN_TRUE;
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_FALSE;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    if (PyList_Check(PyList_GET_ITEM(list, 0)) && PyLong_Check(PyList_GET_ITEM(PyList_GET_ITEM(list, 0), i)))
        +    int holds;
        +    PyObject *item = PyList_GetItemRef(list, 0);
        +    if (item == NULL) {
        +        return NULL;
        +    }
        +    holds = PyList_Check(item);
        +    if (holds) {
        +        PyObject *item2 = PyList_GetItemRef(item, i);
        +        if (item2 == NULL) {
        +            Py_DECREF(item);
        +            return NULL;
        +        }
        +        holds = PyLong_Check(item2);
        +        Py_DECREF(item2);
        +    }
        +    if (holds) {
        +        Py_DECREF(item);
                 Py_RETURN_TRUE;
        +    }
        +    Py_DECREF(item);
             if (PyErr_Occurred())
                 return NULL;
        ");
}

#[test]
fn a_value_that_is_tested_and_chosen() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *value = PyDict_GetItem(dict, key) ? PyDict_GetItem(dict, key) : Py_None;
    return PyObject_Repr(value);
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItem(dict, key) ? PyDict_GetItem(dict, key) : Py_None;
        -    return PyObject_Repr(value);
        +    PyObject *value2;
        +    if (PyDict_GetItemRef(dict, key, &value2) < 0) {
        +        return NULL;
        +    }
        +    PyObject *value = value2 ? value2 : Py_None;
        +    PyObject *result;
        +    result = PyObject_Repr(value);
        +    Py_XDECREF(value2);
        +    return result;
         }
        ");
}

#[test]
fn a_key_that_is_there_and_what_it_has() {
    insta::assert_snapshot!(int(
        r#"
    return PyDict_GetItemString(dict, "a") != NULL && PyLong_Check(PyDict_GetItemString(dict, "a"));
"#
    ), @r#"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    return PyDict_GetItemString(dict, "a") != NULL && PyLong_Check(PyDict_GetItemString(dict, "a"));
        +    int result;
        +    PyObject *value;
        +    if (PyDict_GetItemStringRef(dict, "a", &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    result = value != NULL && PyLong_Check(value);
        +    Py_XDECREF(value);
        +    return result;
         }
        "#);
}

#[test]
fn what_changes_the_list_in_between() {
    insta::assert_snapshot!(int(
        r#"
    if (PyLong_Check(PyList_GetItem(list, i)) && PyList_SetItem(list, i, Py_None) < 0 && PyFloat_Check(PyList_GetItem(list, i)))
        return 1;
    return 0;
"#
    ), @"
        3: review: in `f`, `PyList_SetItem(list, i, Py_None)` need not be undone at the new error exit (the function could not leave here before)
        3: review: in `f`, `PyList_SetItem(list, i, Py_None)` need not be undone at the new error exit (the function could not leave here before)
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    if (PyLong_Check(PyList_GetItem(list, i)) && PyList_SetItem(list, i, Py_None) < 0 && PyFloat_Check(PyList_GetItem(list, i)))
        +    int holds;
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return 1;
        +    }
        +    holds = PyLong_Check(item) && PyList_SetItem(list, i, Py_None) < 0;
        +    if (holds) {
        +        PyObject *item2 = PyList_GetItemRef(list, i);
        +        if (item2 == NULL) {
        +            Py_DECREF(item);
        +            return 1;
        +        }
        +        holds = PyFloat_Check(item2);
        +        Py_DECREF(item2);
        +    }
        +    if (holds) {
        +        Py_DECREF(item);
                 return 1;
        +    }
        +    Py_DECREF(item);
             return 0;
         }
        ");
}

#[test]
fn what_changes_the_index_in_between() {
    insta::assert_snapshot!(int(
        r#"
    if (PyLong_Check(PyList_GetItem(list, i)) && i++ && PyFloat_Check(PyList_GetItem(list, i)))
        return 2;
    return 0;
"#
    ), @"
        3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
        3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    if (PyLong_Check(PyList_GetItem(list, i)) && i++ && PyFloat_Check(PyList_GetItem(list, i)))
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    int holds = PyLong_Check(item) && i++;
        +    if (holds) {
        +        PyObject *item2 = PyList_GetItemRef(list, i);
        +        holds = PyFloat_Check(item2);
        +        Py_XDECREF(item2);
        +    }
        +    if (holds) {
        +        Py_DECREF(item);
                 return 2;
        +    }
        +    Py_DECREF(item);
             return 0;
         }
        ");
}

#[test]
fn what_may_change_the_index_by_its_address() {
    insta::assert_snapshot!(int(
        r#"
    if (PyLong_Check(PyList_GetItem(list, i)) && next(&i) && PyFloat_Check(PyList_GetItem(list, i)))
        return 3;
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    if (PyLong_Check(PyList_GetItem(list, i)) && next(&i) && PyFloat_Check(PyList_GetItem(list, i)))
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    int holds = PyLong_Check(item) && next(&i);
    +    if (holds) {
    +        PyObject *item2 = PyList_GetItemRef(list, i);
    +        holds = PyFloat_Check(item2);
    +        Py_XDECREF(item2);
    +    }
    +    if (holds) {
    +        Py_DECREF(item);
             return 3;
    +    }
    +    Py_DECREF(item);
         return 0;
     }
    ");
}

#[test]
fn what_the_package_may_change() {
    insta::assert_snapshot!(super::all(
        r#"
typedef struct { PyObject_HEAD PyObject *rows; } Table;
static int
refresh(Table *self)
{
    Py_XSETREF(self->rows, PyList_New(1));
    return 0;
}
static int
f(Table *self, Py_ssize_t i)
{
    if (PyList_Check(PyList_GetItem(self->rows, i)) && !refresh(self) && PyList_Check(PyList_GetItem(self->rows, i)))
        return 1;
    return 0;
}
"#
    ), @"
    11: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    11: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     f(Table *self, Py_ssize_t i)
     {
    -    if (PyList_Check(PyList_GetItem(self->rows, i)) && !refresh(self) && PyList_Check(PyList_GetItem(self->rows, i)))
    +    PyObject *item = PyList_GetItemRef(self->rows, i);
    +    int holds = PyList_Check(item) && !refresh(self);
    +    if (holds) {
    +        PyObject *item2 = PyList_GetItemRef(self->rows, i);
    +        holds = PyList_Check(item2);
    +        Py_XDECREF(item2);
    +    }
    +    if (holds) {
    +        Py_DECREF(item);
             return 1;
    +    }
    +    Py_DECREF(item);
         return 0;
     }
    ");
}

#[test]
fn what_writes_the_key_or_the_index_in_another_way() {
    insta::assert_snapshot!(int(
        r#"
    char name[8] = "a";
    return PyDict_GetItemString(dict, name) != NULL && strcpy(name, "b")
        && PyDict_GetItemString(dict, name) != NULL;
"#
    ), @"
        4: safe: the code only asks whether the key is present
        5: safe: the code only asks whether the key is present
        ");
    insta::assert_snapshot!(int(
        r"
    if (PyLong_Check(PyList_GetItem(list, i)) && ({ i++; 1; })
            && PyLong_Check(PyList_GetItem(list, i)))
        return 1;
    return 0;
"
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    if (PyLong_Check(PyList_GetItem(list, i)) && ({ i++; 1; })
    -            && PyLong_Check(PyList_GetItem(list, i)))
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    int holds = PyLong_Check(item) && ({ i++; 1; });
    +    if (holds) {
    +        PyObject *item2 = PyList_GetItemRef(list, i);
    +        holds = PyLong_Check(item2);
    +        Py_XDECREF(item2);
    +    }
    +    if (holds) {
    +        Py_DECREF(item);
             return 1;
    +    }
    +    Py_DECREF(item);
         return 0;
     }
    ");
}
