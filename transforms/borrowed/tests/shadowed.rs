//! Exits where a block declares anew what they speak of.

use super::all;

/// The result for a loop over `list` that starts so.
fn looped(head: &str, body: &str, tail: &str) -> String {
    all(&format!(
        "
{}
    for (i = 0; i < n; i++) {{
        PyObject *item = PyList_GET_ITEM(list, i);
{}
    }}
{}
}}
",
        head.trim_matches('\n'),
        body.trim_matches('\n'),
        tail.trim_matches('\n'),
    ))
}

/// A loop whose body keeps the answer for an item in `status`.
fn with_status(status: &str) -> String {
    looped(
        "
static int f(PyObject *list, PyObject *out, Py_ssize_t n)
{
    int rc = 0;
    Py_ssize_t i;
    PyObject *acc = PyList_New(0);
    if (acc == NULL) {
        rc = -1;
        goto done;
    }",
        &format!(
            "
        int {status} = PyObject_IsTrue(item);
        if ({status} > 0)
            use(item);"
        ),
        "
    rc = PyDict_SetItemString(out, \"all\", acc);
    Py_DECREF(acc);
done:
    return rc;",
    )
}

#[test]
fn a_status_of_the_same_name() {
    insta::assert_snapshot!(with_status("is_true"), @r#"
        11: review: in `f`, `use(item)` (line 14) need not be undone at the new error exit (the function could not leave here before)
        @@
             }
             for (i = 0; i < n; i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        -        int is_true = PyObject_IsTrue(item);
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        int is_true;
        +        if (item == NULL) {
        +            Py_DECREF(acc);
        +            rc = -1;
        +            goto done;
        +        }
        +        is_true = PyObject_IsTrue(item);
                 if (is_true > 0)
                     use(item);
        +        Py_DECREF(item);
             }
             rc = PyDict_SetItemString(out, "all", acc);
        "#);
    insta::assert_snapshot!(with_status("rc"), @r#"
        11: review: in `f`, `use(item)` (line 14) need not be undone at the new error exit (the function could not leave here before)
        @@
             }
             for (i = 0; i < n; i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        -        int rc = PyObject_IsTrue(item);
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        int rc;
        +        if (item == NULL) {
        +            Py_DECREF(acc);
        +            return -1;
        +        }
        +        rc = PyObject_IsTrue(item);
                 if (rc > 0)
                     use(item);
        +        Py_DECREF(item);
             }
             rc = PyDict_SetItemString(out, "all", acc);
        "#);
}

#[test]
fn an_object_of_the_same_name() {
    let of = |number: &str| {
        looped(
            "
static int f(PyObject *list, Py_ssize_t n)
{
    Py_ssize_t i;
    PyObject *acc = PyList_New(0);
    if (acc == NULL)
        return -1;",
            &format!(
                "
        long {number} = PyLong_AsLong(item);
        use({number});"
            ),
            "
    Py_DECREF(acc);
    return 0;",
        )
    };
    insta::assert_snapshot!(of("value"), @"
        8: review: in `f`, `use(value)` (line 10) need not be undone at the new error exit (the function could not leave here before)
        @@
                 return -1;
             for (i = 0; i < n; i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        -        long value = PyLong_AsLong(item);
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        long value;
        +        if (item == NULL) {
        +            Py_DECREF(acc);
        +            return -1;
        +        }
        +        value = PyLong_AsLong(item);
        +        Py_DECREF(item);
                 use(value);
             }
        ");
    assert!(of("acc").contains("the checked call can fail where the macro could not"));
}

#[test]
fn a_size_of_the_same_name() {
    let of = |number: &str| {
        looped(
            "
void f(Sums *self, PyObject *list)
{
    Py_ssize_t i, n = PyList_GET_SIZE(list);",
            &format!(
                "
        long {number} = PyObject_IsTrue(item);
        self->sum += {number};"
            ),
            "    self->count = n;",
        )
    };
    assert!(of("sum").contains("+            n = i;\n+            break;"));
    insta::assert_snapshot!(of("n"), @"
        5: review: no item is missing while an exception is pending (that exception would be dropped); in `f`, `self->sum += n` (line 7) need not be undone at the new error exit (the function could not leave here before)
        @@
             Py_ssize_t i, n = PyList_GET_SIZE(list);
             for (i = 0; i < n; i++) {
        -        PyObject *item = PyList_GET_ITEM(list, i);
        -        long n = PyObject_IsTrue(item);
        +        PyObject *item = PyList_GetItemRef(list, i);
        +        long n;
        +        if (item == NULL) {
        +            PyErr_WriteUnraisable(NULL);
        +            return;
        +        }
        +        n = PyObject_IsTrue(item);
        +        Py_DECREF(item);
                 self->sum += n;
             }
        ");
}
