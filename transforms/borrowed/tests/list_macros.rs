//! The unchecked macro: what happens where the checked call fails.

use super::{all, int, object, of};
use crate::testing::report;
use crate::transforms::borrowed::list_macro::UNCHECKED_LIST_ITEM;

#[test]
fn tested_already() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GET_ITEM(list, i);
    if (item == NULL)
        return -1;
    return check(item);
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    int result;
             if (item == NULL)
                 return -1;
        -    return check(item);
        +    result = check(item);
        +    Py_DECREF(item);
        +    return result;
         }
        ");
}

#[test]
fn handed_on_to_the_caller() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GET_ITEM(list, i);
    Py_INCREF(item);
    return item;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(list, i);
        -    Py_INCREF(item);
        +    PyObject *item = PyList_GetItemRef(list, i);
             return item;
         }
        ");
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GET_ITEM(list, i);
    Py_INCREF(item);
    use(item);
    return item;
"#
    ), @"
        3: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn a_test_between_declarations_of_c89() {
    insta::assert_snapshot!(int(
        r#"
    Py_ssize_t at;
    for (at = 0; at < PyList_GET_SIZE(list); at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        PyObject *number = PyNumber_Float(item);
        int n = 0;
        if (number == NULL)
            PyErr_Clear();
        Py_XDECREF(number);
    }
    return 0;
"#
    ), @"
        @@
             Py_ssize_t at;
             for (at = 0; at < PyList_GET_SIZE(list); at++) {
        -        PyObject *item = PyList_GET_ITEM(list, at);
        -        PyObject *number = PyNumber_Float(item);
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        PyObject *number;
                 int n = 0;
        +        if (item == NULL) {
        +            PyErr_Clear();
        +            break;
        +        }
        +        number = PyNumber_Float(item);
        +        Py_DECREF(item);
                 if (number == NULL)
                     PyErr_Clear();
        ");
}

#[test]
fn an_empty_slot_is_filled() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GET_ITEM(list, i);
    if (item == NULL) {
        item = PyLong_FromLong(0);
        if (item == NULL)
            return NULL;
        PyList_SET_ITEM(list, i, item);
    }
    Py_INCREF(item);
    return item;
"#
    ), @"
        3: look the item up before the list is passed on (the list may have empty slots, which the strong function must not read)
        ");
}

#[test]
fn a_list_or_a_tuple() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_Check(list) ? PyList_GET_ITEM(list, i) : PyTuple_GET_ITEM(list, i);
    double number = PyFloat_AsDouble(item);
    if (number == -1 && PyErr_Occurred())
        return -1;
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_Check(list) ? PyList_GET_ITEM(list, i) : PyTuple_GET_ITEM(list, i);
        -    double number = PyFloat_AsDouble(item);
        +    PyObject *item = PyList_Check(list) ? PyList_GetItemRef(list, i) : Py_NewRef(PyTuple_GET_ITEM(list, i));
        +    double number;
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    number = PyFloat_AsDouble(item);
        +    Py_DECREF(item);
             if (number == -1 && PyErr_Occurred())
                 return -1;
        ");
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_Check(list) ? PyList_GET_ITEM(list, i) : PyTuple_GetItem(list, i);
    double number = PyFloat_AsDouble(item);
    if (number == -1 && PyErr_Occurred())
        return -1;
    return 0;
"#
    ), @"
        3: put the lookup in its own statement (a condition runs before it in the same expression)
        ");
}

