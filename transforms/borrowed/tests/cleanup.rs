//! Releases where several paths come together: cleanup labels, variables that start as `NULL`,
//! and code that was wrong before.

use super::{all, int, object};

#[test]
fn one_release_at_the_label_where_many_jumps_end() {
    insta::assert_snapshot!(object(
        r#"
    PyObject *item = PyList_GetItem(list, i), *result = NULL;
    if (item == NULL)
        return NULL;
    if (check(item) < 0)
        goto done;
    if (check_more(self, item) < 0)
        goto done;
    result = PyNumber_Negative(item);
done:
    log_end(self);
    return result;
"#
    ), @"
        @@
         static PyObject * f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i), *result = NULL;
        +    PyObject *item = PyList_GetItemRef(list, i), *result = NULL;
             if (item == NULL)
                 return NULL;
        @@
             result = PyNumber_Negative(item);
         done:
        +    Py_DECREF(item);
             log_end(self);
             return result;
        ");
}

#[test]
fn the_way_that_ends_well_comes_to_the_label_as_well() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    if (i < 3)
        goto done;
    if (i > 9) {
        log_it("far");
        goto done;
    }
    i = check(item);
done:
    return i;
"#
    ), @"
    @@
     {
         PyObject *item;
    -    item = PyList_GetItem(list, i);
    +    item = PyList_GetItemRef(list, i);
         if (item == NULL)
             return -1;
    @@
         i = check(item);
     done:
    +    Py_DECREF(item);
         return i;
     }
    ");
}

#[test]
fn the_variable_starts_as_null_for_early_jumps() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item, *made;
    int rc = -1;
    if ((made = make(self)) == NULL)
        goto done;
    item = PyList_GetItem(list, i);
    if (prepare(self) < 0)
        goto done;
    rc = use(item);
done:
    Py_XDECREF(made);
    return rc;
"#
    ), @"
    7: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item, *made;
    +    PyObject *item = NULL, *made;
         int rc = -1;
         if ((made = make(self)) == NULL)
             goto done;
    -    item = PyList_GetItem(list, i);
    +    item = PyList_GetItemRef(list, i);
         if (prepare(self) < 0)
             goto done;
         rc = use(item);
     done:
    +    Py_XDECREF(item);
         Py_XDECREF(made);
         return rc;
    ");
}

/// A jump behind the release would come to the label with a variable that dangles.
#[test]
fn a_loop_releases_each_time_in_spite_of_the_label() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    int rc = -1;
    while (i > 0) {
        item = PyList_GetItem(list, --i);
        if (check(item) < 0)
            goto done;
        use(item);
    }
    rc = 0;
done:
    log_end(self);
    return rc;
"#
    ), @"
    6: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
         int rc = -1;
         while (i > 0) {
    -        item = PyList_GetItem(list, --i);
    -        if (check(item) < 0)
    +        item = PyList_GetItemRef(list, --i);
    +        if (check(item) < 0) {
    +            Py_XDECREF(item);
                 goto done;
    +        }
             use(item);
    +        Py_XDECREF(item);
         }
         rc = 0;
    ");
}

#[test]
fn a_flag_tells_whether_the_variable_is_set() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    int ok = PyList_Check(list);
    if (ok) {
        item = PyList_GetItem(list, i);
        ok = PyLong_Check(item);
    }
    if (!ok) {
        PyErr_SetString(PyExc_TypeError, "no");
        return -1;
    }
    return use(item);
"#
    ), @r#"
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item;
    +    PyObject *item = NULL;
         int ok = PyList_Check(list);
    +    int result;
         if (ok) {
    -        item = PyList_GetItem(list, i);
    +        item = PyList_GetItemRef(list, i);
    +        if (item == NULL) {
    +            return -1;
    +        }
             ok = PyLong_Check(item);
         }
         if (!ok) {
    +        Py_XDECREF(item);
             PyErr_SetString(PyExc_TypeError, "no");
             return -1;
         }
    -    return use(item);
    +    result = use(item);
    +    Py_DECREF(item);
    +    return result;
     }
    "#);
}

#[test]
fn an_exit_inside_does_not_keep_the_branches_apart() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (use(item)) {
        while (i > 0) {
            if (test(item, --i))
                return -1;
        }
    }
    act(self);
    return 0;
