//! Lookups whose result goes straight to a function that takes `NULL` for an error.

use super::of;

fn number(body: &str) -> String {
    of("double", body)
}

#[test]
fn a_number_that_nobody_asks_errors_of() {
    insta::assert_snapshot!(number(
        r#"
    double total = 0;
    for (; i > 0; i--)
        total += PyFloat_AsDouble(PyList_GET_ITEM(list, i - 1));
    return total;
"#
    ), @"
        @@
         {
             double total = 0;
        -    for (; i > 0; i--)
        -        total += PyFloat_AsDouble(PyList_GET_ITEM(list, i - 1));
        +    for (; i > 0; i--) {
        +        PyObject *item = PyList_GetItemRef(list, i - 1);
        +        total += PyFloat_AsDouble(item);
        +        Py_XDECREF(item);
        +    }
             return total;
         }
        ");
}

#[test]
fn lists_of_lists() {
    insta::assert_snapshot!(number(
        r#"
    return PyFloat_AsDouble(PyList_GET_ITEM(PyList_GET_ITEM(PyList_GET_ITEM(list, 0), i), i));
"#
    ), @"
        @@
         static double f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    return PyFloat_AsDouble(PyList_GET_ITEM(PyList_GET_ITEM(PyList_GET_ITEM(list, 0), i), i));
        +    PyObject *item2;
        +    PyObject *item3;
        +    double result;
        +    PyObject *item = PyList_GetItemRef(list, 0);
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    item2 = PyList_GetItemRef(item, i);
        +    if (item2 == NULL) {
        +        Py_DECREF(item);
        +        return -1;
        +    }
        +    item3 = PyList_GetItemRef(item2, i);
        +    if (item3 == NULL) {
        +        Py_DECREF(item);
        +        Py_DECREF(item2);
        +        return -1;
        +    }
        +    result = PyFloat_AsDouble(item3);
        +    Py_DECREF(item);
        +    Py_DECREF(item2);
        +    Py_DECREF(item3);
        +    return result;
         }
        ");
}

#[test]
fn an_exit_is_better_where_there_is_one() {
    insta::assert_snapshot!(super::object(
        r#"
    double number = PyFloat_AsDouble(PyList_GET_ITEM(list, i));
    if (number == -1 && PyErr_Occurred())
        return NULL;
    return PyFloat_FromDouble(number);
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    double number = PyFloat_AsDouble(PyList_GET_ITEM(list, i));
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    double number;
        +    if (item == NULL) {
        +        return NULL;
        +    }
        +    number = PyFloat_AsDouble(item);
        +    Py_DECREF(item);
             if (number == -1 && PyErr_Occurred())
                 return NULL;
        ");
}

#[test]
fn other_functions_read_what_they_get() {
    insta::assert_snapshot!(number(
        r#"
    return PyFloat_AS_DOUBLE(PyList_GET_ITEM(list, i)) + PyList_Size(PyList_GET_ITEM(list, i));
"#
    ), @"
        3: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        3: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}
