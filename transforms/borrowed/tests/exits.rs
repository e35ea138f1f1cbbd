//! Releases at exits, conditions and joins.

use super::{int, object};
use crate::testing;
use crate::transforms::borrowed::list_macro::UNCHECKED_LIST_ITEM;

#[test]
fn return_of_a_call_gets_a_variable() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return NULL;
    return PyObject_Str(item);
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
        +    PyObject *result;
             if (item == NULL)
                 return NULL;
        -    return PyObject_Str(item);
        +    result = PyObject_Str(item);
        +    Py_DECREF(item);
        +    return result;
         }
        ");
}

#[test]
fn return_in_c89_code() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item;
    Py_ssize_t n;
    item = PyList_GetItem(list, i);
    n = count(item);
    other(n);
    if (n == 0)
        return PyObject_Str(item);
    log_it(n);
    return PyObject_Repr(item);
"#
    ), @"
    @@
         PyObject *item;
         Py_ssize_t n;
    -    item = PyList_GetItem(list, i);
    +    PyObject *ret;
    +    item = PyList_GetItemRef(list, i);
    +    if (item == NULL) {
    +        return NULL;
    +    }
         n = count(item);
         other(n);
    -    if (n == 0)
    -        return PyObject_Str(item);
    +    if (n == 0) {
    +        PyObject *result = PyObject_Str(item);
    +        Py_DECREF(item);
    +        return result;
    +    }
         log_it(n);
    -    return PyObject_Repr(item);
    +    ret = PyObject_Repr(item);
    +    Py_DECREF(item);
    +    return ret;
     }
    ");
}

#[test]
fn condition_is_the_last_use() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (check(item)) {
        i++;
    }
    return (int)i;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         if (check(item)) {
             i++;
         }
    +    Py_XDECREF(item);
         return (int)i;
     }
    ");
}

#[test]
fn condition_with_exit() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (check(item)) {
        return -1;
    }
    return (int)i;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         if (check(item)) {
    +        Py_XDECREF(item);
             return -1;
         }
    +    Py_XDECREF(item);
         return (int)i;
     }
    ");
}

#[test]
fn condition_with_exit_and_join() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (check(item)) {
        if (i > 3)
            return -1;
        i++;
    }
    return (int)i;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         if (check(item)) {
    +        Py_XDECREF(item);
             if (i > 3)
                 return -1;
             i++;
    +    } else {
    +        Py_XDECREF(item);
         }
         return (int)i;
    ");
}

#[test]
fn two_releases_in_one_new_else() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    PyObject *other = PyList_GetItem(list, 0);
    if (pair(item, other)) {
        if (i > 3)
            return -1;
        i++;
    }
    return (int)i;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    -    PyObject *other = PyList_GetItem(list, 0);
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    PyObject *other = PyList_GetItemRef(list, 0);
         if (pair(item, other)) {
    +        Py_XDECREF(item);
    +        Py_XDECREF(other);
             if (i > 3)
                 return -1;
             i++;
    +    } else {
    +        Py_XDECREF(item);
    +        Py_XDECREF(other);
         }
         return (int)i;
    ");
}

#[test]
fn else_branch() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (check(item))
        return 1;
    else
        i++;
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    -    if (check(item))
    +    PyObject *item = PyList_GetItemRef(list, i);
    +    if (check(item)) {
    +        Py_XDECREF(item);
             return 1;
    -    else
    +    }
    +    else {
    +        Py_XDECREF(item);
             i++;
    +    }
         return 0;
     }
    ");
}

#[test]
fn goto_error() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *tmp = NULL;
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        goto error;
    tmp = PyObject_Str(item);
    if (tmp == NULL)
        goto error;
    if (use(item, tmp) < 0)
        goto error;
    Py_DECREF(tmp);
    return 0;
error:
    Py_XDECREF(tmp);
    return -1;
"#
    ), @"
        @@
         {
             PyObject *tmp = NULL;
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 goto error;
        @@
             if (use(item, tmp) < 0)
                 goto error;
        +    Py_DECREF(item);
             Py_DECREF(tmp);
             return 0;
         error:
        +    Py_XDECREF(item);
             Py_XDECREF(tmp);
             return -1;
        ");
}

