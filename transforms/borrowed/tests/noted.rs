//! Lookups whose failure ends a loop as the next error does, or is handed on by the function.

use super::{int, object, of};

#[test]
fn the_failure_is_noted_as_the_next_one_is() {
    insta::assert_snapshot!(object(
        r"
    PyObject *out = PyTuple_New(i);
    if (out) {
        for (Py_ssize_t at = 0; at < i; at++) {
            PyObject *sum = PyNumber_Add(key, PyList_GET_ITEM(list, at));
            if (sum == NULL) {
                Py_DECREF(out);
                out = NULL;
                break;
            }
            PyTuple_SET_ITEM(out, at, sum);
        }
    }
    return out;"
    ), @"
        @@
             if (out) {
                 for (Py_ssize_t at = 0; at < i; at++) {
        -            PyObject *sum = PyNumber_Add(key, PyList_GET_ITEM(list, at));
        +            PyObject *item = PyList_GetItemRef(list, at);
        +            PyObject *sum;
        +            if (item == NULL) {
        +                Py_DECREF(out);
        +                out = NULL;
        +                break;
        +            }
        +            sum = PyNumber_Add(key, item);
        +            Py_DECREF(item);
                     if (sum == NULL) {
                         Py_DECREF(out);
        ");
}

#[test]
fn what_comes_behind_the_loop_is_left_to_it() {
    insta::assert_snapshot!(int(
        r#"
    int status = 0;
    if (Py_EnterRecursiveCall(" in a list")) {
        return -1;
    }
    for (Py_ssize_t at = 0; at < i; at++) {
        PyObject *text = PyObject_Str(PyList_GET_ITEM(list, at));
        if (text == NULL) {
            status = -1;
            break;
        }
        Py_DECREF(text);
    }
    Py_LeaveRecursiveCall();
    return status;"#
    ), @"
        @@
             }
             for (Py_ssize_t at = 0; at < i; at++) {
        -        PyObject *text = PyObject_Str(PyList_GET_ITEM(list, at));
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        PyObject *text;
        +        if (item == NULL) {
        +            status = -1;
        +            break;
        +        }
        +        text = PyObject_Str(item);
        +        Py_DECREF(item);
                 if (text == NULL) {
                     status = -1;
        ");
}

/// A loop that reads numbers and notes failures by `note`.
fn read(note: &str) -> String {
    int(&format!(
        "
    int rc = 0;
    long number = 0;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(list); at++) {{
        PyObject *item = PyList_GET_ITEM(list, at);
        number = PyLong_AsLong(item);
        {note}
    }}
    return rc;"
    ))
}

#[test]
fn a_failure_is_noted_by_any_number() {
    let noted = read("if (number == -1 && PyErr_Occurred()) { rc = 1; break; }");
    insta::assert_snapshot!(noted, @"
    @@
         long number = 0;
         for (Py_ssize_t at = 0; at < PyList_GET_SIZE(list); at++) {
    -        PyObject *item = PyList_GET_ITEM(list, at);
    +        PyObject *item = PyList_GetItemRef(list, at);
    +        if (item == NULL) {
    +            rc = 1;
    +            break;
    +        }
             number = PyLong_AsLong(item);
    +        Py_DECREF(item);
             if (number == -1 && PyErr_Occurred()) { rc = 1; break; }
         }
    ");
}

#[test]
fn a_loop_that_notes_its_failures_does_not_just_end() {
    let ends = |note: &str| read(note).contains("break;");
    assert!(ends(""));
    assert!(!ends("rc = !(number == -1 && PyErr_Occurred());"));
    assert!(!ends(
        "if (number == -1 && PyErr_Occurred()) { rc = at > 3; break; }"
    ));
    // `end_of_loop` itself clears the exception as well.
    assert!(ends(
        "if (number == -1 && PyErr_Occurred()) { PyErr_Clear(); break; }"
    ));
}

#[test]
fn what_is_released_meanwhile_is_no_longer_held_there() {
    insta::assert_snapshot!(int(
        r"
    int status = 0;
    for (Py_ssize_t at = 0; at < i; at++) {
        PyObject *name = PyObject_Repr(key);
        PyObject *sum = PyNumber_Add(name, PyList_GET_ITEM(list, at));
        Py_XDECREF(name);
        if (sum == NULL) {
            status = -1;
            break;
        }
        Py_DECREF(sum);
    }
    finish(self);
    return status;"
    ), @"
        6: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn the_end_of_a_search_is_no_failure() {
    insta::assert_snapshot!(int(
        r"
    int found = 0;
    for (Py_ssize_t at = 0; at < i; at++) {
        if (PyObject_TypeCheck(PyList_GET_ITEM(list, at), &Thing_Type)) {
            found = -1;
            break;
        }
    }
    return found;"
    ), @"
        5: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn a_function_that_hands_an_error_on_returns_it() {
    insta::assert_snapshot!(int(
        r"
    PyObject *pair = PyList_GET_ITEM(list, 0);
    if (!PyTuple_Check(pair)) {
        return 0;
    }
    return PyObject_RichCompareBool(key, PyTuple_GET_ITEM(pair, 0), Py_EQ);"
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *pair = PyList_GET_ITEM(list, 0);
        +    PyObject *pair = PyList_GetItemRef(list, 0);
        +    int result;
        +    if (pair == NULL) {
        +        return -1;
        +    }
             if (!PyTuple_Check(pair)) {
        +        Py_DECREF(pair);
                 return 0;
             }
        -    return PyObject_RichCompareBool(key, PyTuple_GET_ITEM(pair, 0), Py_EQ);
        +    result = PyObject_RichCompareBool(key, PyTuple_GET_ITEM(pair, 0), Py_EQ);
        +    Py_DECREF(pair);
        +    return result;
         }
        ");
}

#[test]
fn a_function_that_hands_no_error_on_returns_none() {
    insta::assert_snapshot!(int(
        r"
    PyObject *pair = PyList_GET_ITEM(list, 0);
    return PyTuple_Check(pair);"
    ), @"
        3: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn a_truth_value_tells_of_no_error() {
    insta::assert_snapshot!(of(
        "bool",
        r"
    return PyObject_RichCompareBool(PyList_GET_ITEM(list, 0), key, Py_EQ);"
    ), @"3: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)");
}

#[test]
fn what_the_failed_call_began_is_over() {
    insta::assert_snapshot!(int(
        r#"
    struct thing *thing = (struct thing *)self;
    PyObject *names = PyDict_New();
    if (names == NULL) {
        return -1;
    }
    for (Py_ssize_t at = 0; at < i; at++) {
        PyObject *name, *type;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, at), "OO", &name, &type)) {
            goto error;
        }
        if (PyDict_SetItem(names, name, type) < 0) {
            goto error;
        }
        thing->extra = begin(type);
    }
    thing->names = names;
    return 0;
error:
    thing->extra = NULL;
    Py_DECREF(names);
    return -1;"#
    ), @r#"
        @@
             for (Py_ssize_t at = 0; at < i; at++) {
                 PyObject *name, *type;
        -        if (!PyArg_ParseTuple(PyList_GET_ITEM(list, at), "OO", &name, &type)) {
        +        PyObject *item;
        +        item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            goto error;
        +        }
        +        if (!PyArg_ParseTuple(item, "OO", &name, &type)) {
        +            Py_DECREF(item);
                     goto error;
                 }
                 if (PyDict_SetItem(names, name, type) < 0) {
        +            Py_DECREF(item);
                     goto error;
                 }
                 thing->extra = begin(type);
        +        Py_DECREF(item);
             }
             thing->names = names;
        "#);
}

#[test]
fn text_is_not_taken_over_by_a_format() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *row = PyTuple_New(i), *converter, *value;
    const char *text;
    if (!row) {
        return NULL;
    }
    for (Py_ssize_t at = 0; at < i; at++) {
        if (at < PyList_GET_SIZE(list)) {
            converter = PyList_GET_ITEM(list, at);
        } else {
            converter = Py_None;
        }
        text = (const char *)column(self, at);
        if (converter != Py_None) {
            value = PyObject_CallFunction(converter, "s", text);
        } else {
            value = PyUnicode_FromString(text);
        }
        if (!value) {
            goto error;
        }
        PyTuple_SET_ITEM(row, at, value);
    }
    return row;
error:
    Py_DECREF(row);
    return NULL;"#
    ), @"
        10: review: in `f`, `column(self, at)` (line 14) need not be undone at the new error exit (the function could not leave here before)
        @@
             for (Py_ssize_t at = 0; at < i; at++) {
                 if (at < PyList_GET_SIZE(list)) {
        -            converter = PyList_GET_ITEM(list, at);
        +            converter = PyList_GetItemRef(list, at);
        +            if (converter == NULL) {
        +                goto error;
        +            }
                 } else {
        -            converter = Py_None;
        +            converter = Py_NewRef(Py_None);
                 }
                 text = (const char *)column(self, at);
        @@
                     value = PyUnicode_FromString(text);
                 }
        +        Py_DECREF(converter);
                 if (!value) {
                     goto error;
        ");
}

#[test]
fn a_test_takes_the_values_of_declarations_behind_it() {
    insta::assert_snapshot!(int(
        r"
    Py_ssize_t total = 0, at;
    for (at = 0; at < i; at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        Py_ssize_t size = PyObject_Size(item);
        if (size < 0) {
            return -1;
        }
        total += size;
    }
    return note(total);"
    ), @"
        @@
             Py_ssize_t total = 0, at;
             for (at = 0; at < i; at++) {
        -        PyObject *item = PyList_GET_ITEM(list, at);
        -        Py_ssize_t size = PyObject_Size(item);
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        Py_ssize_t size;
        +        if (item == NULL) {
        +            return -1;
        +        }
        +        size = PyObject_Size(item);
        +        Py_DECREF(item);
                 if (size < 0) {
                     return -1;
        ");
}

#[test]
fn a_string_that_is_missing_tells_of_an_error() {
    let result = int("
    int size = 0;
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(list); at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        const char *text = PyUnicode_AsUTF8(item);
        if (text == NULL) {
            size = -1;
            break;
        }
        size += (int)strlen(text);
    }
    return size;");
    assert!(result.contains("+            size = -1;"), "{result}");
    assert!(!result.contains("PyErr_Clear"), "{result}");
}