#[test]
fn the_other_side_of_an_assignment() {
    insta::assert_snapshot!(int(
        r#"
    double out[10];
    int n = 0;
    out[n++] = PyFloat_AsDouble(PyList_GetItem(list, i));
    *place() = PyFloat_AsDouble(PyList_GetItem(list, i));
    return n + out[0];
"#
    ), @"
        6: put the lookup in its own statement (another part runs before it in the same expression)
        @@
             double out[10];
             int n = 0;
        -    out[n++] = PyFloat_AsDouble(PyList_GetItem(list, i));
        +    PyObject *item;
        +    item = PyList_GetItemRef(list, i);
        +    out[n++] = PyFloat_AsDouble(item);
        +    Py_XDECREF(item);
             *place() = PyFloat_AsDouble(PyList_GetItem(list, i));
             return n + out[0];
        ");
}

#[test]
fn a_return_that_is_an_error_elsewhere() {
    insta::assert_snapshot!(int(
        r#"
    Py_ssize_t at;
    for (at = 0; at < PyList_GET_SIZE(list); at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        if (PyDict_SetItem(dict, key, item) < 0)
            return -1;
    }
    return 0;
"#
    ), @"
        @@
             Py_ssize_t at;
             for (at = 0; at < PyList_GET_SIZE(list); at++) {
        -        PyObject *item = PyList_GET_ITEM(list, at);
        -        if (PyDict_SetItem(dict, key, item) < 0)
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            return -1;
        +        }
        +        if (PyDict_SetItem(dict, key, item) < 0) {
        +            Py_DECREF(item);
                     return -1;
        +        }
        +        Py_DECREF(item);
             }
             return 0;
        ");
}

#[test]
fn the_cleanup_label() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *result = NULL, *name = NULL;
    PyObject *tuple = PyTuple_New(1);
    if (tuple == NULL)
        goto done;
    name = PyObject_Str(PyList_GET_ITEM(list, i));
    if (name == NULL)
        goto done;
    result = PyTuple_Pack(2, tuple, name);
done:
    Py_XDECREF(tuple);
    Py_XDECREF(name);
    return result;
"#
    ), @"
        @@
             PyObject *result = NULL, *name = NULL;
             PyObject *tuple = PyTuple_New(1);
        +    PyObject *item;
             if (tuple == NULL)
                 goto done;
        -    name = PyObject_Str(PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        goto done;
        +    }
        +    name = PyObject_Str(item);
        +    Py_DECREF(item);
             if (name == NULL)
                 goto done;
        ");
}

#[test]
fn the_releases_of_an_error_branch() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *tuple = PyTuple_New(1);
    PyObject *item;
    if (!tuple)
        return NULL;
    item = PyList_GET_ITEM(list, i);
    if (PyObject_SetItem(tuple, key, item) < 0) {
        Py_DECREF(tuple);
        return NULL;
    }
    return tuple;
"#
    ), @"
        @@
             if (!tuple)
                 return NULL;
        -    item = PyList_GET_ITEM(list, i);
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        Py_DECREF(tuple);
        +        return NULL;
        +    }
             if (PyObject_SetItem(tuple, key, item) < 0) {
        +        Py_DECREF(item);
                 Py_DECREF(tuple);
                 return NULL;
             }
        +    Py_DECREF(item);
             return tuple;
         }
        ");
}

#[test]
fn an_exit_that_only_raises() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "a list");
        return -1;
    }
    item = PyList_GET_ITEM(list, i);
    Py_INCREF(item);
    ((Foo *)self)->item = item;
    return 0;
"#
    ), @"
        @@
                 return -1;
             }
        -    item = PyList_GET_ITEM(list, i);
        -    Py_INCREF(item);
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return -1;
        +    }
             ((Foo *)self)->item = item;
             return 0;
        ");
}

#[test]
fn two_items_at_once() {
    insta::assert_snapshot!(int(
        r#"
    if (!PyList_Check(list))
        return 0;
    PyObject *a = PyList_GET_ITEM(list, 0);
    PyObject *b = PyList_GET_ITEM(list, 1);
    if (PyDict_SetItem(dict, a, b) < 0)
        return -1;
    return 0;
"#
    ), @"
        @@
             if (!PyList_Check(list))
                 return 0;
        -    PyObject *a = PyList_GET_ITEM(list, 0);
        -    PyObject *b = PyList_GET_ITEM(list, 1);
        -    if (PyDict_SetItem(dict, a, b) < 0)
        +    PyObject *a = PyList_GetItemRef(list, 0);
        +    if (a == NULL) {
        +        return -1;
        +    }
        +    PyObject *b = PyList_GetItemRef(list, 1);
        +    if (b == NULL) {
        +        Py_DECREF(a);
        +        return -1;
        +    }
        +    if (PyDict_SetItem(dict, a, b) < 0) {
        +        Py_DECREF(a);
        +        Py_DECREF(b);
                 return -1;
        +    }
        +    Py_DECREF(a);
        +    Py_DECREF(b);
             return 0;
         }
        ");
}

