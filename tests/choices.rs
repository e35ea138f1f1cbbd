//! Lookups that a conditional expression chooses.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::tree::patch;

/// The patch of a function with this body, and the reasons where there is none.
fn changed(body: &str) -> String {
    let text = format!("long\nf(PyObject *d, PyObject *l, int c)\n{{\n{body}}}\n");
    let patch = patch(&[("a.c", &text)]);
    let lines = patch
        .lines()
        .filter(|line| !line.starts_with("@@") && !line.starts_with("---"));
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with("+++")).collect();
    lines.join("\n")
}

#[test]
fn both_values_are_looked_up() {
    insta::assert_snapshot!(changed(
        r#"    PyObject *x;
    x = c ? PyDict_GetItemString(d, "a") : PyList_GetItem(l, 0);
    if (x == NULL)
        return -1;
    return PyLong_AsLong(x);
"#
    ), @r#"
         f(PyObject *d, PyObject *l, int c)
         {
             PyObject *x;
        -    x = c ? PyDict_GetItemString(d, "a") : PyList_GetItem(l, 0);
        +    long result;
        +    if (c) {
        +        if (PyDict_GetItemStringRef(d, "a", &x) < 0) {
        +            return -1;
        +        }
        +    } else {
        +        x = PyList_GetItemRef(l, 0);
        +    }
             if (x == NULL)
                 return -1;
        -    return PyLong_AsLong(x);
        +    result = PyLong_AsLong(x);
        +    Py_DECREF(x);
        +    return result;
         }
        "#);
}

#[test]
fn the_value_of_a_declaration() {
    insta::assert_snapshot!(changed(
        r#"    PyObject *x = d ? PyDict_GetItemString(d, "a") : NULL;
    long n = 0;
    if (x != NULL)
        n = PyLong_AsLong(x);
    return n;
"#
    ), @r#"
         long
         f(PyObject *d, PyObject *l, int c)
         {
        -    PyObject *x = d ? PyDict_GetItemString(d, "a") : NULL;
        +    PyObject *x;
             long n = 0;
        -    if (x != NULL)
        +    if (d) {
        +        if (PyDict_GetItemStringRef(d, "a", &x) < 0) {
        +            return -1;
        +        }
        +    } else {
        +        x = NULL;
        +    }
        +    if (x != NULL) {
                 n = PyLong_AsLong(x);
        +        Py_DECREF(x);
        +    }
             return n;
         }
        "#);
}

#[test]
fn a_value_that_is_tested_where_it_is_assigned() {
    insta::assert_snapshot!(changed(
        r#"    PyObject *x;
    if (c == 7)
        return 0;
    else if (!(x = c ? PyDict_GetItemString(d, "a") : NULL) || c > 9)
        return 1;
    return PyLong_AsLong(x);
"#
    ), @r#"
         f(PyObject *d, PyObject *l, int c)
         {
             PyObject *x;
        +    long result;
             if (c == 7)
                 return 0;
        -    else if (!(x = c ? PyDict_GetItemString(d, "a") : NULL) || c > 9)
        -        return 1;
        -    return PyLong_AsLong(x);
        +    else {
        +        if (c) {
        +            if (PyDict_GetItemStringRef(d, "a", &x) < 0) {
        +                return -1;
        +            }
        +        } else {
        +            x = NULL;
        +        }
        +        if (!x || c > 9) {
        +            Py_XDECREF(x);
        +            return 1;
        +        }
        +    }
        +    result = PyLong_AsLong(x);
        +    Py_DECREF(x);
        +    return result;
         }
        "#);
}

#[test]
fn an_argument_and_a_result() {
    insta::assert_snapshot!(changed(
        r#"    if (c)
        return c > 1 ? PyLong_AsLong(PyList_GetItem(l, 0)) : 0;
    return use(c, d ? PyDict_GetItemString(d, "a") : NULL);
"#
    ), @r#"
         long
         f(PyObject *d, PyObject *l, int c)
         {
        -    if (c)
        -        return c > 1 ? PyLong_AsLong(PyList_GetItem(l, 0)) : 0;
        -    return use(c, d ? PyDict_GetItemString(d, "a") : NULL);
        +    PyObject *value;
        +    long result;
        +    if (c) {
        +        if (c > 1) {
        +            PyObject *item = PyList_GetItemRef(l, 0);
        +            long result = PyLong_AsLong(item);
        +            Py_XDECREF(item);
        +            return result;
        +        } else {
        +            return 0;
        +        }
        +    }
        +    if (d) {
        +        if (PyDict_GetItemStringRef(d, "a", &value) < 0) {
        +            return -1;
        +        }
        +    } else {
        +        value = NULL;
        +    }
        +    result = use(c, value);
        +    Py_XDECREF(value);
        +    return result;
         }
        "#);
}

#[test]
fn a_reason_is_that_of_the_branch() {
    insta::assert_snapshot!(changed(
        r#"    static PyObject *x;
    x = c ? PyDict_GetItemString(d, "a") : NULL;
    return x != NULL;
"#
    ), @"= by hand: store a strong reference in `x`, and release it when it is replaced (`x` keeps the borrowed reference after the function returns)");
}

#[test]
fn what_runs_before_or_perhaps_is_left() {
    let left = [
        // Another part of the expression comes first.
        "return use(make(d), c ? PyDict_GetItemString(d, \"a\") : NULL);",
        "return use(c++, c ? PyDict_GetItemString(d, \"a\") : NULL);",
        "return c && use(d ? PyDict_GetItemString(d, \"a\") : NULL);",
        // `x = a, b`
        "PyObject *x = c ? (c++, PyDict_GetItemString(d, \"a\")) : NULL; return look(x);",
        // The comment would get lost.
        "PyObject *x = c ? /* or */ PyDict_GetItemString(d, \"a\") : NULL; return look(x);",
        // -1 as an unsigned number.
        "return c ? PyLong_AsUnsignedLong(PyList_GetItem(l, 0)) : -1;",
        "double y; y = c ? PyLong_AsLong(PyList_GetItem(l, 0)) : 4UL; return y;",
        "return c ? PyObject_IsTrue(PyList_GetItem(l, 0)) : 0u;",
        // The next value may look at the first.
        "PyObject *x = c ? PyDict_GetItemString(d, \"a\") : NULL, *y = next(x); return look(y);",
        "s.x = c ? PyDict_GetItemString(d, \"a\") : NULL; return look(s.x);",
    ];
    for body in left {
        let changed = changed(&format!("    {body}\n"));
        assert!(changed.starts_with("= by hand"), "{changed}");
    }
}
