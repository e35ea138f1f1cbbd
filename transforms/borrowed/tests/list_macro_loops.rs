//! The same in loops, which may simply end.

use super::{int, object, of};
use crate::testing::report;
use crate::transforms::borrowed::list_macro::UNCHECKED_LIST_ITEM;

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
    ), @"6: use `PyList_GetItemRef`, and on `NULL` release the references that are stored in `v` (the checked call can fail where the macro could not)");
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
    ), @"9: use `PyList_GetItemRef`, and on `NULL` release the references that are stored in `v` (the checked call can fail where the macro could not)");
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
    +        PyObject *exc = PyErr_GetRaisedException();
    +        PyObject *item = PyList_GetItemRef(list, at);
    +        PyErr_SetRaisedException(exc);
    +        if (item == NULL) {
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
        5: review: in `f`, `check(item)` (line 6) need not be undone at the new error exit (the function could not leave here before)
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
    6: review: no item is missing while an exception is pending (that exception would be dropped); in `f`, `play(values)` (line 7) is not needed if the item no longer exists
    @@
         Py_ssize_t at, n = PyList_Size(list);
         double *values = PyMem_RawMalloc(n * sizeof(double));
    -    for (at = 0; at < n; at++)
    -        values[at] = PyFloat_AsDouble(PyList_GET_ITEM(list, at));
    +    for (at = 0; at < n; at++) {
    +        PyObject *item = PyList_GetItemRef(list, at);
    +        if (item == NULL) {
    +            PyMem_RawFree(values);
    +            PyErr_WriteUnraisable(NULL);
    +            return;
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
        8: review: in `f`, `work()` (line 6) need not be undone at the new error exit (the function could not leave here before)
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
        7: `PyList_GET_ITEM` returns a borrowed reference from an argument that Python code passes; another thread can free the object
          review: take a strong reference (`PyList_GET_ITEM` → `PyList_GetItemRef`)
          assumes that in `set_choice`, `take(PyFloat_AsDouble(item))` (line 7) need not be undone at the new error exit (the function could not leave here before)
        ");
}
