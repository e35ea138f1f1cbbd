//! Items of `PySequence_Fast` that have to be read as the macro did.

use super::{int, object};

#[test]
fn an_exception_may_be_pending() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *fast = PySequence_Fast(key, "not a pair");
    double x, y;
    if (fast == NULL)
        return NULL;
    x = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(fast, 0));
    y = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(fast, 1));
    Py_DECREF(fast);
    if (PyErr_Occurred())
        return NULL;
    return PyFloat_FromDouble(x + y);
"#
    ), @r#"
        @@
             PyObject *fast = PySequence_Fast(key, "not a pair");
             double x, y;
        +    PyObject *item;
             if (fast == NULL)
                 return NULL;
        -    x = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(fast, 0));
        -    y = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(fast, 1));
        +    item = PyList_Check(fast)
        +        ? PyList_GetItemRef(fast, 0)
        +        : Py_NewRef(PyTuple_GET_ITEM(fast, 0));
        +    if (item == NULL) {
        +        Py_DECREF(fast);
        +        return NULL;
        +    }
        +    x = PyFloat_AsDouble(item);
        +    Py_DECREF(item);
        +    item = PyList_Check(fast)
        +        ? PyList_GetItemRef(fast, 1)
        +        : Py_NewRef(PyTuple_GET_ITEM(fast, 1));
        +    if (item == NULL) {
        +        Py_DECREF(fast);
        +        return NULL;
        +    }
        +    y = PyFloat_AsDouble(item);
        +    Py_DECREF(item);
             Py_DECREF(fast);
             if (PyErr_Occurred())
        "#);
}

#[test]
fn a_variable_that_begins_with_the_item() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PySequence_Fast_GET_ITEM(list, i);
    if (PyDict_SetItem(dict, key, value) < 0)
        return -1;
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PySequence_Fast_GET_ITEM(list, i);
        -    if (PyDict_SetItem(dict, key, value) < 0)
        +    PyObject *value = PyList_Check(list)
        +        ? PyList_GetItemRef(list, i)
        +        : Py_NewRef(PyTuple_GET_ITEM(list, i));
        +    if (value == NULL) {
        +        return -1;
        +    }
        +    if (PyDict_SetItem(dict, key, value) < 0) {
        +        Py_DECREF(value);
                 return -1;
        +    }
        +    Py_DECREF(value);
             return 0;
         }
        ");
}

#[test]
fn an_item_with_a_cast() {
    insta::assert_snapshot!(int(
        r#"
    Foo *value;
    if (PyDict_SetItem(dict, key, key) < 0)
        return -1;
    value = (Foo *)PySequence_Fast_GET_ITEM(list, i++);
    if (check(value) < 0)
        return -1;
    return 0;
"#
    ), @"
        @@
             if (PyDict_SetItem(dict, key, key) < 0)
                 return -1;
        -    value = (Foo *)PySequence_Fast_GET_ITEM(list, i++);
        -    if (check(value) < 0)
        +    value = (Foo *)(PyList_Check(list)
        +        ? PyList_GetItemRef(list, i++)
        +        : Py_NewRef(PyTuple_GET_ITEM(list, i++)));
        +    if (value == NULL) {
        +        return -1;
        +    }
        +    if (check(value) < 0) {
        +        Py_DECREF(value);
                 return -1;
        +    }
        +    Py_DECREF(value);
             return 0;
         }
        ");
}

#[test]
fn a_field_that_takes_the_item() {
    insta::assert_snapshot!(int(
        r#"
    if (PyDict_SetItem(dict, key, key) < 0)
        return -1;
    self->first = Py_NewRef(PySequence_Fast_GET_ITEM(self->items, i));
    return 0;
"#
    ), @"
        5: review: in `f`, `PyDict_SetItem(dict, key, key)` (line 3) need not be undone at the new error exit (the function could not leave here before)
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        +    PyObject *item;
             if (PyDict_SetItem(dict, key, key) < 0)
                 return -1;
        -    self->first = Py_NewRef(PySequence_Fast_GET_ITEM(self->items, i));
        +    item = PyList_Check(self->items)
        +        ? PyList_GetItemRef(self->items, i)
        +        : Py_NewRef(PyTuple_GET_ITEM(self->items, i));
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    self->first = item;
             return 0;
         }
        ");
}

#[test]
fn a_test_behind_another() {
    insta::assert_snapshot!(int(
        r#"
    if (PyDict_SetItem(dict, key, key) < 0)
        return -1;
    if (i > 0 && PyLong_Check(PySequence_Fast_GET_ITEM(list, i)))
        return -1;
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        +    int holds;
             if (PyDict_SetItem(dict, key, key) < 0)
                 return -1;
        -    if (i > 0 && PyLong_Check(PySequence_Fast_GET_ITEM(list, i)))
        +    holds = i > 0;
        +    if (holds) {
        +        PyObject *item = PyList_Check(list)
        +            ? PyList_GetItemRef(list, i)
        +            : Py_NewRef(PyTuple_GET_ITEM(list, i));
        +        if (item == NULL) {
        +            return -1;
        +        }
        +        holds = PyLong_Check(item);
        +        Py_DECREF(item);
        +    }
        +    if (holds)
                 return -1;
             return 0;
        ");
}

#[test]
fn a_sequence_that_a_call_gives() {
    insta::assert_snapshot!(int(
        r#"
    if (PyDict_SetItem(dict, key, key) < 0)
        return -1;
    use(PySequence_Fast_GET_ITEM(items_of(list), i));
    return 0;
"#
    ), @"
        5: review: the sequence comes from `PySequence_Fast` (a subclass may return other items); in `f`, `items_of(list)` need not be undone at the new error exit (the function could not leave here before)
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        +    PyObject *item;
             if (PyDict_SetItem(dict, key, key) < 0)
                 return -1;
        -    use(PySequence_Fast_GET_ITEM(items_of(list), i));
        +    item = PySequence_GetItem(items_of(list), i);
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             return 0;
         }
        ");
}