#[test]
fn switch_cases() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    switch (i) {
    case 0:
        use(item);
        break;
    case 1:
        use(item);
        return 1;
    default:
        break;
    }
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         switch (i) {
         case 0:
    @@
         case 1:
             use(item);
    +        Py_XDECREF(item);
             return 1;
         default:
             break;
         }
    +    Py_XDECREF(item);
         return 0;
     }
    ");
}

#[test]
fn scope_of_the_block() {
    insta::assert_snapshot!(int(
        r#"
    if (i) {
        PyObject *item = PyList_GetItem(list, i);
        if (item) {
            use(item);
        }
    }
    done();
    return 0;
"#
    ), @"
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     {
         if (i) {
    -        PyObject *item = PyList_GetItem(list, i);
    +        PyObject *item = PyList_GetItemRef(list, i);
             if (item) {
                 use(item);
    +            Py_DECREF(item);
             }
         }
    ");
}

#[test]
fn do_while_zero_macro_code() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    do {
        item = PyList_GetItem(list, i);
        if (item == NULL)
            break;
        use(item);
    } while (0);
    return 0;
"#
    ), @"
    5: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
         PyObject *item;
         do {
    -        item = PyList_GetItem(list, i);
    +        item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 break;
             use(item);
    +        Py_DECREF(item);
         } while (0);
         return 0;
    ");
}

#[test]
fn while_loop_with_lookup_in_condition() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    while ((item = PyList_GetItem(list, i)) != NULL) {
        if (use(item) < 0)
            return -1;
        i++;
    }
    return 0;
