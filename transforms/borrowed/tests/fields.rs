//! Pointers into the object that fields of the function's own structs hold.

use super::super::list_item::BORROWED_LIST_ITEM;
use crate::testing::{report, run};

const STRUCTS: &str = r#"#include <stddef.h>
typedef struct { const void *src; size_t size; size_t pos; } in_buffer;
typedef struct { const char *start; const char *token; } lexer;
typedef union { const char *text; size_t number; } either;
"#;

/// A function over all `chunks`, with this in its loop behind the lookup of a `chunk`.
fn over(declarations: &str, pass: &str) -> String {
    format!(
        "{STRUCTS}static int f(PyObject *chunks)\n{{\n    PyObject *chunk;\n    char *data;\n    Py_ssize_t size, k;\n{declarations}    for (k = 0; k < PyList_Size(chunks); k++) {{\n        chunk = PyList_GetItem(chunks, k);\n        if (chunk == NULL)\n            return -1;\n{pass}    }}\n    return 0;\n}}\n"
    )
}

/// What becomes of the lookup in such a function.
fn outcome(declarations: &str, pass: &str) -> String {
    let report = report(&BORROWED_LIST_ITEM, &over(declarations, pass));
    report.lines().last().unwrap_or_default().trim().to_owned()
}

#[test]
fn overwritten_in_each_pass() {
    insta::assert_snapshot!(run(&[&BORROWED_LIST_ITEM], &over("    in_buffer in;\n", r#"
        if (!PyBytes_Check(chunk)) {
            PyErr_SetString(PyExc_TypeError, "no bytes");
            return -1;
        }
        PyBytes_AsStringAndSize(chunk, &data, &size);
        in.src = data;
        in.size = size;
        in.pos = 0;
        if (step(&in) < 0)
            return -1;
"#)), @r#"
        @@
             in_buffer in;
             for (k = 0; k < PyList_Size(chunks); k++) {
        -        chunk = PyList_GetItem(chunks, k);
        +        chunk = PyList_GetItemRef(chunks, k);
                 if (chunk == NULL)
                     return -1;
         
                 if (!PyBytes_Check(chunk)) {
        +            Py_DECREF(chunk);
                     PyErr_SetString(PyExc_TypeError, "no bytes");
                     return -1;
        @@
                 in.size = size;
                 in.pos = 0;
        -        if (step(&in) < 0)
        +        if (step(&in) < 0) {
        +            Py_DECREF(chunk);
                     return -1;
        +        }
        +        Py_DECREF(chunk);
             }
             return 0;
        "#);
}

const BY_HAND: &str =
    "by hand: take the reference in `chunk` on all paths (only some paths own it)";
const SAFE: &str = "safe: take a strong reference (`PyList_GetItem` → `PyList_GetItemRef`)";

#[test]
fn what_is_left_in_a_field_is_needed_as_long_as_it_may_be_read() {
    let taken =
        "        if (PyBytes_AsStringAndSize(chunk, &data, &size) < 0)\n            return -1;\n";
    for (declaration, pass) in [
        // The pointer of the pass before.
        ("in_buffer in;", "step(&in); in.src = data;"),
        (
            "in_buffer in;",
            "if (size > 3) in.src = data; else in.pos = 0; step(&in);",
        ),
        // Another field may have got the pointer.
        (
            "lexer lexer;",
            "lexer.start = data; next_token(&lexer); puts(lexer.token);",
        ),
        ("unknown in;", "in.src = data; step(&in);"),
        // The fields of a union are one.
        (
            "either either;",
            "if (either.number) other(1); either.text = data;",
        ),
    ] {
        let pass = format!("{taken}        {pass}\n");
        assert_eq!(
            outcome(&format!("    {declaration}\n"), &pass),
            BY_HAND,
            "{pass}"
        );
    }
    let pass = "        in.src = PyUnicode_AsUTF8(chunk); step(&in); in.pos = 0; puts(in.src);\n";
    assert_eq!(outcome("    in_buffer in;\n", pass), SAFE);
}

#[test]
fn a_call_that_may_fail_unseen_overwrites_nothing() {
    let call = "        PyBytes_AsStringAndSize(chunk, &data, &size);\n        puts(data);\n";
    let checked = |what: &str| {
        let pass = format!("        if (!PyBytes_Check({what}))\n            return -1;\n{call}");
        outcome("", &pass)
    };
    assert_eq!(outcome("", call), BY_HAND);
    assert_eq!(checked("chunks"), BY_HAND);
    assert_eq!(checked("chunk"), SAFE);
    let asked = |left: &str| {
        let test = "        if (PyBytes_AsStringAndSize(chunk, &data, &size)";
        outcome("", &format!("{test} {left};\n        puts(data);\n"))
    };
    assert_eq!(asked("< 0) return -1"), SAFE);
    assert_eq!(asked("== -1) return -1"), SAFE);
    assert_eq!(asked("< 0) PyErr_Clear()"), BY_HAND);
    assert_eq!(asked("== 0) return puts(data)"), BY_HAND);
}

#[test]
fn a_pointer_to_the_struct_reads_its_fields() {
    insta::assert_snapshot!(run(&[&BORROWED_LIST_ITEM], &format!(r#"{STRUCTS}
static int f(PyObject *list)
{{
    in_buffer in;
    in_buffer *input = &in;
    PyObject *v = PyList_GetItem(list, 0);
    if (v == NULL)
        return -1;
    in.src = PyUnicode_AsUTF8(v);
    PyList_SetSlice(list, 0, 1, NULL);
    return step(input);
}}
"#)), @"
        @@
             in_buffer in;
             in_buffer *input = &in;
        -    PyObject *v = PyList_GetItem(list, 0);
        +    PyObject *v = PyList_GetItemRef(list, 0);
        +    int result;
             if (v == NULL)
                 return -1;
             in.src = PyUnicode_AsUTF8(v);
             PyList_SetSlice(list, 0, 1, NULL);
        -    return step(input);
        +    result = step(input);
        +    Py_DECREF(v);
        +    return result;
         }
        ");
}

#[test]
fn what_is_read_out_of_text_is_no_pointer_into_the_object() {
    let declarations = "    struct node *saved, *node = made(chunks);\n";
    let copied = |pass: &str| outcome(declarations, &format!("        {pass}\n"));
    for pass in [
        "data = PyBytes_AsString(chunk); node->next = ((struct node *)(data + 8))->next;",
        "data = PyBytes_AsString(chunk); saved = (struct node *)data; node->pair = saved->pair;",
    ] {
        assert_eq!(copied(pass), SAFE, "{pass}");
    }
    for pass in [
        "data = PyBytes_AsString(chunk); node->next = (struct node *)(data + 8);",
        "node->next = ((Node *)chunk)->next;",
        "saved = size ? PyBytes_AsString(chunk) : ((Node *)chunk)->saved; node->next = saved->next;",
    ] {
        let outcome = copied(pass);
        assert!(outcome.starts_with("by hand: "), "{pass} {outcome}");
    }
}
