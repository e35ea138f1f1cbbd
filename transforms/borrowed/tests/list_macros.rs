//! The unchecked macro: what happens where the checked call fails.

use super::{int, object, of};
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
fn nothing_releases_what_is_owned() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *tuple = PyTuple_New(1);
    if (tuple == NULL)
        return NULL;
    use(PyList_GET_ITEM(list, i));
    return tuple;
"#
    ), @"
        @@
         {
             PyObject *tuple = PyTuple_New(1);
        +    PyObject *item;
             if (tuple == NULL)
                 return NULL;
        -    use(PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        Py_DECREF(tuple);
        +        return NULL;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             return tuple;
         }
        ");
}

#[test]
fn the_label_would_release_twice() {
    insta::assert_snapshot!(int(
        r#"
    int result = -1;
    PyObject *name = PyObject_Str(key);
    if (name == NULL)
        goto done;
    Py_DECREF(name);
    use(PyList_GET_ITEM(list, i));
    result = 0;
    return result;
done:
    Py_XDECREF(name);
    return result;
"#
    ), @"
        8: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
        ");
}

#[test]
fn the_label_would_return_a_result() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *result = PyObject_Str(key);
    if (result == NULL)
        goto done;
    use(PyList_GET_ITEM(list, i));
done:
    return result;
"#
    ), @"
        6: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
        ");
}

#[test]
fn a_lock_is_held() {
    insta::assert_snapshot!(int(
        r#"
    if (PyDict_SetItem(dict, key, list) < 0)
        return -1;
    take_lock(self);
    use(PyList_GET_ITEM(list, i));
    drop_lock(self);
    return 0;
"#
    ), @"
        6: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
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
        7: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
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
        6: the checked call can fail where the macro could not: give it a statement of its own, and test its result for `NULL`
        ");
}

#[test]
fn an_array_owns() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *pair[2];
    if (PyDict_SetItem(dict, key, list) < 0)
        return -1;
    pair[0] = PyObject_Str(key);
    pair[1] = PyList_GET_ITEM(list, i);
    use(PyList_GET_ITEM(list, i));
    Py_XDECREF(pair[0]);
    return 0;
"#
    ), @"
        7: the borrowed reference is stored in memory that outlives the call: decide who owns it, and take a reference with it
        8: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
        ");
}

#[test]
fn a_cleared_struct_owns_nothing() {
    insta::assert_snapshot!(int(
        r#"
    struct params p;
    if (PyDict_SetItem(dict, key, list) < 0)
        return -1;
    memset(&p, 0, sizeof(p));
    use(PyList_GET_ITEM(list, i));
    return 0;
"#
    ), @"
        @@
         {
             struct params p;
        +    PyObject *item;
             if (PyDict_SetItem(dict, key, list) < 0)
                 return -1;
             memset(&p, 0, sizeof(p));
        -    use(PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             return 0;
         }
        ");
}

#[test]
fn zero_is_the_error_of_some_functions() {
    insta::assert_snapshot!(int(
        r#"
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "a list");
        return 0;
    }
    use(PyList_GET_ITEM(list, i));
    return 1;
"#
    ), @r#"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        +    PyObject *item;
             if (!PyList_Check(list)) {
                 PyErr_SetString(PyExc_TypeError, "a list");
                 return 0;
             }
        -    use(PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return 0;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             return 1;
         }
        "#);
}

#[test]
fn zero_is_no_error_where_nothing_else_is_returned() {
    insta::assert_snapshot!(int(
        r#"
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "a list");
        return 0;
    }
    use(PyList_GET_ITEM(list, i));
    return 0;
"#
    ), @"7: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors");
}

#[test]
fn a_result_that_is_partly_made() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *out;
    double *values;
    Py_ssize_t at, n;
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "a list");
        return NULL;
    }
    n = PyList_Size(list);
    out = PyList_New(n);
    values = PyMem_RawMalloc(n * sizeof(double));
    for (at = 0; at < n; at++) {
        values[at] = PyFloat_AsDouble(PyList_GET_ITEM(list, at));
        PyList_SET_ITEM(out, at, PyFloat_FromDouble(values[at]));
    }
    PyMem_RawFree(values);
    return out;
"#
    ), @"
        @@
             values = PyMem_RawMalloc(n * sizeof(double));
             for (at = 0; at < n; at++) {
        -        values[at] = PyFloat_AsDouble(PyList_GET_ITEM(list, at));
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            Py_XDECREF(out);
        +            PyMem_RawFree(values);
        +            return NULL;
        +        }
        +        values[at] = PyFloat_AsDouble(item);
        +        Py_DECREF(item);
                 PyList_SET_ITEM(out, at, PyFloat_FromDouble(values[at]));
             }
        ");
}

