//! Changes by hand, and what is not proven of them.

use std::collections::BTreeMap;

use super::Failure;
use super::original::Original;
use super::proof::{Author, failures};
use crate::edit::{Edit, apply};
use crate::ownership::summary::Summaries;
use crate::program::testing::with_program;
use crate::source::{ByteSpan, FileId};

const FILE: FileId = FileId(0);

/// What is wrong after each text was replaced by the other.
fn wrong(before: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let mut edits: Vec<Edit> = changes
        .iter()
        .map(|(old, new)| {
            let at = u32::try_from(before.find(old).expect("it is there")).expect("short");
            let end = at + u32::try_from(old.len()).expect("short");
            Edit::new(FILE, ByteSpan::new(at, end), new.as_bytes().into())
        })
        .collect();
    edits.sort_by_key(Edit::place);
    let applied = apply(before.as_bytes(), edits.iter());
    let after = String::from_utf8(applied.bytes.clone()).expect("text");
    let applied = BTreeMap::from([(FILE, applied)]);
    with_program(&[("a.c", before)], |original| {
        with_program(&[("a.c", &after)], |result| {
            let callees = Summaries::of_helpers(original);
            let original = Original::new(original, &callees);
            let found = failures(&original, result, &applied, Author::Rule);
            let reasons = found.into_iter().map(|failed| match failed.failure {
                Failure::Wrong(reason) => reason,
                Failure::Unknown(reason) => format!("unknown: {reason}"),
            });
            reasons.collect()
        })
    })
}

const HELPER: &str = "
static PyObject *find(PyObject *l) {
    if (!l) return Py_None;
    return PyList_GetItem(l, 0);
}
static int f(PyObject *l) { PyObject *v = find(l); if (!v) return -1; use(v); return 0; }
";
const STRONG: (&str, &str) = ("PyList_GetItem", "PyList_GetItemRef");
const NONE: (&str, &str) = ("return Py_None", "return Py_NewRef(Py_None)");
const RELEASE: (&str, &str) = ("use(v);", "use(v); Py_DECREF(v);");

#[test]
fn a_helper_and_its_callers_change_together() {
    assert_eq!(wrong(HELPER, &[STRONG, NONE, RELEASE]), [""; 0]);
}

#[test]
fn a_caller_that_releases_nothing_is_found() {
    assert_eq!(
        wrong(HELPER, &[STRONG, NONE]),
        ["in `f`, the reference from `find` is not released on every path"]
    );
}

#[test]
fn a_return_that_stays_borrowed_is_found() {
    assert_eq!(
        wrong(HELPER, &[STRONG, RELEASE]),
        ["`find` returns a new reference on some paths only"]
    );
}

#[test]
fn a_helper_may_keep_for_its_caller_what_it_released() {
    let made = "static PyObject *make(PyObject *d) {
        PyObject *v = PyList_New(0);
        if (v == NULL || PyDict_SetItem(d, d, v) < 0) { Py_XDECREF(v); return NULL; }
        Py_DECREF(v);
        return v;
    }
    static int f(PyObject *d) { PyObject *v = make(d); if (!v) return -1; use(v); return 0; }";
    let kept = ("Py_DECREF(v);\n        return v;", "return v;");
    assert_eq!(wrong(made, &[kept, RELEASE]), [""; 0]);
    assert_eq!(
        wrong(made, &[kept]),
        ["in `f`, the reference from `make` is not released on every path"]
    );
    let late = (
        "Py_DECREF(v);\n        return v;",
        "Py_INCREF(d); Py_DECREF(d); return v;",
    );
    assert_eq!(wrong(made, &[late, RELEASE]), [""; 0]);
}

/// What is wrong where the code takes a reference, runs `rest`, and does without its own.
fn stored(rest: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let text = format!(
        "static int f(Foo *self, PyObject *l) {{
            PyObject *v = PyList_GetItem(l, 0);
            if (v == NULL) return -1;
            Py_INCREF(v);
            {rest}
        }}"
    );
    let taken = [STRONG, ("Py_INCREF(v);\n", "\n")];
    wrong(&text, &[&taken, changes].concat())
}

#[test]
fn memory_that_got_no_reference_gets_none() {
    let lent = "self->last = v; Py_DECREF(v); return 0;";
    assert_eq!(stored(lent, &[]), [""; 0]);
    let released = ("self->last = v;", "self->last = v; Py_DECREF(v);");
    let too_often = [
        "in `f`, the reference from `PyList_GetItemRef` is released or given away once too often on some path",
    ];
    assert_eq!(stored("self->last = v; return 0;", &[released]), too_often);
    assert_eq!(stored(lent, &[released]), too_often);
    let some = "self->last = v; if (self->on) return 1; Py_DECREF(v); return 0;";
    let as_before = "unknown: in `f`, the reference from `PyList_GetItemRef` is released or given \
                     away once too often on some path, as in the original code (line 5), and this is intended";
    assert_eq!(stored(some, &[]), [as_before]);
}

