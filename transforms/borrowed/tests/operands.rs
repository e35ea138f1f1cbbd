//! Lookups beside other operands and arguments, between which C knows no order.

use super::{all, int, object};

#[test]
fn operands_and_arguments() {
    insta::assert_snapshot!(object(
        r#"
    double d = PyFloat_AsDouble(PyList_GetItem(list, 0)) * PyFloat_AsDouble(PyList_GetItem(list, 1));
    if (d < 0)
        return Py_BuildValue("(NO)", PyLong_FromSsize_t(i), PyList_GET_ITEM(list, i));
    return Py_BuildValue("(NO)", PyLong_FromSsize_t(i), PyDict_GetItemString(dict, "a"));
"#
    ), @r#"
    3: declare the variable first, and assign to it after the declarations (a test of the result cannot stand between declarations)
    3: declare the variable first, and assign to it after the declarations (a test of the result cannot stand between declarations)
    @@
     {
         double d = PyFloat_AsDouble(PyList_GetItem(list, 0)) * PyFloat_AsDouble(PyList_GetItem(list, 1));
    -    if (d < 0)
    -        return Py_BuildValue("(NO)", PyLong_FromSsize_t(i), PyList_GET_ITEM(list, i));
    -    return Py_BuildValue("(NO)", PyLong_FromSsize_t(i), PyDict_GetItemString(dict, "a"));
    +    PyObject *exc;
    +    PyObject *value;
    +    PyObject *result;
    +    if (d < 0) {
    +        PyObject *item3 = PyList_GetItemRef(list, i);
    +        PyObject *result;
    +        if (item3 == NULL) {
    +            return NULL;
    +        }
    +        result = Py_BuildValue("(NO)", PyLong_FromSsize_t(i), item3);
    +        Py_DECREF(item3);
    +        return result;
    +    }
    +    exc = PyErr_GetRaisedException();
    +    if (PyDict_GetItemStringRef(dict, "a", &value) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    PyErr_SetRaisedException(exc);
    +    result = Py_BuildValue("(NO)", PyLong_FromSsize_t(i), value);
    +    Py_XDECREF(value);
    +    return result;
     }
    "#);
}

#[test]
fn what_may_change_the_container_comes_first() {
    insta::assert_snapshot!(int(
        r#"
    use(PyList_SetItem(list, 0, key), PyList_GetItem(list, 0));
    use(PyObject_CallNoArgs(key), PyList_GetItem(list, 0));
    use(next(self), PyList_GetItem(list, 0));
    return 0;
"#
    ), @"
        3: put the lookup in its own statement (another part runs before it in the same expression)
        4: put the lookup in its own statement (another part runs before it in the same expression)
        5: put the lookup in its own statement (another part runs before it in the same expression)
        ");
}

#[test]
fn an_order_that_c_knows() {
    insta::assert_snapshot!(int(
        r#"
    int n = PyLong_AsInt(key), m = PyLong_AsInt(PyList_GetItem(list, 0));
    return PyLong_AsInt(key), n + m + PyLong_AsInt(PyList_GetItem(list, 1));
"#
    ), @"
        3: put the lookup in its own statement (another part runs before it in the same expression)
        4: put the lookup in its own statement (another part runs before it in the same expression)
        ");
}

/// Packages define these by functions of Python 3 in headers that need not be there.
#[test]
fn what_functions_of_python_2_make() {
    insta::assert_snapshot!(int(
        r#"
    return send(PyInt_FromLong(i), PyDict_GetItem(dict, PyString_FromString("a")));
"#
    ), @r#"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    return send(PyInt_FromLong(i), PyDict_GetItem(dict, PyString_FromString("a")));
        +    int result;
        +    PyObject *value;
        +    if (PyDict_GetItemRef(dict, PyString_FromString("a"), &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    result = send(PyInt_FromLong(i), value);
        +    Py_XDECREF(value);
        +    return result;
         }
        "#);
}

/// The value is looked up once, behind the test of the item; what follows it is done once as well.
#[test]
fn an_item_in_the_lookup_of_a_declaration() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyDict_GetItem(dict, PyList_GET_ITEM(list, i));
    int size = weigh(list);
    if (value == NULL)
        return -1;
    if (PyList_Append(list, value) < 0)
        return -1;
    return size;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItem(dict, PyList_GET_ITEM(list, i));
        -    int size = weigh(list);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    PyObject *value;
        +    int size;
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    if (PyDict_GetItemRef(dict, item, &value) < 0) {
        +        Py_DECREF(item);
        +        return -1;
        +    }
        +    size = weigh(list);
        +    Py_DECREF(item);
             if (value == NULL)
                 return -1;
        -    if (PyList_Append(list, value) < 0)
        +    if (PyList_Append(list, value) < 0) {
        +        Py_DECREF(value);
                 return -1;
        +    }
        +    Py_DECREF(value);
             return size;
         }
        ");
}

#[test]
fn an_item_in_the_lookup_of_a_declaration_of_a_list() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyList_GetItem(PyList_GET_ITEM(list, i), 0);
    if (value == NULL)
        return -1;
    if (PyList_Append(list, value) < 0)
        return -1;
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyList_GetItem(PyList_GET_ITEM(list, i), 0);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    PyObject *value;
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    value = PyList_GetItemRef(item, 0);
        +    Py_DECREF(item);
             if (value == NULL)
                 return -1;
        -    if (PyList_Append(list, value) < 0)
        +    if (PyList_Append(list, value) < 0) {
        +        Py_DECREF(value);
                 return -1;
        +    }
        +    Py_DECREF(value);
             return 0;
         }
        ");
}

#[test]
fn an_operand_whose_value_nobody_takes_goes_with_the_lookup() {
    insta::assert_snapshot!(all("
PyObject *one(PyObject *self, PyObject *d)
{
    PyObject *a;
    if (!PyDict_Check(d))
        return NULL;
    return a = PyDict_GetItemString(d, \"a\"), a ? PyObject_Repr(a) : PyObject_Repr(d);
}
PyObject *three(PyObject *self, PyObject *d)
{
    PyObject *a;
    if (!PyDict_Check(d))
        return NULL;
    if (a = PyDict_GetItemString(d, \"a\"), a != NULL)
        return PyObject_Repr(a);
    return PyObject_Repr(d);
}
"), @r#"
    @@
     {
         PyObject *a;
    +    PyObject *result;
         if (!PyDict_Check(d))
             return NULL;
    -    return a = PyDict_GetItemString(d, "a"), a ? PyObject_Repr(a) : PyObject_Repr(d);
    +    if (PyDict_GetItemStringRef(d, "a", &a) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    result = (a ? PyObject_Repr(a) : PyObject_Repr(d));
    +    Py_XDECREF(a);
    +    return result;
     }
     PyObject *three(PyObject *self, PyObject *d)
    @@
         if (!PyDict_Check(d))
             return NULL;
    -    if (a = PyDict_GetItemString(d, "a"), a != NULL)
    -        return PyObject_Repr(a);
    +    if (PyDict_GetItemStringRef(d, "a", &a) < 0) {
    +        return NULL;
    +    }
    +    if (a != NULL) {
    +        PyObject *result = PyObject_Repr(a);
    +        Py_DECREF(a);
    +        return result;
    +    }
         return PyObject_Repr(d);
     }
    "#);
}