"#
    ), @"
    3: review: no other thread makes the list shorter (if one does, `PyList_GetItemRef` returns `NULL`, which the function does not handle)
    @@
     static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
     {
    -    PyObject *item = PyList_GetItem(list, i);
    +    PyObject *item = PyList_GetItemRef(list, i);
         if (use(item)) {
             while (i > 0) {
    -            if (test(item, --i))
    +            if (test(item, --i)) {
    +                Py_XDECREF(item);
                     return -1;
    +            }
             }
         }
    +    Py_XDECREF(item);
         act(self);
         return 0;
    ");
}

/// `PyList_SetItem` takes the item even if it fails.
#[test]
fn what_a_failed_call_took_is_not_released_again() {
    insta::assert_snapshot!(crate::testing::run(
        super::ALL,
        r#"
static int f(PyObject *from, PyObject *to, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PyList_GetItem(from, i);
        if (item == NULL)
            return -1;
        Py_INCREF(item);
        if (PyList_SetItem(to, i, item)) {
            Py_DECREF(item);
            Py_DECREF(to);
            return -1;
        }
    }
    return 0;
}
"#
    ), @"
        @@
         static int f(PyObject *from, PyObject *to, Py_ssize_t n) {
             for (Py_ssize_t i = 0; i < n; i++) {
        -        PyObject *item = PyList_GetItem(from, i);
        +        PyObject *item = PyList_GetItemRef(from, i);
                 if (item == NULL)
                     return -1;
        -        Py_INCREF(item);
                 if (PyList_SetItem(to, i, item)) {
        -            Py_DECREF(item);
                     Py_DECREF(to);
                     return -1;
        ");
}

/// What is released where the call succeeded, or without braces.
#[test]
fn other_releases_too_many_stay() {
    insta::assert_snapshot!(crate::testing::run(
        super::ALL,
        r#"
static int f(PyObject *from, PyObject *to) {
    PyObject *item = PyList_GetItem(from, 0);
    if (item == NULL)
        return -1;
    Py_INCREF(item);
    if (PyList_SetItem(to, 0, item) < 0)
        return -1;
    Py_DECREF(item);
    return 0;
}

static int one_line(PyObject *from, PyObject *to) {
    PyObject *item = PyList_GetItem(from, 0);
    if (item == NULL)
        return -1;
    Py_INCREF(item);
    if (PyList_SetItem(to, 0, item) < 0)
        Py_DECREF(item);
    return 0;
}
"#
    ), @"
    3: review: in `f`, the reference from `PyList_GetItemRef` is released or given away once too often on some path, as in the original code (line 9), and this is intended
    14: review: in `one_line`, the reference from `PyList_GetItemRef` is released or given away once too often on some path, as in the original code (line 19), and this is intended
    @@
     
     static int f(PyObject *from, PyObject *to) {
    -    PyObject *item = PyList_GetItem(from, 0);
    +    PyObject *item = PyList_GetItemRef(from, 0);
         if (item == NULL)
             return -1;
    -    Py_INCREF(item);
         if (PyList_SetItem(to, 0, item) < 0)
             return -1;
    @@
     
     static int one_line(PyObject *from, PyObject *to) {
    -    PyObject *item = PyList_GetItem(from, 0);
    +    PyObject *item = PyList_GetItemRef(from, 0);
         if (item == NULL)
             return -1;
    -    Py_INCREF(item);
         if (PyList_SetItem(to, 0, item) < 0)
             Py_DECREF(item);
    ");
}

/// The release is right for those who come there from elsewhere.
#[test]
fn a_release_that_is_too_many_for_some() {
    insta::assert_snapshot!(crate::testing::run(
        super::ALL,
        r#"
static int g(PyObject *from, PyObject *to) {
    PyObject *item = PyList_GetItem(from, 0);
    if (item == NULL)
        return -1;
    Py_INCREF(item);
    if (check(item) < 0)
        goto fail;
    if (PyList_SetItem(to, 0, item) < 0)
        goto fail;
    return 0;
fail:
    Py_DECREF(item);
    return -1;
}

static int h(PyObject *from, PyObject *to) {
    PyObject *item = PyList_GetItem(from, 0);
    if (item == NULL)
        return -1;
    Py_INCREF(item);
    if (check(item) < 0 || PyList_SetItem(to, 0, item) < 0) {
        Py_DECREF(item);
        return -1;
    }
    return 0;
}
"#
    ), @"
        3: take the reference in `item` on all paths (only some paths own it)
        18: take the reference in `item` on all paths (only some paths own it)
        ");
}

/// `BEGIN` and `END` open and close a statement expression around the whole body.
#[test]
fn the_body_is_a_statement_expression() {
    let source = r#"
#define BEGIN (void) __extension__ ({ PyGILState_STATE held = PyGILState_Ensure();
#define END PyGILState_Release(held); })

static int
called(void *opaque)
{
    PyObject *data = (PyObject *)opaque;
    PyObject *conn;
    PyObject *key;
    int rc = -1;
    BEGIN;
    if (!(key = make_key()))
        goto cleanup;
    conn = PyDict_GetItem(data, key);
    Py_DECREF(key);
    if (prepare(data) < 0)
        goto cleanup;
    rc = dispatch(conn, data);
cleanup:
    if (rc < 0)
        PyErr_Print();
    END;
    return rc;
}
"#;
    insta::assert_snapshot!(crate::testing::run(super::ALL, source), @"
        @@
         {
             PyObject *data = (PyObject *)opaque;
        -    PyObject *conn;
        +    PyObject *conn = NULL;
             PyObject *key;
             int rc = -1;
        @@
             if (!(key = make_key()))
                 goto cleanup;
        -    conn = PyDict_GetItem(data, key);
        +    if (PyDict_GetItemRef(data, key, &conn) < 0) {
        +        PyErr_WriteUnraisable(NULL);
        +    }
             Py_DECREF(key);
             if (prepare(data) < 0)
        @@
             rc = dispatch(conn, data);
         cleanup:
        +    Py_XDECREF(conn);
             if (rc < 0)
                 PyErr_Print();
        ");
}

/// The way that ends well comes by no label.
#[test]
fn one_release_at_the_label_and_one_on_the_way_that_ends_well() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item = PyList_GetItem(list, i);
    if (item == NULL)
        return -1;
    for (i = 0; i < 3; i++) {
        if (check(item) < 0)
            goto error;
        if (!PyLong_Check(item)) {
            PyErr_SetString(PyExc_TypeError, "no number");
            goto error;
        }
        if (check_more(self, item) < 0) goto error;
    }
    return 0;
error:
    log_end(self);
    return -1;
"#
    ), @"
        @@
         static int f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, Py_ssize_t i)
         {
        -    PyObject *item = PyList_GetItem(list, i);
        +    PyObject *item = PyList_GetItemRef(list, i);
             if (item == NULL)
                 return -1;
        @@
                 if (check_more(self, item) < 0) goto error;
             }
        +    Py_DECREF(item);
             return 0;
         error:
        +    Py_DECREF(item);
             log_end(self);
             return -1;
        ");
}

#[test]
fn a_loop_keeps_its_releases_where_the_label_may_come_later() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *item;
    for (; i > 0; i--) {
        if (prepare(self) < 0)
            goto error;
        item = PyList_GetItem(list, i);
        if (item == NULL || check(item) < 0)
            goto error;
        if (check_more(self, item) < 0)
            goto error;
        if (check_more(item, self) < 0)
            goto error;
    }
    return 0;
error:
    log_end(self);
    return -1;
"#
    ), @"
        @@
                 if (prepare(self) < 0)
                     goto error;
        -        item = PyList_GetItem(list, i);
        -        if (item == NULL || check(item) < 0)
        +        item = PyList_GetItemRef(list, i);
        +        if (item == NULL || check(item) < 0) {
        +            Py_XDECREF(item);
                     goto error;
        -        if (check_more(self, item) < 0)
        +        }
        +        if (check_more(self, item) < 0) {
        +            Py_DECREF(item);
                     goto error;
        -        if (check_more(item, self) < 0)
        +        }
        +        if (check_more(item, self) < 0) {
        +            Py_DECREF(item);
                     goto error;
        +        }
        +        Py_DECREF(item);
             }
             return 0;
        ");
}

/// A new `else` for the release alone reads worse than one more release in front of the jump.
#[test]
fn a_release_behind_the_if_and_one_in_front_of_its_break() {
    insta::assert_snapshot!(int(
        r#"
    for (; i > 0; i--) {
        PyObject *item = PyList_GetItem(list, i);
        if (item == NULL)
            return -1;
        if (check(item)) {
            if (key == self) {
                PyList_SetSlice(list, i, i + 1, NULL);
                break;
            }
        }
    }
    return 0;
"#
    ), @"
        @@
         {
             for (; i > 0; i--) {
        -        PyObject *item = PyList_GetItem(list, i);
        +        PyObject *item = PyList_GetItemRef(list, i);
                 if (item == NULL)
                     return -1;
        @@
                     if (key == self) {
                         PyList_SetSlice(list, i, i + 1, NULL);
        +                Py_DECREF(item);
                         break;
                     }
                 }
        +        Py_DECREF(item);
             }
             return 0;
        ");
}

/// A list is copied with `release` where the copy is not needed any more, and `done` is the end.
fn copies(release: &str, done: &str) -> String {
    int(&format!(
        "    PyObject *args, *all = NULL;
    Py_ssize_t at, n;
    int status = 0;
    args = PyTuple_Pack(1, key);
    if (args == NULL)
        return -1;
    n = PyList_GET_SIZE(list);
    all = PyList_New(n);
    if (all == NULL) {{
        status = -1;
        goto done;
    }}
    for (at = 0; at < n; at++) {{
        PyObject *item = PyList_GET_ITEM(list, at);
        Py_INCREF(item);
        PyList_SET_ITEM(all, at, item);
    }}
    status = PyObject_IsTrue(all);
    {release}
done:
    {done}
    Py_DECREF(args);
    return status;"
    ))
}

#[test]
fn what_the_label_leaves_is_released_in_front_of_the_jump() {
    insta::assert_snapshot!(copies("Py_DECREF(all);", ""), @"
        @@
             }
             for (at = 0; at < n; at++) {
        -        PyObject *item = PyList_GET_ITEM(list, at);
        -        Py_INCREF(item);
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            Py_DECREF(all);
        +            status = -1;
        +            goto done;
        +        }
                 PyList_SET_ITEM(all, at, item);
             }
        ");
    insta::assert_snapshot!(copies("", "Py_XDECREF(all);"), @"
        @@
             }
             for (at = 0; at < n; at++) {
        -        PyObject *item = PyList_GET_ITEM(list, at);
        -        Py_INCREF(item);
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            status = -1;
        +            goto done;
        +        }
                 PyList_SET_ITEM(all, at, item);
             }
        ");
    // It tells by more than its result.
    insta::assert_snapshot!(copies("Py_DECREF(all);", "if (n == 0) status = 0;"), @"
        @@
             }
             for (at = 0; at < n; at++) {
        -        PyObject *item = PyList_GET_ITEM(list, at);
        -        Py_INCREF(item);
        +        PyObject *item = PyList_GetItemRef(list, at);
        +        if (item == NULL) {
        +            Py_DECREF(args);
        +            Py_DECREF(all);
        +            return -1;
        +        }
                 PyList_SET_ITEM(all, at, item);
             }
        ");
}

#[test]
fn exits_that_come_in_go_to_the_label_of_the_release_as_well() {
    insta::assert_snapshot!(all(
        r#"
#define TRY(call) do { if ((call) < 0) goto done; } while (0)
static int f(PyObject *self, PyObject *list)
{
    PyObject *first, *second, *made = NULL;
    int rc = -1;
    first = PyList_GetItem(list, 0);
    second = PyList_GetItem(list, 1);
    if ((made = PyTuple_New(2)) == NULL)
        goto done;
    TRY(check(self));
    TRY(PyObject_IsTrue(second));
    rc = PyObject_IsTrue(first);
done:
    Py_XDECREF(made);
    return rc;
}
"#
    ), @"
    @@
     static int f(PyObject *self, PyObject *list)
     {
    -    PyObject *first, *second, *made = NULL;
    +    PyObject *first, *second = NULL, *made = NULL;
         int rc = -1;
    -    first = PyList_GetItem(list, 0);
    -    second = PyList_GetItem(list, 1);
    +    first = PyList_GetItemRef(list, 0);
    +    if (first == NULL) {
    +        goto done;
    +    }
    +    second = PyList_GetItemRef(list, 1);
    +    if (second == NULL) {
    +        goto done;
    +    }
         if ((made = PyTuple_New(2)) == NULL)
             goto done;
    @@
         rc = PyObject_IsTrue(first);
     done:
    +    Py_XDECREF(first);
    +    Py_XDECREF(second);
         Py_XDECREF(made);
         return rc;
    ");
}