"#
    ), @"
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     {
         PyObject *item;
    -    while ((item = PyList_GetItem(list, i)) != NULL) {
    -        if (use(item) < 0)
    +    while ((item = PyList_GetItemRef(list, i)) != NULL) {
    +        if (use(item) < 0) {
    +            Py_DECREF(item);
                 return -1;
    +        }
    +        Py_DECREF(item);
             i++;
         }
    ");
}

#[test]
fn an_exit_inside_a_macro_is_met_at_its_label() {
    insta::assert_snapshot!(crate::testing::run(
        super::ALL,
        r#"
#define TRY(x) do { if ((x) < 0) goto done; } while (0)
static int f(PyObject *list) {
    PyObject *item = PyList_GetItem(list, 0);
    int n = -1;
    TRY(check(list));
    n = use(item);
    TRY(n);
done:
    close(list);
    return n;
}
"#
    ), @"
    4: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     #define TRY(x) do { if ((x) < 0) goto done; } while (0)
     static int f(PyObject *list) {
    -    PyObject *item = PyList_GetItem(list, 0);
    +    PyObject *item = PyList_GetItemRef(list, 0);
         int n = -1;
         TRY(check(list));
    @@
         TRY(n);
     done:
    +    Py_XDECREF(item);
         close(list);
         return n;
    ");
}

#[test]
fn a_return_inside_a_macro_in_a_loop_is_a_leak_to_decline() {
    insta::assert_snapshot!(crate::testing::run(
        super::ALL,
        r#"
#define TRY(x) do { if ((x) < 0) return -1; } while (0)
static int f(PyObject *list) {
    for (int i = 0; i < 3; i++) {
        PyObject *item = PyList_GetItem(list, i);
        TRY(check(list));
        use(item);
    }
    return 0;
}
"#
    ), @"
        5: release the reference in `item` by hand where a macro leaves the function
        ");
}

#[test]
fn a_traverse_function_must_not_count() {
    insta::assert_snapshot!(crate::testing::run(
        super::ALL,
        r#"
static int f(PyObject *self, visitproc visit, void *arg) {
    PyObject *item = PyList_GetItem(self, 0);
    Py_VISIT(item);
    return 0;
}
"#
    ), @"
        3: visit the container itself (a traverse function must not change reference counts, because it runs while all threads are stopped)
        ");
}

/// A label that looks at the state finds the same as a moment before.
#[test]
fn the_exit_before_is_as_right() {
    insta::assert_snapshot!(super::of(
        "struct window *",
        r#"
    struct window *window = find(self);
    PyObject *made = NULL;
    made = make(key);
    if (!made)
        goto finally;
    if (PyList_Check(made)) {
        if (PyList_GET_SIZE(made) != 5) {
            PyErr_SetString(PyExc_TypeError, "five items");
            goto finally;
        }
        window->value = Py_NewRef(PyList_GET_ITEM(made, 0));
    }
    window->state = READY;
finally:
    Py_XDECREF(made);
    if (window->state == READY)
        return window;
    forget(window);
    return NULL;
"#
    ), @r#"
    @@
             goto finally;
         if (PyList_Check(made)) {
    +        PyObject *item;
             if (PyList_GET_SIZE(made) != 5) {
                 PyErr_SetString(PyExc_TypeError, "five items");
                 goto finally;
             }
    -        window->value = Py_NewRef(PyList_GET_ITEM(made, 0));
    +        item = PyList_GetItemRef(made, 0);
    +        if (item == NULL) {
    +            goto finally;
    +        }
    +        window->value = item;
         }
         window->state = READY;
    "#);
}

/// The test changes something, the variable that is returned says of success, or more has happened.
#[test]
fn the_exit_before_is_another() {
    insta::assert_snapshot!(super::int(
        r#"
    struct window *window = find(self);
    int status = 0;
    if (next_state(window) < 0) {
        PyErr_SetString(PyExc_TypeError, "no state");
        goto finally;
    }
    use(PyList_GET_ITEM(list, 0));
    if (window->size != 5) {
        PyErr_SetString(PyExc_TypeError, "five items");
        goto finally;
    }
    window->state = READY;
    use(PyList_GET_ITEM(list, 1));
    if (status < 0) {
        PyErr_SetString(PyExc_TypeError, "no status");
        goto finally;
    }
finally:
    if (window->state == READY)
        return status;
    return -1;
"#
    ), @r#"
        9: review: in `f`, `next_state(window)` (line 5) need not be undone at the new error exit (the function could not leave here before); in `f`, `window->state = READY` (line 14) need not be undone at the new error exit (the function could not leave here before)
        15: review: in `f`, `next_state(window)` (line 5) need not be undone at the new error exit (the function could not leave here before); in `f`, `window->state = READY` (line 14) need not be undone at the new error exit (the function could not leave here before)
        @@
             struct window *window = find(self);
             int status = 0;
        +    PyObject *item;
             if (next_state(window) < 0) {
                 PyErr_SetString(PyExc_TypeError, "no state");
                 goto finally;
             }
        -    use(PyList_GET_ITEM(list, 0));
        +    item = PyList_GetItemRef(list, 0);
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             if (window->size != 5) {
                 PyErr_SetString(PyExc_TypeError, "five items");
        @@
             }
             window->state = READY;
        -    use(PyList_GET_ITEM(list, 1));
        +    item = PyList_GetItemRef(list, 1);
        +    if (item == NULL) {
        +        return -1;
        +    }
        +    use(item);
        +    Py_DECREF(item);
             if (status < 0) {
                 PyErr_SetString(PyExc_TypeError, "no status");
        "#);
}

/// What the label does not read does not matter to it.
#[test]
fn variables_that_the_label_does_not_read() {
    insta::assert_snapshot!(super::int(
        r#"
    struct graph graph = {0};
    PyObject **place;
    int result = -1;
    if (!(graph.seen = PySet_New(NULL)))
        goto done;
    for (i = 0; i < count(list); i++) {
        place = place_of(self);
        if (PySet_Add(graph.seen, *place) == -1)
            goto done;
    }
    for (i = 0; i < count(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        walk(self, &graph);
        if (PySet_Add(graph.seen, item) == -1)
            goto done;
    }
    result = 0;
done:
    Py_XDECREF(graph.seen);
    return result;
"#
    ), @"
        14: review: in `f`, `count(list)` (line 13) need not be undone at the new error exit (the function could not leave here before)
        @@
             }
             for (i = 0; i < count(list); i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        if (item == NULL) {
        +            goto done;
        +        }
                 walk(self, &graph);
        -        if (PySet_Add(graph.seen, item) == -1)
        +        if (PySet_Add(graph.seen, item) == -1) {
        +            Py_DECREF(item);
                     goto done;
        +        }
        +        Py_DECREF(item);
             }
             result = 0;
        ");
}

/// Who clears the exception does not fail.
#[test]
fn an_exit_that_clears_the_exception_is_none() {
    insta::assert_snapshot!(super::int(
        r#"
    if (PyObject_SetItem(dict, key, self) < 0) {
        PyErr_Clear();
        return -1;
    }
    use(PyList_GET_ITEM(list, i));
    return 0;
"#
    ), @"
        7: use `PyList_GetItemRef`, and handle `NULL` like the other errors of the function (the checked call can fail where the macro could not)
        ");
}

#[test]
fn the_error_is_returned_as_the_function_does() {
    insta::assert_snapshot!(testing::run(
        &[&UNCHECKED_LIST_ITEM],
        "
#define CHECKED(result) (result)
static int f(PyObject *list, PyObject *dict, PyObject *key)
{
    PyObject *other;
    if (PyDict_SetItem(dict, key, key) < 0)
        return CHECKED(-1);
    other = PyObject_Str(key);
    use(PyList_GET_ITEM(list, 0));
    Py_XDECREF(other);
    return CHECKED(0);
}
"
    ), @"
        9: review: in `f`, `PyDict_SetItem(dict, key, key)` (line 6) need not be undone at the new error exit (the function could not leave here before)
        @@
         {
             PyObject *other;
        +    PyObject *item;
             if (PyDict_SetItem(dict, key, key) < 0)
                 return CHECKED(-1);
             other = PyObject_Str(key);
        -    use(PyList_GET_ITEM(list, 0));
        +    item = PyList_GetItemRef(list, 0);
        +    if (item == NULL) {
        +        Py_XDECREF(other);
        +        return CHECKED(-1);
        +    }
        +    use(item);
        +    Py_DECREF(item);
             Py_XDECREF(other);
             return CHECKED(0);
        ");
}

/// What the label returns is told by a field, as for the failures around the lookup.
#[test]
fn a_label_that_asks_whether_the_function_succeeded() {
    insta::assert_snapshot!(object(
        r#"
    struct window *window = (struct window *)self;
    PyObject *made = PyObject_CallNoArgs(key);
    if (PyList_GET_SIZE(list) != 2) {
        PyErr_SetString(PyExc_ValueError, "two items");
        goto finally;
    }
    window->first = Py_NewRef(PyList_GET_ITEM(list, 0));
    window->second = Py_NewRef(PyList_GET_ITEM(list, 1));
    if (!PyCallable_Check(window->second)) {
        PyErr_SetString(PyExc_TypeError, "not callable");
        goto finally;
    }
    window->state = READY;
finally:
    Py_XDECREF(made);
    if (window->state == READY)
        return self;
    forget(window);
    return NULL;
"#
    ), @r#"
        9: review: in `f`, `window->first = item` (line 9) need not be undone at the new error exit (the function could not leave here before)
        10: review: in `f`, `window->first = item` (line 9) need not be undone at the new error exit (the function could not leave here before)
        @@
             struct window *window = (struct window *)self;
             PyObject *made = PyObject_CallNoArgs(key);
        +    PyObject *item;
             if (PyList_GET_SIZE(list) != 2) {
                 PyErr_SetString(PyExc_ValueError, "two items");
                 goto finally;
             }
        -    window->first = Py_NewRef(PyList_GET_ITEM(list, 0));
        -    window->second = Py_NewRef(PyList_GET_ITEM(list, 1));
        +    item = PyList_GetItemRef(list, 0);
        +    if (item == NULL) {
        +        goto finally;
        +    }
        +    window->first = item;
        +    item = PyList_GetItemRef(list, 1);
        +    if (item == NULL) {
        +        goto finally;
        +    }
        +    window->second = item;
             if (!PyCallable_Check(window->second)) {
                 PyErr_SetString(PyExc_TypeError, "not callable");
        "#);
}
