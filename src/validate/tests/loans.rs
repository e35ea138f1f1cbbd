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
static void run(Args *a) { show(a->filter.tag); }
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
        with("Args a;\n    memset(&a, 0, sizeof(a));", "Args a = {{d}};"),
        not_once
    );
    assert_eq!(
        with("Args a;\n    memset(&a, 0, sizeof(a));", "Args a = {0};"),
        [""; 0]
    );
    assert_eq!(
        with(
            "Args a;\n    memset(&a, 0, sizeof(a));",
            "Args a = {{NULL}, 0};"
        ),
        [""; 0]
    );
}

#[test]
fn nobody_else_has_a_part_in_it() {
    let more = |code: &str| with("static int g", &format!("{code}\nstatic int g"));
    assert_eq!(
        more("static int h(PyObject *d) { Filter f; return fill(d, &f); }"),
        ["in `g`, `a` is filled by a function that has other callers"]
    );
    assert_eq!(
        more("typedef int (*Fill)(PyObject *, Filter *); Fill pointer = fill;"),
        ["in `g`, `a` is filled by a function that has other callers"]
    );
    let touched = ["in `g`, `a` is also set or counted elsewhere"];
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
    let other = ["in `g`, `a` gets something other than new references"];
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

#[test]
fn nothing_is_written_by_way_of_the_address() {
    let changed = ["in `g`, `a` may be changed by code that gets its address"];
    let called = |call: &str| with("run(&a);", call);
    assert_eq!(called("unseen(&a);"), changed);
    assert_eq!(called("memcpy(&a, d, 8);"), changed);
    assert_eq!(called("void *p = &a.filter; memset(p, 0, 8);"), changed);
    assert_eq!(called("char *p = (char *)&a; p[0] = 0;"), changed);
    assert_eq!(called("a = empty;"), changed);
    assert_eq!(called("last = &a;"), changed);
    assert_eq!(called("static Args *p; p = &a;"), changed);
    assert_eq!(called("a.n = 1; set(&a.n);"), [""; 0]);
    let more = |code: &str, call: &str| {
        let text = FILLED.replace("run(&a)", call);
        let text = text.replace("static int g", &format!("{code}\nstatic int g"));
        wrong(&text, &[STRONG, FAILED, DONE])
    };
    let state = "typedef struct { Args *args; int tag; } State;
static int each(int n, void *p) { State *s = (State *)p; s->tag = n; return s->args->n; }
static void wipe(int n, void *p) { memset(p, 0, n); }
static void walk(int (*f)(int, void *), void *p) { f(1, p); }
static void start(void *p) { State s; s.args = (Args *)p; walk(each, &s); }";
    assert_eq!(more(state, "start(&a)"), [""; 0]);
    assert_eq!(more(state, "walk(each, &a)"), changed);
    assert_eq!(more(state, "walk(wipe, &a)"), changed);
    assert_eq!(more(state, "walk(unseen, &a)"), changed);
    assert_eq!(
        more(
            &state.replace("s->tag = n", "*s->args = empty"),
            "start(&a)"
        ),
        changed
    );
    assert_eq!(
        more(&state.replace("State s;", "static State s;"), "start(&a)"),
        changed
    );
    let head = "typedef struct { PyObject *first; } Head;
static void drop(Args *a) { Head *h = (Head *)a; h->first = NULL; }";
    assert_eq!(more(head, "drop(&a)"), changed);
    assert_eq!(
        more("static Args *same(Args *a) { return a; }", "run(same(&a))"),
        changed
    );
}

#[test]
fn the_thread_stays_attached() {
    let detached = [
        "in `g`, `a` may be released while the thread is detached, or its references may be counted",
    ];
    assert_eq!(
        with("run(&a);", "run(&a); PyGILState_Release(state);"),
        detached
    );
    assert_eq!(with("run(&a);", "PyEval_SaveThread(); run(&a);"), detached);
    assert_eq!(with("run(&a);", "count(Py_REFCNT(d));"), detached);
    let leave = "static void leave(void) { PyEval_SaveThread(); }\nstatic int g";
    assert_eq!(with("static int g", leave), detached);
    let both = "static void pause(void *s) { s = PyEval_SaveThread(); PyEval_RestoreThread(s); }";
    assert_eq!(
        with("static int g", &format!("{both}\nstatic int g")),
        [""; 0]
    );
    assert_eq!(with("{ show(a", "{ PyEval_SaveThread(); show(a"), detached);
}

#[test]
fn the_function_goes_on_to_take_what_it_took() {
    let text = FILLED.replace("if (v) f->tag = v;", "if (v) { Py_INCREF(v); f->tag = v; }");
    let taken = ("{ Py_INCREF(v); f->tag = v; }", "{ f->tag = v; }");
    let changed = wrong(&text, &[STRONG, taken, FAILED, DONE]);
    assert_eq!(
        changed,
        ["in `g`, `a` gets something other than new references"]
    );
}
