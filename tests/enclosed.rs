//! Bodies of macros that need a block for the variable of a reference.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::tree::patch;

const ADD: &str = r#"#include <Python.h>
#define ADD(name)                                     \
    add((Table *)PyDict_GetItemString(dict, #name),   \
        name##_size)
int add(Table *table, int size);
int many(PyObject *dict, int a_size, int b_size)
{
    ADD(a);
    if (b_size)
        ADD(b);
    else
        ADD(c);
    return 0;
}
"#;

#[test]
fn an_expression_becomes_a_block() {
    insta::assert_snapshot!(patch(&[("m.c", ADD)]), @r#"
    --- a/m.c
    +++ b/m.c
    @@ -1,7 +1,14 @@
     #include <Python.h>
     #define ADD(name)                                     \
    -    add((Table *)PyDict_GetItemString(dict, #name),   \
    -        name##_size)
    +    do {                                              \
    +        PyObject *value;                              \
    +        if (PyDict_GetItemStringRef(dict, #name, &value) < 0) { \
    +            PyErr_WriteUnraisable(NULL);              \
    +        }                                             \
    +        add((Table *)value,                           \
    +            name##_size);                             \
    +        Py_XDECREF(value);                            \
    +    } while (0)
     int add(Table *table, int size);
     int many(PyObject *dict, int a_size, int b_size)
     {
    "#);
}

/// A macro whose body needs a variable in all of its uses: `body` of `ADD(key)` in a function with
/// these statements.
fn used(body: &str, statements: &str) -> String {
    let text = format!(
        "#include <Python.h>
#define ADD(key) \\
    {body}
int add(PyObject *value);
extern int count, *kept;
int many(PyObject *dict, PyObject *a, PyObject *b, int n)
{{
    int done = 0;
    {statements}
    return done;
}}
"
    );
    patch(&[("m.c", &text)])
}

const CALL: &str = "add(PyDict_GetItem(dict, key))";

#[test]
fn no_semicolon_stands_behind_the_uses() {
    let statements =
        "ADD(a)\n    if (n)\n        ADD(b)\n    if (n > 1) {\n        done = n;\n    }";
    insta::assert_snapshot!(used(&format!("{CALL};"), statements), @r#"
    --- a/m.c
    +++ b/m.c
    @@ -1,6 +1,13 @@
     #include <Python.h>
     #define ADD(key) \
    -    add(PyDict_GetItem(dict, key));
    +    { \
    +        PyObject *value; \
    +        if (PyDict_GetItemRef(dict, key, &value) < 0) { \
    +            PyErr_WriteUnraisable(NULL); \
    +        } \
    +        add(value); \
    +        Py_XDECREF(value); \
    +    }
     int add(PyObject *value);
     extern int count, *kept;
     int many(PyObject *dict, PyObject *a, PyObject *b, int n)
    "#);
}

#[test]
fn the_name_of_an_argument_is_not_taken() {
    let statements = "PyObject *value = a;\n    ADD(value);\n    ADD(b);";
    insta::assert_snapshot!(used(CALL, statements), @r#"
    --- a/m.c
    +++ b/m.c
    @@ -1,6 +1,13 @@
     #include <Python.h>
     #define ADD(key) \
    -    add(PyDict_GetItem(dict, key))
    +    do { \
    +        PyObject *value2; \
    +        if (PyDict_GetItemRef(dict, key, &value2) < 0) { \
    +            PyErr_WriteUnraisable(NULL); \
    +        } \
    +        add(value2); \
    +        Py_XDECREF(value2); \
    +    } while (0)
     int add(PyObject *value);
     extern int count, *kept;
     int many(PyObject *dict, PyObject *a, PyObject *b, int n)
    "#);
}

/// Each body, or the way it is used, means something else in a block.
#[test]
fn what_a_block_would_change_is_left() {
    let left = |body: &str, statements: &str| {
        let patch = used(body, statements);
        assert!(!patch.contains("+++ b/"), "{body}\n{statements}\n{patch}");
        assert!(patch.contains("by hand: "), "{patch}");
    };
    assert!(used(CALL, "ADD(a);\n    ADD(b);").contains("while (0)"));
    // A jump out of the loop around it.
    let leaves = format!("if (done) break; {CALL}");
    left(
        &leaves,
        "while (n--) {\n        ADD(a);\n        ADD(b);\n    }",
    );
    // What is declared in it is used behind it, by its name or through a pointer.
    let declares = format!("int first = {CALL}");
    left(&declares, "ADD(a);\n    done = first;");
    let declares = format!("int number = 0; kept = &number; {CALL}");
    left(&declares, "ADD(a);\n    done = *kept;");
    let literal = format!("kept = (int[]){{1, 2}}; {CALL}");
    left(&literal, "ADD(a);\n    ADD(b);\n    done = *kept;");
    // One of two statements belongs to the `if`.
    let two = format!("count++; {CALL}");
    left(&two, "ADD(a);\n    if (n)\n        ADD(b);");
    // A value.
    left(CALL, "done = ADD(a);\n    ADD(b);");
    left(CALL, "if (ADD(a) < 0)\n        done = 1;\n    ADD(b);");
    left(CALL, "ADD(a) + 1;\n    ADD(b);");
}

/// The variable has one name in all functions.
#[test]
fn a_name_that_one_function_has_is_not_taken_in_another() {
    let text = |name: &str| {
        let other = format!("int other(PyObject *dict, PyObject *{name})\n{{\n    ADD({name});\n");
        format!(
            "#include <Python.h>
#define ADD(key) {CALL}
int add(PyObject *value);
int one(PyObject *dict, PyObject *a)
{{
    ADD(a);
    return 0;
}}
{other}    return 0;
}}
"
        )
    };
    let changed = patch(&[("m.c", &text("b"))]);
    assert!(changed.contains("while (0)"), "{changed}");
    let left = patch(&[("m.c", &text("value"))]);
    assert!(!left.contains("+++ b/"), "{left}");
}