#[test]
fn callers_that_are_not_known_are_doubted() {
    let before = format!("{HELPER}\nvoid *table[] = {{ find }};");
    assert_eq!(
        wrong(&before, &[STRONG, NONE, RELEASE]),
        ["`find` is passed on, so not all of its callers are known"]
    );
}

#[test]
fn a_helper_that_gave_new_references_needs_no_change_of_its_callers() {
    let before = "
static PyObject *find(PyObject *l) {
    PyObject *v = PyList_GetItem(l, 0);
    Py_XINCREF(v);
    return v;
}
static int f(PyObject *l) { PyObject *v = find(l); use(v); Py_XDECREF(v); return 0; }
";
    assert_eq!(wrong(before, &[STRONG, ("Py_XINCREF(v);", "")]), [""; 0]);
}

const BRANCHES: &str = "
static PyObject *f(PyObject *l, PyObject *d) {
    PyObject *v;
#ifdef A
    v = PyList_GetItem(l, 0);
#elif defined(B)
    v = PySequence_GetItem(l, 0);
#else
    v = d;
#endif
    if (!v) return NULL;
    use(v);
#if defined(B) && !defined(A)
    Py_DECREF(v);
#endif
    return PyObject_Str(l);
}
";
const TWICE: (&str, &str) = ("use(v);\n", "use(v);\n    Py_DECREF(v);\n");

#[test]
fn a_release_in_text_of_other_configurations_is_found() {
    assert_eq!(
        wrong(BRANCHES, &[STRONG, TWICE]),
        [
            "in `f`, `d` is released where the function does not own its object",
            "in `f`, the `Py_INCREF` and `Py_DECREF` calls for `v` do not balance as before where the branch at line 4 is not compiled",
            "in `f`, the `Py_INCREF` and `Py_DECREF` calls for `v` do not balance as before where the branch at line 6 is compiled"
        ]
    );
    let once = (
        "use(v);\n#if def",
        "use(v);\n#ifdef A\n    Py_DECREF(v);\n#endif\n#if def",
    );
    assert_eq!(wrong(BRANCHES, &[STRONG, once]), [""; 0]);
}

#[test]
fn a_reference_that_comes_and_goes_leaves_a_variable_lent() {
    let text = |counted: &str, released: &str| {
        format!(
            "
static int f(Box *box) {{
    PyObject *d = box->dict;
#ifdef A
    {counted}/*1*/
    visit(d);
    /*2*/
#endif
    use(d);
#ifdef A
    {released}
#endif
    return 0;
}}
"
        )
    };
    let release = ("/*2*/", "Py_DECREF(d);");
    let held = [("/*1*/", "Py_INCREF(d);"), release];
    assert_eq!(wrong(&text("", ""), &held), [""; 0]);
    // What the function counts itself is gone behind a release.
    let own = text("Py_INCREF(d);", "Py_DECREF(d);");
    let moved = [release, ("#ifdef A\n    Py_DECREF(d);", "#ifdef A\n    ")];
    let wrong = wrong(&own, &moved);
    assert!(
        wrong
            .iter()
            .any(|wrong| wrong.contains("where the branch at line 4 is compiled")),
        "{wrong:?}"
    );
}

#[test]
fn a_count_that_leaves_other_configurations_is_found() {
    let before = BRANCHES.replace("use(v);", "Py_INCREF(v);");
    let taken = ("    Py_INCREF(v);\n", "");
    assert_eq!(
        wrong(&before, &[STRONG, taken]),
        [
            "in `f`, the `Py_INCREF` and `Py_DECREF` calls for `v` do not balance as before where the branch at line 4 is not compiled",
            "in `f`, the `Py_INCREF` and `Py_DECREF` calls for `v` do not balance as before where the branch at line 6 is compiled"
        ]
    );
}

#[test]
fn configurations_that_differ_in_a_macro_are_told_apart() {
    let before = "
#ifdef A
#define IS_SHORT 0
static int g(int n) { return n; }
#else
#define IS_SHORT 1
#endif
static int f(PyObject *l, int n) {
    PyObject *v = NULL;
    if (IS_SHORT) {
        v = PyObject_Str(l);
        if (n) Py_DECREF(v);
    }
    v = PyList_GetItem(l, n);
    if (!v) return -1;
    use(v);
    return 0;
}
";
    let release = ("use(v);", "use(v); Py_DECREF(v);");
    assert_eq!(wrong(before, &[STRONG, release]), [""; 0]);
}

