//! Exits that are made or taken over where the function leaves by other ways than the next `if`.

use super::{int, object, of};

#[test]
fn false_is_an_error() {
    insta::assert_snapshot!(of(
        "bool",
        r#"
    for (Py_ssize_t at = 0; at < i; at++) {
        if (PyObject_SetItem(dict, key, PyList_GET_ITEM(list, at)) < 0)
            return false;
        if (at > 100) {
            PyErr_SetString(PyExc_ValueError, "too many");
            return false;
        }
    }
    return true;
"#
    ), @r#"
        @@
         {
             for (Py_ssize_t at = 0; at < i; at++) {
        -        if (PyObject_SetItem(dict, key, PyList_GET_ITEM(list, at)) < 0)
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
                     return false;
        +        }
        +        if (PyObject_SetItem(dict, key, item) < 0) {
        +            Py_DECREF(item);
        +            return false;
        +        }
        +        Py_DECREF(item);
                 if (at > 100) {
                     PyErr_SetString(PyExc_ValueError, "too many");
        "#);
}

#[test]
fn what_raises_gives_the_error() {
    insta::assert_snapshot!(of(
        "double *",
        r#"
    double *out = PyMem_Malloc(i * sizeof(double));
    if (out == NULL)
        return (double *)PyErr_NoMemory();
    for (Py_ssize_t at = 0; at < i; at++)
        out[at] = weight(PyList_GET_ITEM(list, at));
    return out;
"#
    ), @"
        7: review: in `f`, `weight(item)` (line 7) need not be undone at the new error exit (the function could not leave here before)
        @@
             if (out == NULL)
                 return (double *)PyErr_NoMemory();
        -    for (Py_ssize_t at = 0; at < i; at++)
        -        out[at] = weight(PyList_GET_ITEM(list, at));
        +    for (Py_ssize_t at = 0; at < i; at++) {
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            PyMem_Free(out);
        +            return NULL;
        +        }
        +        out[at] = weight(item);
        +        Py_DECREF(item);
        +    }
             return out;
         }
        ");
}

#[test]
fn what_was_collected_is_released() {
    insta::assert_snapshot!(object(
        r#"
    PyObject **texts = PyMem_Malloc(i * sizeof(*texts)), **end = texts;
    if (texts == NULL)
        return PyErr_NoMemory();
    for (Py_ssize_t at = 0; at < i; at++) {
        PyObject *text = PyObject_Str(PyList_GET_ITEM(list, at));
        if (text == NULL) {
            while (end != texts)
                Py_DECREF(*--end);
            PyMem_Free(texts);
            return NULL;
        }
        *end++ = text;
    }
    return join(texts, end);
"#
    ), @"
        @@
                 return PyErr_NoMemory();
             for (Py_ssize_t at = 0; at < i; at++) {
        -        PyObject *text = PyObject_Str(PyList_GET_ITEM(list, at));
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        PyObject *text;
        +        if (item == NULL) {
        +            while (end != texts)
        +                Py_DECREF(*--end);
        +            PyMem_Free(texts);
        +            return NULL;
        +        }
        +        text = PyObject_Str(item);
        +        Py_DECREF(item);
                 if (text == NULL) {
                     while (end != texts)
        ");
}

#[test]
fn what_was_collected_is_more_by_then() {
    insta::assert_snapshot!(object(
        r#"
    PyObject **texts = PyMem_Malloc(i * sizeof(*texts)), **end = texts;
    if (texts == NULL)
        return PyErr_NoMemory();
    for (Py_ssize_t at = 0; at < i; at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        *end++ = Py_NewRef(key);
        if (PyObject_SetItem(dict, key, item) < 0) {
            while (end != texts) {
                end--;
                Py_DECREF(*end);
            }
            PyMem_Free(texts);
            return NULL;
        }
    }
    return join(texts, end);
"#
    ), @"
        7: use `PyList_GetItemRef`, and on `NULL` also undo what has begun before (the checked call can fail where the macro could not, and `Py_DECREF(*end);` on line 12 undoes what may have begun)
        ");
}

#[test]
fn what_an_array_holds_by_then_is_released() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *texts[100];
    for (Py_ssize_t at = 0; at < i; at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        PyObject *text = PyObject_Str(item);
        if (text == NULL) {
            for (Py_ssize_t k = 0; k < at; k++)
                Py_DECREF(texts[k]);
            return NULL;
        }
        texts[at] = text;
    }
    return joined(texts, i);
"#
    ), @"
    @@
         PyObject *texts[100];
         for (Py_ssize_t at = 0; at < i; at++) {
    -        PyObject *item = PyList_GET_ITEM(list, at);
    -        PyObject *text = PyObject_Str(item);
    +        PyObject *item = PyList_GetItemRef(list, at);
    +        PyObject *text;
    +        if (item == NULL) {
    +            for (Py_ssize_t k = 0; k < at; k++)
    +                Py_DECREF(texts[k]);
    +            return NULL;
    +        }
    +        text = PyObject_Str(item);
    +        Py_DECREF(item);
             if (text == NULL) {
                 for (Py_ssize_t k = 0; k < at; k++)
    ");
}

#[test]
fn an_array_is_released_with_what_the_pass_adds() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *texts[100];
    for (Py_ssize_t at = 0; at < i; at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        texts[at] = Py_NewRef(key);
        if (PyObject_SetItem(dict, key, item) < 0) {
            for (Py_ssize_t k = 0; k <= at; k++)
                Py_DECREF(texts[k]);
            return NULL;
        }
    }
    return joined(texts, i);
"#
    ), @"
        5: use `PyList_GetItemRef`, and on `NULL` release the references that are stored in `texts` (the checked call can fail where the macro could not)
        ");
}

#[test]
fn the_place_to_be_filled_next_is_stepped_back() {
    insta::assert_snapshot!(int(
        r#"
    Py_buffer *views = PyMem_Malloc(i * sizeof(*views)), *view = views;
    Py_ssize_t at;
    if (views == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (at = 0; at < i; at++, view++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        view->len = 0;
        if (PyObject_GetBuffer(item, view, PyBUF_SIMPLE) < 0) {
            PyErr_SetString(PyExc_TypeError, "no bytes");
            view--;
            break;
        }
    }
    if (at < i) {
        for (; view >= views; view--)
            PyBuffer_Release(view);
        PyMem_Free(views);
        return -1;
    }
    keep(views);
    return 0;
"#
    ), @r#"
        @@
             }
             for (at = 0; at < i; at++, view++) {
        -        PyObject *item = PyList_GET_ITEM(list, at);
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            view--;
        +            break;
        +        }
                 view->len = 0;
                 if (PyObject_GetBuffer(item, view, PyBUF_SIMPLE) < 0) {
        +            Py_DECREF(item);
                     PyErr_SetString(PyExc_TypeError, "no bytes");
                     view--;
                     break;
                 }
        +        Py_DECREF(item);
             }
             if (at < i) {
        "#);
}

#[test]
fn a_number_tells_of_the_failure_behind_the_loop() {
    insta::assert_snapshot!(int(
        r#"
    int status = 0;
    take_lock(self);
    for (Py_ssize_t at = 0; at < i; at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        status = PyObject_SetItem(dict, key, item);
        if (status < 0) {
            PyErr_SetString(PyExc_TypeError, "not set");
            break;
        }
    }
    drop_lock(self);
    return status;
"#
    ), @"
        6: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn what_is_protected_is_given_back() {
    insta::assert_snapshot!(int(
        r#"
    struct thing *made = PROTECT(new_thing(i));
    for (Py_ssize_t at = 0; at < i; at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        PyObject *text = PyObject_Str(item);
        if (item == key) {
            put(made, at, 0);
        } else if (text != NULL) {
            put(made, at, 1);
        } else {
            UNPROTECT(1);
            PyErr_SetString(PyExc_ValueError, "no text");
            return -1;
        }
        Py_XDECREF(text);
    }
    UNPROTECT(1);
    ((Foo *)self)->made = made;
    return 0;
"#
    ), @r#"
        @@
             struct thing *made = PROTECT(new_thing(i));
             for (Py_ssize_t at = 0; at < i; at++) {
        -        PyObject *item = PyList_GET_ITEM(list, at);
        -        PyObject *text = PyObject_Str(item);
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        PyObject *text;
        +        if (item == NULL) {
        +            UNPROTECT(1);
        +            return -1;
        +        }
        +        text = PyObject_Str(item);
                 if (item == key) {
                     put(made, at, 0);
        @@
                     put(made, at, 1);
                 } else {
        +            Py_DECREF(item);
                     UNPROTECT(1);
                     PyErr_SetString(PyExc_ValueError, "no text");
                     return -1;
                 }
        +        Py_DECREF(item);
                 Py_XDECREF(text);
             }
        "#);
}

#[test]
fn how_much_is_protected_is_not_known() {
    insta::assert_snapshot!(int(
        r#"
    struct thing *made = PROTECT(new_thing(i)), *more;
    for (Py_ssize_t at = 0; at < i; at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        more = at ? PROTECT(new_thing(at)) : NULL;
        if (PyObject_SetItem(dict, key, item) < 0) {
            UNPROTECT(2);
            PyErr_SetString(PyExc_ValueError, "not set");
            return -1;
        }
        use(more);
        UNPROTECT(1);
    }
    ((Foo *)self)->made = made;
    return 0;
"#
    ), @"
        5: use `PyList_GetItemRef`, and on `NULL` also undo what has begun before (the checked call can fail where the macro could not, and `UNPROTECT(2);` on line 8 undoes what may have begun)
        ");
}

#[test]
fn an_exit_in_between_undoes_less() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GET_ITEM(list, 0);
    char *buffer = PyMem_Malloc(100);
    if (buffer == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (PyObject_SetItem(dict, key, item) < 0) {
        PyMem_Free(buffer);
        return -1;
    }
    if (send_copy(((Foo *)self)->pipe, buffer) == NULL) {
        finish_copy(((Foo *)self)->pipe);
        PyMem_Free(buffer);
        PyErr_SetString(PyExc_ValueError, "not sent");
        return -1;
    }
    finish_copy(((Foo *)self)->pipe);
    PyMem_Free(buffer);
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GET_ITEM(list, 0);
        -    char *buffer = PyMem_Malloc(100);
        +    PyObject *item = PyList_GetItemRef(list, 0);
        +    char *buffer;
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    buffer = PyMem_Malloc(100);
             if (buffer == NULL) {
        +        Py_DECREF(item);
                 PyErr_NoMemory();
                 return -1;
             }
             if (PyObject_SetItem(dict, key, item) < 0) {
        +        Py_DECREF(item);
                 PyMem_Free(buffer);
                 return -1;
             }
        +    Py_DECREF(item);
             if (send_copy(((Foo *)self)->pipe, buffer) == NULL) {
                 finish_copy(((Foo *)self)->pipe);
        ");
}

#[test]
fn all_that_is_returned_is_made_by_the_api() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *out = PyList_New(i);
    for (Py_ssize_t at = 0; at < i; at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        Py_INCREF(item);
        PyList_SET_ITEM(out, at, item);
    }
    return out;
"#
    ), @"
        @@
             PyObject *out = PyList_New(i);
             for (Py_ssize_t at = 0; at < i; at++) {
        -        PyObject *item = PyList_GET_ITEM(list, at);
        -        Py_INCREF(item);
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            Py_XDECREF(out);
        +            return NULL;
        +        }
                 PyList_SET_ITEM(out, at, item);
             }
        ");
}

#[test]
fn one_of_two_names_owns_it_on_all_paths() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *text = NULL;
    int status = 0;
    if (PyUnicode_Check(key)) {
        Py_INCREF(key);
        text = key;
    } else {
        text = PyObject_Str(key);
        if (text == NULL)
            goto error;
    }
    if (PyDict_SetItem(dict, text, PyList_GET_ITEM(list, i)) < 0)
        goto error;
    if (0) {
    error:
        status = -1;
    }
    Py_XDECREF(text);
    return status;
"#
    ), @"
        @@
             PyObject *text = NULL;
             int status = 0;
        +    PyObject *item;
             if (PyUnicode_Check(key)) {
                 Py_INCREF(key);
        @@
                     goto error;
             }
        -    if (PyDict_SetItem(dict, text, PyList_GET_ITEM(list, i)) < 0)
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        goto error;
        +    }
        +    if (PyDict_SetItem(dict, text, item) < 0) {
        +        Py_DECREF(item);
                 goto error;
        +    }
        +    Py_DECREF(item);
             if (0) {
             error:
        ");
}

#[test]
fn a_sequence_of_the_caller_ends_early() {
    insta::assert_snapshot!(int(
        r#"
    Py_ssize_t n = PySequence_Length(list);
    for (Py_ssize_t at = 0; at < n; at++) {
        long number = PyLong_AsLong(PySequence_Fast_GET_ITEM(list, at));
        if (number < 0)
            return 1;
    }
    return 0;
"#
    ), @"
        @@
             Py_ssize_t n = PySequence_Length(list);
             for (Py_ssize_t at = 0; at < n; at++) {
        -        long number = PyLong_AsLong(PySequence_Fast_GET_ITEM(list, at));
        +        PyObject *item = PyList_Check(list)
        +            ? PyList_GetItemRef(list, at)
        +            : Py_NewRef(PyTuple_GET_ITEM(list, at));
        +        long number;
        +        if (item == NULL) {
        +            return 1;
        +        }
        +        number = PyLong_AsLong(item);
        +        Py_DECREF(item);
                 if (number < 0)
                     return 1;
        ");
}

#[test]
fn a_block_that_a_macro_makes_is_released_in_front_of() {
    insta::assert_snapshot!(super::all(
        r#"
#define FAIL(error, text) { PyErr_SetString(error, text); return NULL; }
#define NO_TEXT FAIL(PyExc_TypeError, "no text")
static PyObject *f(PyObject *list)
{
    Py_ssize_t at;
    for (at = 0; at < PyList_GET_SIZE(list); at++) {
        PyObject *item = PyList_GetItem(list, at);
        if (item == NULL)
            return NULL;
        if (PyLong_Check(item)) FAIL(PyExc_TypeError, "a number")
        else if (!PyUnicode_Check(item))
            NO_TEXT;
        if (!PyUnicode_GET_LENGTH(item))
            FAIL(PyExc_ValueError, "empty");
    }
    Py_RETURN_NONE;
}
"#
    ), @r#"
        @@
             Py_ssize_t at;
             for (at = 0; at < PyList_GET_SIZE(list); at++) {
        -        PyObject *item = PyList_GetItem(list, at);
        +        PyObject *item = PyList_GetItemRef(list, at);
                 if (item == NULL)
                     return NULL;
        -        if (PyLong_Check(item)) FAIL(PyExc_TypeError, "a number")
        -        else if (!PyUnicode_Check(item))
        +        if (PyLong_Check(item)) {
        +            Py_DECREF(item);
        +            FAIL(PyExc_TypeError, "a number")
        +        }
        +        else if (!PyUnicode_Check(item)) {
        +            Py_DECREF(item);
                     NO_TEXT;
        -        if (!PyUnicode_GET_LENGTH(item))
        +        }
        +        if (!PyUnicode_GET_LENGTH(item)) {
        +            Py_DECREF(item);
                     FAIL(PyExc_ValueError, "empty");
        +        }
        +        Py_DECREF(item);
             }
             Py_RETURN_NONE;
        "#);
}