#[test]
fn what_is_never_released_is_not_released_here() {
    insta::assert_snapshot!(object(
        r#"
    struct stream *stream = get_stream(self);
    PyObject *kept = PySequence_Fast(key, "a sequence");
    if (kept == NULL)
        return NULL;
    mix(stream, PyList_GET_ITEM(list, i));
    Py_RETURN_NONE;
"#
    ), @r#"
        @@
             struct stream *stream = get_stream(self);
             PyObject *kept = PySequence_Fast(key, "a sequence");
        +    PyObject *item;
             if (kept == NULL)
                 return NULL;
        -    mix(stream, PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return NULL;
        +    }
        +    mix(stream, item);
        +    Py_DECREF(item);
             Py_RETURN_NONE;
         }
        "#);
}

#[test]
fn a_function_may_have_taken_it_over() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *node = PyDict_New();
    if (node == NULL)
        return NULL;
    append_node(self, node);
    use(PyList_GET_ITEM(list, i));
    Py_RETURN_NONE;
"#
    ), @"7: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors");
}

#[test]
fn an_alias_is_not_released_twice() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *first = PyDict_New();
    PyObject *second = first;
    if (first == NULL)
        return NULL;
    use(PyList_GET_ITEM(list, i));
    Py_DECREF(second);
    Py_RETURN_NONE;
"#
    ), @"7: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors");
}

#[test]
fn an_argument_that_the_function_consumes() {
    insta::assert_snapshot!(int(
        r#"
    if (PyDict_SetItem(dict, key, list) < 0) {
        return -1;
    }
    use(PyList_GET_ITEM(list, i));
    Py_DECREF(key);
    return 0;
"#
    ), @"6: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors");
}

#[test]
fn the_next_failure_shows_the_exit() {
    insta::assert_snapshot!(object(
        r#"
    struct visit v;
    PyObject *result = NULL;
    Py_ssize_t at = 0;
    v.found = PyList_New(0);
    if (!v.found)
        goto done;
    v.options = fill(&v);
    for (at = 0; at < PyList_GET_SIZE(list); at++) {
        PyObject *item = PyList_GET_ITEM(list, at);
        int r;
        r = visit(item);
        if (r == -1)
            goto done;
    }
    result = PyList_AsTuple(v.found);
done:
    Py_XDECREF(v.found);
    return result;
"#
    ), @"
        @@
             v.options = fill(&v);
             for (at = 0; at < PyList_GET_SIZE(list); at++) {
        -        PyObject *item = PyList_GET_ITEM(list, at);
        +        PyObject *item = PyList_GetItemRef(list, at);
                 int r;
        +        if (item == NULL) {
        +            goto done;
        +        }
                 r = visit(item);
        +        Py_DECREF(item);
                 if (r == -1)
                     goto done;
        ");
}

#[test]
fn a_buffer_of_the_same_block_is_not_released() {
    insta::assert_snapshot!(object(
        r#"
    struct visit v;
    v.found = PyList_New(0);
    if (i) {
        PyObject *item = PyList_GET_ITEM(list, i);
        char *buffer = shared_buffer(self);
        if (convert(item, buffer) < 0) {
            PyErr_SetString(PyExc_ValueError, "item");
            shared_release(buffer);
            return NULL;
        }
    }
    Py_XDECREF(v.found);
    Py_RETURN_NONE;
"#
    ), @"6: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors");
}

#[test]
fn the_result_is_a_success_by_then() {
    insta::assert_snapshot!(int(
        r#"
    struct visit v;
    int result = -1;
    v.found = PyList_New(0);
    if (!v.found)
        goto done;
    result = 0;
    use(PyList_GET_ITEM(list, i));
    if (PyList_Append(v.found, key) < 0)
        goto done;
done:
    Py_XDECREF(v.found);
    return result;
"#
    ), @"9: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors");
}

#[test]
fn the_end_of_the_loop() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    Py_ssize_t at = 0;
    while (at < PyList_GET_SIZE(list)) {
        PyObject *item = PyList_GET_ITEM(list, at);
        if (item == key) {
            PyList_SetSlice(list, at, at + 1, NULL);
            continue;
        }
        at++;
    }
"#
    ), @"
        @@
             Py_ssize_t at = 0;
             while (at < PyList_GET_SIZE(list)) {
        -        PyObject *item = PyList_GET_ITEM(list, at);
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            PyErr_Clear();
        +            break;
        +        }
                 if (item == key) {
        +            Py_DECREF(item);
                     PyList_SetSlice(list, at, at + 1, NULL);
                     continue;
                 }
        +        Py_DECREF(item);
                 at++;
             }
        ");
}

#[test]
fn the_end_of_a_loop_inside_of_another() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    Py_ssize_t at, to;
    for (at = 0; at < PyList_GET_SIZE(list); at++) {
        PyObject *row = PyList_GET_ITEM(list, at);
        for (to = 0; to < PyList_GET_SIZE(row); to++)
            use(PyList_GET_ITEM(row, to));
        done(row);
    }