#[test]
fn a_release_of_what_another_branch_declares_is_found() {
    let before = "
static int f(PyObject *l) {
#ifdef A
    PyObject *v = PyList_GetItem(l, 0);
    if (!v) return -1;
    use(v);
#endif
    return use(l);
}
";
    let release = ("return use(l);", "Py_DECREF(v); return use(l);");
    assert_eq!(
        wrong(before, &[STRONG, release]),
        [
            "in `f`, `v` is not declared where it is used",
            "in `f`, `v` is declared only in other branches of an `#if`"
        ]
    );
}

#[test]
fn a_variable_is_declared_once() {
    let before = "
static int f(PyObject *l) {
    int n = 0;
#ifdef TRACE
    int m = 0;
#endif
    PyObject *v = PyList_GetItem(l, 0);
    if (!v) return -1;
    use(v);
    return n;
}
";
    let twice = [
        ("int n = 0;", "int n = 0; PyObject *w;"),
        ("int m = 0;", "int m = 0; PyObject *w;"),
    ];
    assert_eq!(wrong(before, &twice), ["in `f`, `w` is declared twice"]);
    assert_eq!(wrong(before, &twice[..1]), [""; 0]);
}

#[test]
fn a_release_of_what_another_branch_sets_is_found() {
    let before = "
static int f(PyObject *l, int n) {
    PyObject *v;
#ifdef A
    v = NULL;
    if (n) v = PyList_GetItem(l, 0);
#endif
    use(l);
    return 0;
}
";
    let release = ("use(l);", "use(l); Py_XDECREF(v);");
    let found = wrong(before, &[STRONG, release]);
    assert_eq!(
        found,
        [
            "in `f`, the `Py_INCREF` and `Py_DECREF` calls for `v` do not balance as before where the branch at line 4 is not compiled"
        ]
    );
}

const BUFFER: &str = "
typedef struct { char *data; char *more; } Buf;
static char *spare;
int f(Buf *b) {
    char *p = (char *)PyObject_Malloc(8);
    if (p == NULL) return -1;
    b->data = p;
    b->more = PyObject_Malloc(4);
    spare = NULL;
    return 0;
}
void g(Buf *c) { PyObject_Free(c->data); PyObject_FREE(c->more); c->more = NULL; }
";
const MALLOC: (&str, &str) = ("PyObject_Malloc(8)", "PyMem_Malloc(8)");

#[test]
fn a_buffer_moves_with_all_that_releases_it() {
    let free = ("PyObject_Free(c", "PyMem_Free(c");
    assert_eq!(wrong(BUFFER, &[MALLOC, free]), [""; 0]);
    assert_eq!(
        wrong(BUFFER, &[MALLOC]),
        ["memory that `PyMem_Malloc` allocates in `f` is passed to `PyObject_Free` in `g`"]
    );
    let release = ("PyObject_FREE", "PyMem_Free");
    assert_eq!(
        wrong(BUFFER, &[MALLOC, free, release]),
        ["memory that `PyObject_Malloc` allocates in `f` is passed to `PyMem_Free` in `g`"]
    );
}

#[test]
fn an_allocation_stays_one() {
    assert_eq!(
        wrong(BUFFER, &[("PyObject_Malloc(4)", "PyMem_Realloc(4)")])[0],
        "in `f`, `PyObject_Malloc` became `PyMem_Realloc`"
    );
}

#[test]
fn a_release_in_a_macro_is_seen() {
    let before = "
#define DROP(p) PyObject_Free(p)
void f(void) { char *p = PyObject_Malloc(8); use(p); DROP(p); }
";
    assert_eq!(
        wrong(before, &[MALLOC]),
        ["memory that `PyMem_Malloc` allocates in `f` is passed to `PyObject_Free` in `f`"]
    );
}

#[test]
fn a_mutex_that_came_in_is_unlocked_on_every_path() {
    let before = "
static PyMutex m;
static int f(int n) { if (n) { g(); if (n > 1) return -1; } return 0; }
";
    let lock = ("if (n) {", "PyMutex_Lock(&m); if (n) {");
    let unlock = (" return 0;", " PyMutex_Unlock(&m); return 0;");
    let early = (" return -1;", " { PyMutex_Unlock(&m); return -1; }");
    assert_eq!(wrong(before, &[lock, early, unlock]), [""; 0]);
    for changes in [&[lock, unlock][..], &[lock], &[unlock]] {
        assert_eq!(
            wrong(before, changes),
            ["in `f`, a path keeps a mutex locked, or unlocks it twice"]
        );
    }
}

const METHODS: &str = "
static PyObject *get(Box *self, PyObject *arg) { return use(self, arg); }
static PyObject *twice(Box *self, PyObject *arg) { return get(self, get(self, arg)); }
/* end */
";

