//! Exceptions that are pending where a lookup clears its own.

use super::int;

const DOUBT: &str = "no lookup fails while an exception is pending";

fn is_doubted(body: &str) -> bool {
    int(body).contains(DOUBT)
}

/// A lookup in the branch that `head` leads to.
fn behind(head: &str) -> bool {
    is_doubted(&format!(
        "
    PyObject *value, *other = NULL;
    int rc = 0;
    {head} {{
        value = PyDict_GetItem(dict, key);
        if (value != NULL) {{
            use(value);
        }}
        return -1;
    }}
    Py_XDECREF(other);
    return rc;"
    ))
}

#[test]
fn a_fix_that_may_drop_a_pending_exception_is_not_safe() {
    insta::assert_snapshot!(int(
        r#"
    PyObject *value;
    if (PyObject_SetAttr(self, key, list) < 0) {
        value = PyDict_GetItem(dict, key);
        if (value != NULL) {
            log_it(value);
        }
        return -1;
    }
    return 0;
"#
    ), @"
        5: review: no lookup fails while an exception is pending: `PyErr_Clear` would drop that one, too
        @@
             PyObject *value;
             if (PyObject_SetAttr(self, key, list) < 0) {
        -        value = PyDict_GetItem(dict, key);
        +        if (PyDict_GetItemRef(dict, key, &value) < 0) {
        +            PyErr_Clear();
        +        }
                 if (value != NULL) {
                     log_it(value);
        +            Py_DECREF(value);
                 }
                 return -1;
        ");
}

#[test]
fn failures_of_the_c_api_leave_an_exception() {
    assert!(behind("if (PyErr_Occurred())"));
    assert!(behind("if (PyErr_ExceptionMatches(PyExc_KeyError))"));
    assert!(behind("if (!PyArg_ParseTuple(list, \"O\", &other))"));
    assert!(behind("other = PyObject_Str(key); if (!other)"));
    assert!(behind("if ((other = PyObject_Str(key)) == NULL)"));
    assert!(behind("if ((rc = PyList_Append(list, key)) != 0)"));
    assert!(behind("rc = PyList_Append(list, key); if (rc == -1)"));
    assert!(behind("if (PyList_GetItem(list, i) == NULL)"));
    assert!(behind("other = helper(key); if (other == NULL)"));
}

#[test]
fn other_tests_leave_none() {
    assert!(!behind("if (PyList_Check(list))"));
    assert!(!behind("if (PyDict_Contains(dict, list))"));
    assert!(!behind("other = PyObject_Str(key); if (other)"));
    assert!(!behind("other = PyIter_Next(list); if (!other)"));
    assert!(!behind("rc = helper(key); if (rc == 0)"));
    assert!(!behind("if (PyErr_Occurred()) return -1; if (i)"));
    assert!(!behind("if (PyErr_Occurred()) PyErr_Clear(); if (i)"));
}

#[test]
fn what_is_raised_stays_pending_up_to_a_label() {
    let text = |before: &str| {
        format!(
            "
    PyObject *value;
    if (i < 0) {{
        PyErr_SetString(PyExc_ValueError, \"negative\");
        goto error;
    }}
    return 0;
error:
    {before}
    value = PyDict_GetItem(dict, key);
    if (value != NULL) {{
        use(value);
    }}
    return -1;"
        )
    };
    assert!(is_doubted(&text("")));
    assert!(!is_doubted(&text("PyErr_Print();")));
}

#[test]
fn lookups_that_keep_their_errors_do_not_matter() {
    assert!(!is_doubted(
        "
    PyObject *value;
    if (PyErr_Occurred()) {
        value = PyDict_GetItemWithError(dict, key);
        if (value != NULL) {
            use(value);
        }
    }
    return 0;"
    ));
}