#[test]
fn nested_in_a_loop() {
    insta::assert_snapshot!(int(
        r#"
    Py_ssize_t at;
    if (PyDict_SetItem(dict, key, list) < 0)
        return -1;
    for (at = 0; at < PyList_GET_SIZE(list); at++)
        use(PyList_GET_ITEM(list, at));
    return 0;
"#
    ), @"
        7: review: in `f`, `PyDict_SetItem(dict, key, list)` (line 4) need not be undone at the new error exit (the function could not leave here before)
        @@
             if (PyDict_SetItem(dict, key, list) < 0)
                 return -1;
        -    for (at = 0; at < PyList_GET_SIZE(list); at++)
        -        use(PyList_GET_ITEM(list, at));
        +    for (at = 0; at < PyList_GET_SIZE(list); at++) {
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            return -1;
        +        }
        +        use(item);
        +        Py_DECREF(item);
        +    }
             return 0;
         }
        ");
}

#[test]
fn none_is_no_error() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == NULL)
        return NULL;
    use(value);
    use(PyList_GET_ITEM(list, i));
    Py_RETURN_NONE;
"#
    ), @"
        7: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *value = PyDict_GetItemWithError(dict, key);
        +    PyObject *value;
        +    (void)PyDict_GetItemRef(dict, key, &value);
             if (value == NULL)
                 return NULL;
             use(value);
        +    Py_DECREF(value);
             use(PyList_GET_ITEM(list, i));
             Py_RETURN_NONE;
        ");
}

#[test]
fn part_of_a_condition() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    if (PyDict_SetItem(dict, key, list) < 0)
        return -1;
    if ((item = PyList_GET_ITEM(list, i)) == key)
        use(item);
    return 0;
"#
    ), @"
        6: put the lookup in its own statement, and test its result for `NULL` (the checked call can fail where the macro could not)
        ");
}