/// What is wrong when the wrapper of `get` and of `twice` have these bodies.
fn split(calls: (&str, &str), get: &str) -> Vec<String> {
    let wrapper = |name: &str, body: &str| {
        format!(
            "static PyObject *{name}(Box *self, PyObject *arg) {{ PyObject *r; {body} return r; }}\n"
        )
    };
    let twice = "Py_BEGIN_CRITICAL_SECTION(self); r = twice_lock_held(self, arg); Py_END_CRITICAL_SECTION();";
    let wrappers = wrapper("get", get) + &wrapper("twice", twice);
    let changes = [
        ("get(Box", "get_lock_held(Box"),
        ("twice(Box", "twice_lock_held(Box"),
        calls,
        ("/* end */", &wrappers),
    ];
    wrong(METHODS, &changes)
}

const HELD: (&str, &str) = ("get(self, get(", "get_lock_held(self, get_lock_held(");

#[test]
fn halves_of_a_function_do_what_it_did() {
    let good =
        "Py_BEGIN_CRITICAL_SECTION(self); r = get_lock_held(self, arg); Py_END_CRITICAL_SECTION();";
    assert_eq!(split(HELD, good), [""; 0]);
    for (body, reason) in [
        (
            good.replace("arg)", "NULL)"),
            "`get` does not pass its arguments on to `get_lock_held`",
        ),
        (
            good.replace("self, arg", "arg, self"),
            "`get` does not pass its arguments on to `get_lock_held`",
        ),
        (
            good.replace("r = get", "r = NULL; get"),
            "`get` does not return the result of `get_lock_held`",
        ),
        (
            good.replace("r = ", "if (arg) r = "),
            "`get` does more than call `get_lock_held` in a critical section",
        ),
        (
            "r = get_lock_held(self, arg);".to_owned(),
            "`get` does more than call `get_lock_held` in a critical section",
        ),
    ] {
        assert_eq!(split(HELD, &body), [reason], "{body}");
    }
}

#[test]
fn a_wrapper_locks_the_dict_that_the_body_iterates_over() {
    let before = "
static int first(Box *self, PyObject *d, PyObject *e) { Py_ssize_t p = 0; return PyDict_Next(d, &p, NULL, NULL); }
/* end */
";
    let wrapped = |locked: &str| {
        let wrapper = format!(
            "static int first(Box *self, PyObject *d, PyObject *e) {{ int r; \
             Py_BEGIN_CRITICAL_SECTION({locked}); r = first_lock_held(self, d, e); \
             Py_END_CRITICAL_SECTION(); return r; }}\n"
        );
        let changes = [("first(", "first_lock_held("), ("/* end */", &*wrapper)];
        wrong(before, &changes)
    };
    assert_eq!(wrapped("d"), [""; 0]);
    assert_eq!(
        wrapped("e"),
        ["`first` locks another object than `first_lock_held` uses"]
    );
}

#[test]
fn a_body_is_called_where_its_object_is_locked() {
    let good =
        "Py_BEGIN_CRITICAL_SECTION(self); r = get_lock_held(self, arg); Py_END_CRITICAL_SECTION();";
    assert_eq!(
        split(("get(self, get(", "get_lock_held(arg, get("), good),
        ["`twice_lock_held` calls `get_lock_held` for an object that it has not locked"]
    );
}

#[test]
fn a_statement_that_comes_under_another_test_is_found() {
    let text = "
static int f(T *self, PyObject *l) {
    PyObject *v = PyList_GetItem(l, 0);
    if (v == NULL)
        return -1;
    else {
        /* own it */
        Py_INCREF(v);
    }
    Py_XDECREF(self->last);
    self->last = v;
    return 0;
}
";
    let block = "{\n        /* own it */\n        Py_INCREF(v);\n    }";
    assert_eq!(
        wrong(text, &[STRONG, (block, "")]),
        ["in `f`, the statement at line 10 moves into or out of a test or loop"]
    );
    assert_eq!(wrong(text, &[STRONG, (block, "{ }")]), [""; 0]);
    assert_eq!(wrong(text, &[STRONG, (block, ";")]), [""; 0]);
}

#[test]
fn a_brace_that_gets_lost_is_found() {
    let text = "
static int f(PyObject *l, int n) {
    PyObject *v = PyList_GetItem(l, 0);
    if (v == NULL)
        return -1;
    if (n) {
        n = 2;
    }
    return use(n);
}
";
    let lost = ("if (n) {", "if (n)");
    let found = wrong(text, &[STRONG, ("n = 2;", "n = 2; Py_DECREF(v);"), lost]);
    let wanted = "`f` ends at another place than before";
    assert!(found.iter().any(|it| it == wanted), "{found:?}");
}

mod acquired;
mod answered;
mod answers;
mod apart;
mod atomics;
mod borrowed;
mod cleared;
mod continued;
mod crowded;
mod forgotten;
mod kept;
mod kept_arguments;
mod left;
mod left_out;
mod lent;
mod loans;
mod locked;
mod made;
mod saved;
mod statics;
mod steps;
mod still;
mod taken;
mod unset;
