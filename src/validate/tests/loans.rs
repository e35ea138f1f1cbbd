//! Structs of a caller that own what another function stores in them.

use super::wrong;

const FILLED: &str = r#"
typedef struct { PyObject *tag, *name; } Filter;
typedef struct { Filter filter; int n; } Args;
static int fill(PyObject *d, Filter *f) {
    PyObject *v = PyDict_GetItemString(d, "tag");
    if (v) f->tag = v;
    return 0;
}
static int g(PyObject *d) {
    Args a;
    memset(&a, 0, sizeof(a));
    if (fill(d, &a.filter) < 0) return -1;
    run(&a);
    return 1;
}
"#;
const STRONG: (&str, &str) = (
    r#"PyObject *v = PyDict_GetItemString(d, "tag");"#,
    r#"PyObject *v; if (PyDict_GetItemStringRef(d, "tag", &v) < 0) PyErr_Clear();"#,
);
const FAILED: (&str, &str) = ("return -1;", "{ Py_XDECREF(a.filter.tag); return -1; }");
const DONE: (&str, &str) = ("return 1;", "Py_XDECREF(a.filter.tag); return 1;");

/// What is wrong with the change of [`FILLED`] in which `old` is `new`.
fn with(old: &str, new: &str) -> Vec<String> {
    let text = FILLED.replace(old, new);
    assert_ne!(text, FILLED);
    wrong(&text, &[STRONG, FAILED, DONE])
}

#[test]
fn each_field_is_released_once() {
    assert_eq!(wrong(FILLED, &[STRONG, FAILED, DONE]), [""; 0]);
    let not_once = ["in `g`, `a` is not released exactly once on every path"];
    assert_eq!(wrong(FILLED, &[STRONG, FAILED]), not_once);
    assert_eq!(wrong(FILLED, &[STRONG, DONE]), not_once);
    let twice = ("run(&a);", "run(&a); Py_XDECREF(a.filter.tag);");
    assert_eq!(wrong(FILLED, &[STRONG, FAILED, twice, DONE]), not_once);
    let early = (
        "return -1;",
        "{ Py_XDECREF(a.filter.tag); return -1; } Py_XDECREF(a.filter.tag);",
    );
    assert_eq!(wrong(FILLED, &[STRONG, early]), not_once);
}

#[test]
fn the_struct_begins_empty() {
    let not_once = ["in `g`, `a` is not released exactly once on every path"];
    assert_eq!(with("    memset(&a, 0, sizeof(a));\n", ""), not_once);
    assert_eq!(with("memset(", "if (d) memset("), not_once);
    assert_eq!(with("if (fill", "while (d) if (fill"), not_once);
    assert_eq!(
        with(
            "Args a;\n    memset(&a, 0, sizeof(a));",
            "Args a = {{NULL}};"
        ),
        not_once
    );
    assert_eq!(
        with("Args a;\n    memset(&a, 0, sizeof(a));", "Args a = {0};"),
        [""; 0]
    );
}

#[test]
fn nobody_else_has_a_part_in_it() {
    let more = |code: &str| with("static int g", &format!("{code}\nstatic int g"));
    assert_eq!(
        more("static int h(PyObject *d) { Filter f; return fill(d, &f); }"),
        ["in `g`, `a` is filled by a function with other callers"]
    );
    assert_eq!(
        more("typedef int (*Fill)(PyObject *, Filter *); Fill pointer = fill;"),
        ["in `g`, `a` is filled by a function with other callers"]
    );
    let touched = ["in `g`, `a` is set or counted elsewhere as well"];
    assert_eq!(more("static void h(Filter *f) { f->tag = NULL; }"), touched);
    assert_eq!(
        more("static void h(Filter *f) { Py_CLEAR(f->tag); }"),
        touched
    );
    assert_eq!(
        more("static void h(Args *a, Filter *f) { a->filter = *f; }"),
        touched
    );
    assert_eq!(more("static void h(Filter *f) { show(f->tag); }"), [""; 0]);
    assert_eq!(
        more("static void h(Foo *f) { Py_CLEAR(get(f)->tag); }"),
        touched
    );
}

#[test]
fn the_fields_get_new_references_only() {
    let other = ["in `g`, `a` gets something else than new references"];
    assert_eq!(with("if (v) f->tag = v;", "f->tag = v ? v : d;"), other);
    assert_eq!(with("return 0;", "if (!v) f->tag = d; return 0;"), other);
    assert_eq!(with("return 0;", "if (v) f->tag = NULL; return 0;"), other);
    assert_eq!(
        with("if (v) f->tag = v;", "if (!v) v = d; f->tag = v;"),
        other
    );
    assert_eq!(
        with("if (v) f->tag = v;", "if (v) f->name = v;"),
        ["in `g`, `a` is not filled by one function"]
    );
}