#[test]
fn only_c_calls_it() {
    insta::assert_snapshot!(report(&UNCHECKED_LIST_ITEM, r#"
static PyObject *
set_choice(PyObject *self, PyObject *list)
{
    Py_ssize_t i, n = count_of(self);
    for (i = 0; i < n; i++)
        take(PyObject_Size(PyList_GET_ITEM(list, i)));
    return NULL;
}
"#), @"
        7: `PyList_GET_ITEM` returns a borrowed reference from `list`, which the caller passes; another thread can free the object
          by hand: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn an_object_half_made() {
    insta::assert_snapshot!(report(&UNCHECKED_LIST_ITEM, r#"
static PyObject *
thing_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct thing *self = (struct thing *)type->tp_alloc(type, 0);
    PyObject *list;
    if (!PyArg_ParseTuple(args, "O", &list))
        return NULL;
    self->stream->owner = self;
    self->first = PyObject_Size(PyList_GET_ITEM(list, 0));
    return (PyObject *)self;
}
static PyTypeObject type = {.tp_new = thing_new};
"#), @"
        10: `PyList_GET_ITEM` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          by hand: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn inside_of_a_declaration() {
    insta::assert_snapshot!(int(
        r#"
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        Py_ssize_t size = PyObject_Size(PyList_GET_ITEM(list, i));
        if (size < 0)
            return -1;
    }
    return 0;
"#
    ), @"
        @@
         {
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        Py_ssize_t size = PyObject_Size(PyList_GET_ITEM(list, i));
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        Py_ssize_t size;
        +        if (item == NULL) {
        +            return -1;
        +        }
        +        size = PyObject_Size(item);
        +        Py_DECREF(item);
                 if (size < 0)
                     return -1;
        ");
}

#[test]
fn inside_of_one_of_several_declarations() {
    insta::assert_snapshot!(int(
        r#"
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        Py_ssize_t size = PyObject_Size(PyList_GET_ITEM(list, i));
        int status;
        if (size < 0)
            return -1;
    }
    return 0;
"#
    ), @"
        @@
         {
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        Py_ssize_t size = PyObject_Size(PyList_GET_ITEM(list, i));
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        Py_ssize_t size;
                 int status;
        +        if (item == NULL) {
        +            return -1;
        +        }
        +        size = PyObject_Size(item);
        +        Py_DECREF(item);
                 if (size < 0)
                     return -1;
        ");
}

#[test]
fn a_test_between_declarations() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *a = PyList_GET_ITEM(list, 0);
    PyObject *b = PyList_GET_ITEM(list, 1);
    if (PyDict_SetItem(dict, a, b) < 0)
        return -1;
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *a = PyList_GET_ITEM(list, 0);
        -    PyObject *b = PyList_GET_ITEM(list, 1);
        -    if (PyDict_SetItem(dict, a, b) < 0)
        +    PyObject *a = PyList_GetItemRef(list, 0);
        +    PyObject *b;
        +    if (a == NULL) {
                 return -1;
        +    }
        +    b = PyList_GetItemRef(list, 1);
        +    if (b == NULL) {
        +        Py_DECREF(a);
        +        return -1;
        +    }
        +    if (PyDict_SetItem(dict, a, b) < 0) {
        +        Py_DECREF(a);
        +        Py_DECREF(b);
        +        return -1;
        +    }
        +    Py_DECREF(a);
        +    Py_DECREF(b);
             return 0;
         }
        ");
}

#[test]
fn values_of_earlier_variables_stay_in_their_declarations() {
    insta::assert_snapshot!(int(
        r#"
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        int n = (int)PyLong_AsLong(PyList_GET_ITEM(list, i));
        long bit = 1l << i;
        long twice = n + bit;
        use(n, bit, twice);
    }
    return 0;
"#
    ), @"
    @@
     {
         for (i = 0; i < PyList_GET_SIZE(list); i++) {
    -        int n = (int)PyLong_AsLong(PyList_GET_ITEM(list, i));
    +        PyObject *exc = PyErr_GetRaisedException();
    +        PyObject *item = PyList_GetItemRef(list, i);
    +        int n;
             long bit = 1l << i;
    -        long twice = n + bit;
    +        long twice;
    +        PyErr_SetRaisedException(exc);
    +        if (item == NULL) {
    +            break;
    +        }
    +        n = (int)PyLong_AsLong(item);
    +        twice = n + bit;
    +        Py_DECREF(item);
             use(n, bit, twice);
         }
    ");
}

/// The caller would take the part for the whole.
#[test]
fn a_loop_does_not_just_end_in_a_function_that_reports_failures() {
    for exit in [
        "UNLOCK_AND_FAIL(self)",
        "{ status = -6; goto bad; }",
        "PyErr_Clear(); if (i == 3) { UNLOCK(self); return -6; }",
    ] {
        let body = format!(
            "
    int status = 0;
    PyObject **out = &((Foo *)self)->made;
    LOCK(self);
    *out = PyList_New(0);
    for (i = 0; i < PyList_GET_SIZE(list); i++) {{
        PyObject *text = PyObject_Str(PyList_GET_ITEM(list, i));
        if (!text) {exit}
        Py_DECREF(text);
    }}
    UNLOCK(self);
    return 0;
bad:
    Py_CLEAR(*out);
    return status;
"
        );
        let code = format!(
            "#define UNLOCK_AND_FAIL(o) do {{ UNLOCK(o); return -1; }} while (0);\n\
             static int f(PyObject *self, PyObject *list, Py_ssize_t i)\n{{{body}}}\n"
        );
        let result = crate::testing::run(super::ALL, &code);
        assert!(!result.contains("break;"), "{exit}: {result}");
    }
}

/// The exception is how the function tells its caller.
#[test]
fn a_void_function_that_raises() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    if (PyList_GET_SIZE(list) == 1) {
        PyObject *detail = describe(
                PyList_GET_ITEM(list, 0));
        if (detail != NULL) {
            PyErr_SetObject(PyExc_TypeError, detail);
            Py_DECREF(detail);
        }
    }
    Py_XDECREF(list);
"#
    ), @"
    5: review: in `f`, what a function made from the object that `PyList_GetItemRef` returned stays valid after the object is released
    @@
     {
         if (PyList_GET_SIZE(list) == 1) {
    -        PyObject *detail = describe(
    -                PyList_GET_ITEM(list, 0));
    +        PyObject *item = PyList_GetItemRef(list, 0);
    +        PyObject *detail;
    +        if (item == NULL) {
    +            Py_XDECREF(list);
    +            return;
    +        }
    +        detail = describe(item);
    +        Py_DECREF(item);
             if (detail != NULL) {
                 PyErr_SetObject(PyExc_TypeError, detail);
    ");
}

#[test]
fn a_void_function_that_tells_of_what_it_raises() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    if (PyList_GET_SIZE(list) == 1) {
        PyErr_SetObject(PyExc_TypeError, PyList_GET_ITEM(list, 0));
        PyErr_WriteUnraisable(NULL);
    }
"#
    ), @"
        @@
         {
             if (PyList_GET_SIZE(list) == 1) {
        -        PyErr_SetObject(PyExc_TypeError, PyList_GET_ITEM(list, 0));
        +        PyObject *item = PyList_GetItemRef(list, 0);
        +        if (item == NULL) {
        +            PyErr_WriteUnraisable(NULL);
        +            return;
        +        }
        +        PyErr_SetObject(PyExc_TypeError, item);
        +        Py_DECREF(item);
                 PyErr_WriteUnraisable(NULL);
             }
        ");
}

#[test]
fn a_test_that_is_there_already_serves() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    PyObject *seq = PySequence_Fast(list, "a sequence");
    if (seq == NULL)
        return -1;
    for (i = 0; i < 3; i++) {
        item = PySequence_Fast_GET_ITEM(seq, i);
        if (item == NULL || PyObject_SetItem(dict, key, item) < 0)
            goto error;
    }
    if (PyObject_IsTrue(key) < 0)
        goto error;
    Py_DECREF(seq);
    return 0;
error:
    Py_DECREF(seq);
    return -1;
"#
    ), @"
        @@
                 return -1;
             for (i = 0; i < 3; i++) {
        -        item = PySequence_Fast_GET_ITEM(seq, i);
        -        if (item == NULL || PyObject_SetItem(dict, key, item) < 0)
        +        item = PySequence_GetItem(seq, i);
        +        if (item == NULL || PyObject_SetItem(dict, key, item) < 0) {
        +            Py_XDECREF(item);
                     goto error;
        +        }
        +        Py_DECREF(item);
             }
             if (PyObject_IsTrue(key) < 0)
        ");
}

#[test]
fn a_list_made_with_no_items_has_no_gaps() {
    let given_away = |size: &str| {
        let text = format!(
            "static int f(PyObject *dict, PyObject *key)
{{
    PyObject *item, *found = PyList_New({size});
    if (found == NULL)
        return -1;
    if (PyObject_SetItem(dict, key, found) < 0)
        goto failed;
    item = PyList_GET_ITEM(found, 0);
    if (PyObject_SetItem(dict, key, item) < 0)
        goto failed;
    Py_DECREF(found);
    return 0;
failed:
    Py_DECREF(found);
    return -1;
}}
"
        );
        crate::testing::run_triaged(&UNCHECKED_LIST_ITEM, &text)
    };
    insta::assert_snapshot!(given_away("0"), @"
        8: `PyList_GET_ITEM` returns a borrowed reference from a container that is made here, and passed on or emptied on line 6; another thread can free the object
          8: borrowed here
          9: used here, after another thread may have freed it
          safe: take a strong reference (`PyList_GET_ITEM` → `PyList_GetItemRef`)
        @@
             if (PyObject_SetItem(dict, key, found) < 0)
                 goto failed;
        -    item = PyList_GET_ITEM(found, 0);
        -    if (PyObject_SetItem(dict, key, item) < 0)
        +    item = PyList_GetItemRef(found, 0);
        +    if (item == NULL) {
        +        goto failed;
        +    }
        +    if (PyObject_SetItem(dict, key, item) < 0) {
        +        Py_DECREF(item);
                 goto failed;
        +    }
        +    Py_DECREF(item);
             Py_DECREF(found);
             return 0;
        ");
    insta::assert_snapshot!(given_away("1"), @"
        8: `PyList_GET_ITEM` returns a borrowed reference from a container that is made here, and passed on or emptied on line 6; another thread can free the object
          8: borrowed here
          9: used here, after another thread may have freed it
          by hand: look the item up before the list is passed on (the list may have empty slots, which the strong function must not read)
        ");
}

#[test]
fn values_between_two_lookups_in_declarations_of_c89() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *a = PyList_GetItem(list, 0);
    PyObject *b = PyList_GET_ITEM(list, 1);
    long n = PyLong_AsLong(b);
    PyObject *c = PyDict_GetItem(dict, key);
    PyObject *d = PyList_GetItem(list, 2);
    int size = 0;

    if (a == NULL || d == NULL)
        return -1;
    use(a, b, c, d);
    return size + n;
"#
    ), @"
        4: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *a = PyList_GetItem(list, 0);
        +    PyObject *a = PyList_GetItemRef(list, 0);
             PyObject *b = PyList_GET_ITEM(list, 1);
             long n = PyLong_AsLong(b);
        -    PyObject *c = PyDict_GetItem(dict, key);
        -    PyObject *d = PyList_GetItem(list, 2);
        +    PyObject *c;
        +    PyObject *exc;
        +    PyObject *d;
             int size = 0;
        +    exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef(dict, key, &c) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
        +    d = PyList_GetItemRef(list, 2);
         
        -    if (a == NULL || d == NULL)
        +    if (a == NULL || d == NULL) {
        +        Py_XDECREF(a);
        +        Py_XDECREF(c);
        +        Py_XDECREF(d);
                 return -1;
        +    }
             use(a, b, c, d);
        +    Py_DECREF(a);
        +    Py_XDECREF(c);
        +    Py_DECREF(d);
             return size + n;
         }
        ");
}

#[test]
fn a_name_that_a_later_declaration_hides_stays_in_front_of_it() {
    let left = [
        "PyObject *v = PyDict_GetItem(dict, key); PyObject *key = PyDict_GetItem(dict, self);",
        "PyObject *v = PyDict_GetItem(dict, key); static int key = 40;",
        "PyObject *v = PyDict_GetItem(dict, key); long n = size(v) * N; enum { N = 7 };",
        "PyObject *v = PyDict_GetItem(dict, key); long n = size(v); long size = 2 * n;",
    ];
    for body in left {
        let changed = int(&format!("    {{\n{body}\nuse(v);\n}}\nreturn 0;\n"));
        assert!(
            changed.contains("a test of the result cannot stand"),
            "{body}: {changed}"
        );
    }
}

#[test]
fn an_exception_is_put_away_behind_the_last_declaration() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *a = PyDict_GetItem(dict, key);
    long n = PyLong_AsLong(a);
    const int one = 1;
    PyObject *b = PyDict_GetItem(dict, self);
    if (PyErr_Occurred())
        return -1;
    return use(a, b, n + one);
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *a = PyDict_GetItem(dict, key);
        -    long n = PyLong_AsLong(a);
        +    PyObject *a;
        +    long n;
             const int one = 1;
        -    PyObject *b = PyDict_GetItem(dict, self);
        -    if (PyErr_Occurred())
        +    PyObject *b;
        +    PyObject *exc;
        +    int result;
        +    if (PyDict_GetItemRef(dict, key, &a) < 0) {
                 return -1;
        -    return use(a, b, n + one);
        +    }
        +    n = PyLong_AsLong(a);
        +    exc = PyErr_GetRaisedException();
        +    if (PyDict_GetItemRef(dict, self, &b) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
        +    PyErr_SetRaisedException(exc);
        +    if (PyErr_Occurred()) {
        +        Py_XDECREF(a);
        +        Py_XDECREF(b);
        +        return -1;
        +    }
        +    result = use(a, b, n + one);
        +    Py_XDECREF(a);
        +    Py_XDECREF(b);
        +    return result;
         }
        ");
}

#[test]
fn a_test_behind_further_declarations_is_the_exit() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GET_ITEM(list, i);
    Py_ssize_t result = 0, n;
    if (!item)
        return -1;
    Py_INCREF(item);
    n = PyObject_Size(key);
    result = PyObject_RichCompareBool(item, key, Py_LT);
    Py_DECREF(item);
    return result < 0 || n < 0 ? -1 : 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             Py_ssize_t result = 0, n;
             if (!item)
                 return -1;
        -    Py_INCREF(item);
             n = PyObject_Size(key);
             result = PyObject_RichCompareBool(item, key, Py_LT);
        ");
    // What the declaration in between computes must not see `NULL`.
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GET_ITEM(list, i);
    Py_ssize_t size = Py_SIZE(item);
    if (!item)
        return -1;
    return PyObject_Size(key) + size;
"#
    ), @"3: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn a_list_by_the_name_of_its_struct_is_cast() {
    insta::assert_snapshot!(all(
        "typedef PyObject *any;
typedef struct { PyObject_HEAD PyListObject *items; any others; } Box;
static int f(Box *self, PyListObject *list)
{
    PyObject *first, *second, *third;
    first = PyList_GET_ITEM(list, 0);
    if (first == NULL)
        return -1;
    second = PyList_GET_ITEM(self->items, 1);
    if (second == NULL)
        return -1;
    third = PyList_GET_ITEM(self->others, 2);
    if (third == NULL)
        return -1;
    return PyObject_IsTrue(first) + PyObject_IsTrue(second) + PyObject_IsTrue(third);
}
"
    ), @"
        @@
         {
             PyObject *first, *second, *third;
        -    first = PyList_GET_ITEM(list, 0);
        +    int result;
        +    first = PyList_GetItemRef((PyObject *)list, 0);
             if (first == NULL)
                 return -1;
        -    second = PyList_GET_ITEM(self->items, 1);
        -    if (second == NULL)
        +    second = PyList_GetItemRef((PyObject *)self->items, 1);
        +    if (second == NULL) {
        +        Py_DECREF(first);
                 return -1;
        -    third = PyList_GET_ITEM(self->others, 2);
        -    if (third == NULL)
        +    }
        +    third = PyList_GetItemRef(self->others, 2);
        +    if (third == NULL) {
        +        Py_DECREF(first);
        +        Py_DECREF(second);
                 return -1;
        -    return PyObject_IsTrue(first) + PyObject_IsTrue(second) + PyObject_IsTrue(third);
        +    }
        +    result = PyObject_IsTrue(first) + PyObject_IsTrue(second) + PyObject_IsTrue(third);
        +    Py_DECREF(first);
        +    Py_DECREF(second);
        +    Py_DECREF(third);
        +    return result;
         }
        ");
}

#[test]
fn an_element_that_is_a_list_is_cast() {
    insta::assert_snapshot!(all(
        "static int g(PyListObject **lists, Py_ssize_t i)
{
    PyObject *item = PyList_GET_ITEM(lists[i], 0);
    if (item == NULL)
        return -1;
    return PyObject_IsTrue(item);
}
"
    ), @"
        @@
         static int g(PyListObject **lists, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(lists[i], 0);
        +    PyObject *item = PyList_GetItemRef((PyObject *)lists[i], 0);
        +    int result;
             if (item == NULL)
                 return -1;
        -    return PyObject_IsTrue(item);
        +    result = PyObject_IsTrue(item);
        +    Py_DECREF(item);
        +    return result;
         }
        ");
}

#[test]
fn all_that_points_at_a_list_is_cast() {
    let cast = |container: &str| {
        let diff = all(&format!(
            "typedef struct {{ PyListObject list; int n; }} MyList;
typedef struct {{ PyObject_HEAD PyListObject *items; }} Box;
#define ITEMS(box) ((box)->items)
static PyListObject *items(Box *box) {{ return box->items; }}
int g(PyObject *self, PyListObject **lists, Box *box, void *any, int n)
{{
    PyObject *item = PyList_GET_ITEM({container}, 0);
    if (item == NULL)
        return -1;
    return PyObject_IsTrue(item);
}}
"
        ));
        let line = diff.lines().find(|line| line.contains("GetItemRef("));
        let line = line.expect("it is rewritten").to_owned();
        let (_, container) = line.split_once("GetItemRef(").expect("it has one");
        container.trim_end_matches(", 0);").to_owned()
    };
    assert_eq!(cast("*lists"), "(PyObject *)*lists");
    assert_eq!(
        cast("n ? lists[0] : lists[1]"),
        "(PyObject *)(n ? lists[0] : lists[1])"
    );
    assert_eq!(cast("items(box)"), "(PyObject *)items(box)");
    assert_eq!(cast("ITEMS(box)"), "(PyObject *)ITEMS(box)");
    assert_eq!(
        cast("&((MyList *)self)->list"),
        "(PyObject *)&((MyList *)self)->list"
    );
    assert_eq!(cast("(PyListObject *)any"), "(PyObject *)any");
    // The cast was for the macro.
    assert_eq!(cast("(PyListObject *)self"), "self");
    assert_eq!(cast("self"), "self");
}
