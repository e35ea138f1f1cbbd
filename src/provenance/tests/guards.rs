//! Critical sections and marks.

use super::of;

/// A function of the list `p` with this body.
fn list(body: &str) -> String {
    of(&format!(
        "PyObject *f(PyObject *p) {{\n    PyObject *v;\n{body}    return NULL;\n}}\n"
    ))
}

#[test]
fn a_section_on_the_container_covers_the_use() {
    insta::assert_snapshot!(list("    Py_BEGIN_CRITICAL_SECTION(p);\n    v = PyList_GetItem(p, 0);\n    n = PyLong_Check(v);\n    Py_END_CRITICAL_SECTION();\n"), @"
    f: Guarded, the critical section that begins on line 3 locks the container while the value is in use
    ");
}

#[test]
fn a_section_on_something_else_does_not() {
    insta::assert_snapshot!(list("    Py_BEGIN_CRITICAL_SECTION(other);\n    v = PyList_GetItem(p, 0);\n    Py_END_CRITICAL_SECTION();\n"), @"f: shared, `p`, which the caller passes");
}

#[test]
fn the_value_may_not_outlive_the_section() {
    insta::assert_snapshot!(list("    Py_BEGIN_CRITICAL_SECTION(p);\n    v = PyList_GetItem(p, 0);\n    Py_END_CRITICAL_SECTION();\n    use(v);\n"), @"f: shared, `p`, which the caller passes");
}

#[test]
fn unless_it_got_its_own_reference_inside() {
    insta::assert_snapshot!(list("    Py_BEGIN_CRITICAL_SECTION(p);\n    v = PyList_GetItem(p, 0);\n    Py_XINCREF(v);\n    Py_END_CRITICAL_SECTION();\n    use(v);\n"), @"
    f: Guarded, the critical section that begins on line 3 locks the container while the value is in use
    ");
}

#[test]
fn also_where_it_may_come_from_another_container_in_the_next_pass() {
    let pass = |first: &str| {
        list(&format!(
            "    Py_BEGIN_CRITICAL_SECTION(p);\n    for (i = 0; i < n; i++) {{\n        v = k ? PyList_GET_ITEM(p, i) : PyTuple_GET_ITEM(p, i);\n        {first}Py_INCREF(v);\n        use(v);\n        Py_DECREF(v);\n    }}\n    Py_END_CRITICAL_SECTION();\n"
        ))
    };
    insta::assert_snapshot!(pass(""), @"f: Guarded, the critical section that begins on line 3 locks the container while the value is in use");
    insta::assert_snapshot!(pass("PyObject_Repr(v); "), @"f: shared, `p`, which the caller passes");
    insta::assert_snapshot!(pass("w = v; if (n == i) continue; "), @"f: shared, `p`, which the caller passes");
}

#[test]
fn python_code_suspends_the_section() {
    insta::assert_snapshot!(list("    Py_BEGIN_CRITICAL_SECTION(p);\n    v = PyList_GetItem(p, 0);\n    PyObject_Repr(v);\n    Py_END_CRITICAL_SECTION();\n"), @"f: shared, `p`, which the caller passes");
}

#[test]
fn a_section_that_one_path_skips_does_not_count() {
    insta::assert_snapshot!(list("    PyCriticalSection cs;\n    if (n) PyCriticalSection_Begin(&cs, p);\n    v = PyList_GetItem(p, 0);\n    PyLong_Check(v);\n"), @"f: shared, `p`, which the caller passes");
}

#[test]
fn a_section_that_has_ended_does_not_count() {
    insta::assert_snapshot!(list("    Py_BEGIN_CRITICAL_SECTION(p);\n    Py_END_CRITICAL_SECTION();\n    v = PyList_GetItem(p, 0);\n    PyLong_Check(v);\n"), @"f: shared, `p`, which the caller passes");
}

#[test]
fn the_mark_of_a_maintainer_is_honoured_on_its_line() {
    insta::assert_snapshot!(list("    v = PyList_GetItem(p, 0); // noqa: borrowed-ref OK\n    v = PyList_GetItem(p, 1); // noqa: borrowed-ref - manual fix needed\n"), @"
    f: Marked, line 3 is marked `noqa: borrowed-ref OK`
    f: shared, `p`, which the caller passes
    ");
}
