//! Lines that are aligned to what moves, and comments that would be wrong.

use super::super::dict_item::BORROWED_DICT_ITEM;
use super::{int, object};
use crate::testing;

#[test]
fn arguments_stay_below_each_other() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyDict_GetItem(dict,
                                     make(key,
                                          i)),
             *other;
    other = PyDict_GetItem(dict,
                           key);
    if (value == NULL || other == NULL)
        return -1;
    return use(value,
               i,
               other);
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItem(dict,
        -                                     make(key,
        -                                          i)),
        +    PyObject *value,
                      *other;
        -    other = PyDict_GetItem(dict,
        -                           key);
        -    if (value == NULL || other == NULL)
        +    int result;
        +    if (PyDict_GetItemRef(dict,
        +                          make(key,
        +                               i), &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    if (PyDict_GetItemRef(dict,
        +                          key, &other) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    if (value == NULL || other == NULL) {
        +        Py_XDECREF(value);
        +        Py_XDECREF(other);
                 return -1;
        -    return use(value,
        -               i,
        -               other);
        +    }
        +    result = use(value,
        +                 i,
        +                 other);
        +    Py_DECREF(value);
        +    Py_DECREF(other);
        +    return result;
         }
        ");
}

#[test]
fn a_lookup_that_moves_out_takes_its_lines_along() {
    insta::assert_snapshot!(int(
        r#"
    log_it(PyDict_GetItemString(dict,
                                "name"),
           1);
    return 0;
"#
    ), @r#"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    log_it(PyDict_GetItemString(dict,
        -                                "name"),
        +    PyObject *value;
        +    if (PyDict_GetItemStringRef(dict,
        +                                "name", &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    log_it(value,
                    1);
        +    Py_XDECREF(value);
             return 0;
         }
        "#);
}

#[test]
fn tabs_stay_tabs() {
    insta::assert_snapshot!(object(
        "\tPyObject *value;
\tif (i) {
\t\tvalue = PyList_GetItem(list,
\t\t\t\t       i);
\t\tif (value == NULL)
\t\t\treturn NULL;
\t\treturn make(value,
\t\t            i);
\t}
\treturn PyTuple_Pack(2, key,
\t\t\t    self);"
    ), @"
    5: review: in `f`, what a function made from the object that `PyList_GetItemRef` returned stays valid after the object is released
    @@
     	PyObject *value;
     	if (i) {
    -		value = PyList_GetItem(list,
    -				       i);
    +		PyObject *result;
    +		value = PyList_GetItemRef(list,
    +					  i);
     		if (value == NULL)
     			return NULL;
    -		return make(value,
    -		            i);
    +		result = make(value,
    +		              i);
    +		Py_DECREF(value);
    +		return result;
     	}
     	return PyTuple_Pack(2, key,
    ");
}

#[test]
fn what_is_not_aligned_stays() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value = PyDict_GetItem(
        dict, key);
    if (value == NULL)
        return -1;
    return use(value,
        i,
#ifdef MORE
               more,
#endif
               "a)", /* ( */
               list);
"#
    ), @r#"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItem(
        -        dict, key);
        +    PyObject *value;
        +    int result;
        +    if (PyDict_GetItemRef(
        +        dict, key, &value) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             if (value == NULL)
                 return -1;
        -    return use(value,
        +    result = use(value,
                 i,
         #ifdef MORE
        @@
                        "a)", /* ( */
                        list);
        +    Py_DECREF(value);
        +    return result;
         }
        "#);
}

#[test]
fn a_statement_that_moves_as_a_whole_moves_once() {
    insta::assert_snapshot!(int(
        r#"
    if (i > 3)
        log_it(PyList_GetItem(list, i),
               key);
    else if (PyList_GetItem(list, i) && use(key,
                                            self))
        done(list,
             i);
    return 0;
"#
    ), @"
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    if (i > 3)
    -        log_it(PyList_GetItem(list, i),
    +    if (i > 3) {
    +        PyObject *item = PyList_GetItemRef(list, i);
    +        log_it(item,
                    key);
    -    else if (PyList_GetItem(list, i) && use(key,
    -                                            self))
    -        done(list,
    -             i);
    +        Py_XDECREF(item);
    +    }
    +    else {
    +        PyObject *item2 = PyList_GetItemRef(list, i);
    +        if (item2 && use(key,
    +                         self))
    +            done(list,
    +                 i);
    +        Py_XDECREF(item2);
    +    }
         return 0;
     }
    ");
}

#[test]
fn comments_that_only_say_borrowed_go() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *a = PyList_GetItem(list, 0); /* borrowed */
    PyObject *b = PyList_GetItem(list, 1);   // Borrowed reference!
    PyObject *c = PyList_GetItem(list, 2); /* borrowed, but kept by the list */
    use(a, b, c);
    a = PyDict_GetItem(dict, key); /* a borrowed ref */
    if (a)
        use(a, a, a);
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    5: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *a = PyList_GetItem(list, 0); /* borrowed */
    -    PyObject *b = PyList_GetItem(list, 1);   // Borrowed reference!
    -    PyObject *c = PyList_GetItem(list, 2); /* borrowed, but kept by the list */
    +    PyObject *a = PyList_GetItemRef(list, 0);
    +    PyObject *b = PyList_GetItemRef(list, 1);
    +    PyObject *c = PyList_GetItemRef(list, 2); /* borrowed, but kept by the list */
         use(a, b, c);
    -    a = PyDict_GetItem(dict, key); /* a borrowed ref */
    -    if (a)
    +    Py_XDECREF(a);
    +    Py_XDECREF(b);
    +    Py_XDECREF(c);
    +    if (PyDict_GetItemRef(dict, key, &a) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
    +    if (a) {
             use(a, a, a);
    +        Py_DECREF(a);
    +    }
         return 0;
     }
    ");
}

#[test]
fn stars_stand_where_the_function_has_them() {
    let text = r#"
static PyObject* f(PyObject* self, PyObject* dict, PyObject *key)
{
    PyObject* value = PyDict_GetItem(dict, key);
    if (value == NULL)
        return NULL;
    log_it(PyDict_GetItemString(dict, "name"));
    return PyObject_Str(value);
}
"#;
    insta::assert_snapshot!(testing::run(&[&BORROWED_DICT_ITEM], text), @r#"
        @@
         static PyObject* f(PyObject* self, PyObject* dict, PyObject *key)
         {
        -    PyObject* value = PyDict_GetItem(dict, key);
        +    PyObject* value;
        +    PyObject* value2;
        +    PyObject* result;
        +    if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +        return NULL;
        +    }
             if (value == NULL)
                 return NULL;
        -    log_it(PyDict_GetItemString(dict, "name"));
        -    return PyObject_Str(value);
        +    if (PyDict_GetItemStringRef(dict, "name", &value2) < 0) {
        +        Py_DECREF(value);
        +        return NULL;
        +    }
        +    log_it(value2);
        +    Py_XDECREF(value2);
        +    result = PyObject_Str(value);
        +    Py_DECREF(value);
        +    return result;
         }
        "#);
}
