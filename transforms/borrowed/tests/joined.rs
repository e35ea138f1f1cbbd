//! Lookups whose failure is asked for together with the error that comes next.

use super::all;

/// A function that raises, and `f` with this body, after all rules.
fn f(body: &str) -> String {
    all(&format!(
        "
static int convert(PyObject *item, void **handle)
{{
    if (!PyBytes_Check(item)) {{
        PyErr_SetString(PyExc_TypeError, \"no bytes\");
        return -1;
    }}
    *handle = handle_new(PyBytes_AS_STRING(item));
    return 0;
}}

static int f(PyObject *list, Py_ssize_t n, void **handles, struct note *note)
{{
{}
}}
",
        body.trim_matches('\n')
    ))
}

#[test]
fn branch_with_a_loop() {
    insta::assert_snapshot!(f(
        r"
    PyObject *item;
    Py_ssize_t i, j;
    for (i = 0; i < n; i++) {
        item = PyList_GET_ITEM(list, i);
        if (convert(item, &handles[i]) < 0) {
            for (j = 0; j < i; j++)
                handle_release(handles[j]);
            return -1;
        }
    }
    return 0;
"
    ), @"
        @@
             Py_ssize_t i, j;
             for (i = 0; i < n; i++) {
        -        item = PyList_GET_ITEM(list, i);
        -        if (convert(item, &handles[i]) < 0) {
        +        item = PyList_GetItemRef(list, i);
        +        if (item == NULL || convert(item, &handles[i]) < 0) {
        +            Py_XDECREF(item);
                     for (j = 0; j < i; j++)
                         handle_release(handles[j]);
                     return -1;
                 }
        +        Py_DECREF(item);
             }
             return 0;
        ");
}

#[test]
fn branch_that_leaves_a_loop_under_a_lock() {
    insta::assert_snapshot!(f(
        r#"
    Py_ssize_t i;
    int status = 0;
    if (Py_EnterRecursiveCall(" in f"))
        return -1;
    for (i = 0; i < n; i++) {
        if (convert(PyList_GET_ITEM(list, i), NULL) < 0) {
            status = -1;
            break;
        }
    }
    Py_LeaveRecursiveCall();
    return status;
"#
    ), @"
        @@
                 return -1;
             for (i = 0; i < n; i++) {
        -        if (convert(PyList_GET_ITEM(list, i), NULL) < 0) {
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        if (item == NULL || convert(item, NULL) < 0) {
        +            Py_XDECREF(item);
                     status = -1;
                     break;
                 }
        +        Py_DECREF(item);
             }
             Py_LeaveRecursiveCall();
        ");
}

#[test]
fn branch_that_gives_a_lock_back() {
    insta::assert_snapshot!(f(
        r#"
    PyObject *item;
    if (Py_EnterRecursiveCall(" in f"))
        return -1;
    item = PyList_GET_ITEM(list, n);
    if (convert(item, NULL) < 0) {
        Py_LeaveRecursiveCall();
        return -1;
    }
    Py_LeaveRecursiveCall();
    return 0;
"#
    ), @r#"
        @@
             if (Py_EnterRecursiveCall(" in f"))
                 return -1;
        -    item = PyList_GET_ITEM(list, n);
        -    if (convert(item, NULL) < 0) {
        +    item = PyList_GetItemRef(list, n);
        +    if (item == NULL || convert(item, NULL) < 0) {
        +        Py_XDECREF(item);
                 Py_LeaveRecursiveCall();
                 return -1;
             }
        +    Py_DECREF(item);
             Py_LeaveRecursiveCall();
             return 0;
        "#);
}

#[test]
fn condition_of_two_parts() {
    insta::assert_snapshot!(f(
        r#"
    PyObject *item;
    if (Py_EnterRecursiveCall(" in f"))
        return -1;
    item = PyList_GET_ITEM(list, n);
    if (PyLong_AsLong(item) == -1 && PyErr_Occurred()) {
        Py_LeaveRecursiveCall();
        return -1;
    }
    Py_LeaveRecursiveCall();
    return 0;
"#
    ), @r#"
        @@
             if (Py_EnterRecursiveCall(" in f"))
                 return -1;
        -    item = PyList_GET_ITEM(list, n);
        -    if (PyLong_AsLong(item) == -1 && PyErr_Occurred()) {
        +    item = PyList_GetItemRef(list, n);
        +    if (item == NULL || (PyLong_AsLong(item) == -1 && PyErr_Occurred())) {
        +        Py_XDECREF(item);
                 Py_LeaveRecursiveCall();
                 return -1;
             }
        +    Py_DECREF(item);
             Py_LeaveRecursiveCall();
             return 0;
        "#);
}

/// Their branches need what is left out where the lookup fails.
const WRONG: [&str; 9] = [
    // Element `i` was not made.
    r"
    Py_ssize_t i, j;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (convert(item, &handles[i]) < 0) {
            for (j = 0; j <= i; j++)
                handle_release(handles[j]);
            return -1;
        }
    }
    return 0;
",
    // Another index.
    r"
    Py_ssize_t i, j;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (convert(item, &handles[0]) < 0) {
            for (j = 0; j < i; j++)
                handle_release(handles[j]);
            return -1;
        }
    }
    return 0;
",
    // The handle was not set.
    r"
    Py_ssize_t i;
    void *handle;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (convert(item, &handle) < 0) {
            handle_release(handle);
            n = -1;
            break;
        }
    }
    return n;
",
    // It is read behind the loop.
    r"
    Py_ssize_t i;
    void *handle;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (convert(item, &handle) < 0) {
            n = -1;
            break;
        }
    }
    handle_release(handle);
    return n;
",
    // The item is what the message is about.
    r"
    Py_ssize_t i;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (convert(item, NULL) < 0) {
            handle_release(item);
            n = -1;
            break;
        }
    }
    return n;
",
    // Another exception.
    r#"
    Py_ssize_t i;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (convert(item, NULL) < 0) {
            PyErr_Format(PyExc_ValueError, "item %zd", i);
            n = -1;
            break;
        }
    }
    return n;
"#,
    // No exception at all.
    r"
    Py_ssize_t i;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (weigh(item) < 0) {
            n = -1;
            break;
        }
    }
    return n;
",
    // What `fill` puts there is not there.
    r"
    Py_ssize_t i;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (convert(item, (void **)note) < 0) {
            free(note->text);
            n = -1;
            break;
        }
    }
    return n;
",
    // A stale result would be released again.
    r"
    PyObject *text = NULL;
    Py_ssize_t i;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if ((text = PyObject_Str(item)) == NULL) {
            n = -1;
            break;
        }
        handles[i] = text;
    }
    if (n < 0)
        handle_release(text);
    return n;
",
];

/// None of these branches is right for an item that is not there.
#[test]
fn branches_that_need_what_was_left_out() {
    for body in WRONG {
        let result = f(body);
        assert!(!result.contains("== NULL ||"), "{body}\n{result}");
    }
}

/// A plain `return -1;`, as above the loop, would leave what is made by then.
#[test]
fn exit_that_forgets_what_a_loop_made() {
    insta::assert_snapshot!(f(
        r"
    Py_ssize_t i, j;
    if (PyErr_CheckSignals() < 0)
        return -1;
    for (i = 0; i < n; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (convert(item, &handles[i]) < 0) {
            for (j = 0; j < i; j++)
                handle_release(handles[j]);
            return -1;
        }
    }
    return 0;
"
    ), @"
        @@
                 return -1;
             for (i = 0; i < n; i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        -        if (convert(item, &handles[i]) < 0) {
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        if (item == NULL || convert(item, &handles[i]) < 0) {
        +            Py_XDECREF(item);
                     for (j = 0; j < i; j++)
                         handle_release(handles[j]);
                     return -1;
                 }
        +        Py_DECREF(item);
             }
             return 0;
        ");
}