"#
    ), @"
        @@
             Py_ssize_t at, to;
             for (at = 0; at < PyList_GET_SIZE(list); at++) {
        -        PyObject *row = PyList_GET_ITEM(list, at);
        -        for (to = 0; to < PyList_GET_SIZE(row); to++)
        -            use(PyList_GET_ITEM(row, to));
        +        PyObject *row = PyList_GetItemRef(list, at);
        +        if (row == NULL) {
        +            PyErr_Clear();
        +            break;
        +        }
        +        for (to = 0; to < PyList_GET_SIZE(row); to++) {
        +            PyObject *item = PyList_GetItemRef(row, to);
        +            if (item == NULL) {
        +                PyErr_Clear();
        +                break;
        +            }
        +            use(item);
        +            Py_DECREF(item);
        +        }
                 done(row);
        +        Py_DECREF(row);
             }
         }
        ");
}

#[test]
fn the_item_is_read_behind_the_loop() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    PyObject *item = NULL;
    for (i = 0; i < PyList_GET_SIZE(list); i++) {
        item = PyList_GET_ITEM(list, i);
        if (check(item))
            break;
    }
    use(item);
"#
    ), @"
        @@
             PyObject *item = NULL;
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        item = PyList_GET_ITEM(list, i);
        +        Py_XDECREF(item);
        +        item = PyList_GetItemRef(list, i);
        +        if (item == NULL) {
        +            PyErr_WriteUnraisable(NULL);
        +            return;
        +        }
                 if (check(item))
                     break;
             }
             use(item);
        +    Py_XDECREF(item);
         }
        ");
}

#[test]
fn a_size_that_was_asked_for_before() {
    insta::assert_snapshot!(of(
        "void",
        r#"
    Py_ssize_t at, n = PyList_Size(list);
    double *values = PyMem_RawMalloc(n * sizeof(double));
    for (at = 0; at < n; at++)
        values[at] = PyFloat_AsDouble(PyList_GET_ITEM(list, at));
    play(values);
    PyMem_RawFree(values);
"#
    ), @"
        @@
             Py_ssize_t at, n = PyList_Size(list);
             double *values = PyMem_RawMalloc(n * sizeof(double));
        -    for (at = 0; at < n; at++)
        -        values[at] = PyFloat_AsDouble(PyList_GET_ITEM(list, at));
        +    for (at = 0; at < n; at++) {
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            PyErr_Clear();
        +            break;
        +        }
        +        values[at] = PyFloat_AsDouble(item);
        +        Py_DECREF(item);
        +    }
             play(values);
             PyMem_RawFree(values);
        ");
}

#[test]
fn the_lock_is_given_back_before() {
    insta::assert_snapshot!(int(
        r#"
    if (PyDict_SetItem(dict, key, list) < 0)
        return -1;
    Py_BEGIN_ALLOW_THREADS
    work();
    Py_END_ALLOW_THREADS
    use(PyList_GET_ITEM(list, i));
    return 0;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        +    PyObject *item;
             if (PyDict_SetItem(dict, key, list) < 0)
                 return -1;
        @@
             work();
             Py_END_ALLOW_THREADS
        -    use(PyList_GET_ITEM(list, i));
        +    item = PyList_GetItemRef(list, i);
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             return 0;
         }
        ");
}

#[test]
fn python_calls_it() {
    insta::assert_snapshot!(report(&UNCHECKED_LIST_ITEM, r#"
static PyObject *
set_choice(PyObject *self, PyObject *list)
{
    Py_ssize_t i, n = PyList_Size(list);
    for (i = 0; i < n; i++)
        take(PyFloat_AsDouble(PyList_GET_ITEM(list, i)));
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"set_choice", set_choice, METH_O, NULL}, {NULL}};
"#), @"
        7: `PyList_GET_ITEM` gives a borrowed reference out of an argument of the caller: another thread can free it
          safe: own the reference: `PyList_GetItemRef`
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
        7: `PyList_GET_ITEM` gives a borrowed reference out of `list`, which the caller passes in: another thread can free it
          by hand: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
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
        10: `PyList_GET_ITEM` gives a borrowed reference out of an argument of the caller: another thread can free it
          by hand: the checked call can fail where the macro could not: use `PyList_GetItemRef`, and do on `NULL` what the function does about its other errors
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
        3: a test would have to stand between declarations: declare the variable first, and assign to it later
        4: a test would have to stand between declarations: declare the variable first, and assign to it later
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
        if (use(n, bit, twice) < 0)
            return -1;
    }
    return 0;
"#
    ), @"
        @@
         {
             for (i = 0; i < PyList_GET_SIZE(list); i++) {
        -        int n = (int)PyLong_AsLong(PyList_GET_ITEM(list, i));
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        int n;
                 long bit = 1l << i;
        -        long twice = n + bit;
        +        long twice;
        +        if (item == NULL) {
        +            PyErr_Clear();
        +            break;
        +        }
        +        n = (int)PyLong_AsLong(item);
        +        twice = n + bit;
        +        Py_DECREF(item);
                 if (use(n, bit, twice) < 0)
                     return -1;
        ");
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
