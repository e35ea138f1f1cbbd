//! Exits that leave something with the caller, who takes a failure to mean that there is nothing.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::decided::{all, asks_for_state_only, findings};

const HELPERS: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
typedef struct { PyObject *map; char *text; int fd; int mode; } Out;
typedef struct { PyObject_HEAD PyObject *map; char *text; int mode; } Thing;
static Out shared;
static PyObject *cache;
static int open_it(void) { return open("/dev/null", O_RDONLY); }
static int count_it(Out *out) { return out->mode; }
static int set_up(Out *out) { out->map = PyDict_New(); return out->map ? 0 : -1; }
static void tear_down(void) { Py_CLEAR(shared.map); }
"#;

/// What becomes of a lookup behind these steps.
fn behind(steps: &str) -> String {
    all(&format!(
        "{HELPERS}
static int f(PyObject *list, PyObject *key, Out *out, PyObject **one, int *fd, char **text,
             Py_buffer *view, Thing *self)
{{
    PyObject *item;
    if (!PyList_Check(list)) {{ PyErr_SetString(PyExc_TypeError, \"list\"); return -1; }}
    {steps}
    item = PyList_GET_ITEM(list, 0);
    out->mode = PyUnicode_Check(item);
    return 0;
}}
"
    ))
}

fn asks(gives: &str) -> String {
    format!(
        "review in `f`, {gives} (line 18) need not be undone at the new error exit (the function could not leave here before)"
    )
}

#[test]
fn a_test_of_what_is_given_is_no_exit_with_it() {
    let fail = "{ PyErr_NoMemory(); return -1; }";
    for (steps, gives) in [
        (
            "*one = PyObject_Repr(key); if (!*one) return -1;",
            "`*one = PyObject_Repr(key)`",
        ),
        (
            "*one = key; Py_INCREF(*one); if (*one == NULL) return -1;",
            "`*one = key`",
        ),
        (
            &format!("*text = malloc(10); if (*text == NULL) {fail}"),
            "`*text = malloc(10)`",
        ),
        (
            &format!("if (!(out->text = malloc(10))) {fail}"),
            "`out->text = malloc(10)`",
        ),
        (
            &format!("char *made = malloc(10); *text = made; if (!made) {fail}"),
            "`*text = made`",
        ),
        (
            &format!("*fd = open(\"/dev/null\", O_RDONLY); if (*fd < 0) {fail}"),
            "`*fd = open(\"/dev/null\", O_RDONLY)`",
        ),
        (
            &format!("out->fd = open_it(); if (out->fd < 0) {fail}"),
            "`out->fd = open_it()`",
        ),
        (
            "if (PyObject_GetBuffer(key, view, PyBUF_SIMPLE) < 0) return -1;",
            "`PyObject_GetBuffer(key, view, PyBUF_SIMPLE)`",
        ),
        (
            "int status = set_up(out); if (status < 0) return -1;",
            "`set_up(out)`",
        ),
        (
            "*one = PyObject_Repr(key); if (PyErr_Occurred()) return -1;",
            "`*one = PyObject_Repr(key)`",
        ),
        (
            "shared.map = PyDict_New(); if (!shared.map) return -1;",
            "`shared.map = PyDict_New()`",
        ),
    ] {
        assert_eq!(behind(steps), asks(gives), "{steps}");
    }
}

#[test]
fn what_an_exit_shows() {
    let made = "out->map = PyDict_New(); if (!out->map) return -1;";
    // It leaves the same with the caller.
    let leaves = format!("{made} if (PyDict_SetItem(out->map, key, key) < 0) return -1;");
    assert!(asks_for_state_only(&behind(&leaves)));
    // So does one that releases the item since.
    let looped = format!(
        "{made} for (int i = 0; i < 3; i++) {{ item = PyList_GET_ITEM(list, i); \
         if (PyDict_SetItem(out->map, item, key) < 0) return -1; }}"
    );
    assert!(asks_for_state_only(&behind(&looped)));
    // It is about another thing, of which there is nothing there.
    let other = format!("{made} if (!(*one = PyDict_New())) return -1;");
    assert_eq!(behind(&other), asks("`*one = PyDict_New()`"));
    let releases = format!(
        "{made} if (!(out->text = malloc(3))) {{ Py_DECREF(out->map); PyErr_NoMemory(); return -1; }}"
    );
    // The new exit releases the map as well, and nobody the text.
    assert_eq!(behind(&releases), asks("`out->text = malloc(3)`"));
    let checked = format!(
        "{made} if (!PyUnicode_Check(key)) {{ Py_CLEAR(out->map); PyErr_NoMemory(); return -1; }}"
    );
    assert!(asks_for_state_only(&behind(&checked)));
}

#[test]
fn what_is_no_gift() {
    let made = "PyDict_New(); if (!";
    for steps in [
        // An object releases what it holds.
        &format!("self->map = {made}self->map) return -1;"),
        // The function keeps it for the next call.
        &format!("if (cache == NULL) {{ cache = {made}cache) return -1; }}"),
        // Nobody ever releases it.
        &format!("cache = {made}cache) return -1;"),
        // What was there before is released here: the caller releases the last one some time.
        &format!("Py_XDECREF(out->map); out->map = {made}out->map) return -1;"),
        // It is gone by then.
        &format!("*one = {made}*one) return -1; Py_CLEAR(*one);"),
        // The caller had it before, if smaller.
        "char *more = realloc(*text, 9); if (!more) return -1; *text = more;",
        // These are numbers.
        "out->mode = count_it(out); if (out->mode < 0) return -1;",
        "*fd = PyObject_IsTrue(key); if (*fd < 0) return -1;",
        // It is the caller's.
        "*one = key; if (*one == NULL) return -1;",
    ] {
        assert!(asks_for_state_only(&behind(steps)), "{steps}");
    }
}

#[test]
fn an_exit_that_only_asks_whether_there_is_a_key() {
    let found = findings(
        "#include <Python.h>
static int f(PyObject *dict, PyObject **one, int *mode)
{
    if (!PyDict_Check(dict)) { PyErr_SetString(PyExc_TypeError, \"dict\"); return -1; }
    *one = PyDict_New();
    if (*one == NULL) return -1;
    *mode = PyDict_GetItemString(dict, \"mode\") != NULL;
    return 0;
}
",
        "UG102",
    );
    // What the caller got would be lost by an exit: the error is reported.
    let [found] = &found[..] else {
        panic!("{} findings", found.len());
    };
    let outcome = &found["outcome"];
    assert_eq!(outcome["confidence"], "safe");
    assert!(
        outcome["edits"]
            .to_string()
            .contains("PyErr_WriteUnraisable")
    );
}

#[test]
fn memory_of_two_names() {
    let said = |made: &str, end: &str| {
        all(&format!(
            "{HELPERS}
static PyObject *f(PyObject *self, PyObject *list)
{{
    PyObject *item, *result;
    if (!PyList_Check(list)) {{ PyErr_SetString(PyExc_TypeError, \"list\"); return NULL; }}
    {made}
    Py_INCREF(list);
    it->map = list;
    item = PyList_GET_ITEM(list, 0);
    result = PyBool_FromLong(PyUnicode_Check(item));
    {end}
    return result;
}}
"
        ))
    };
    let own = "Out pair, *it = &pair;";
    let memory =
        "Out *pair = PyMem_Malloc(sizeof(Out)), *it = pair; if (!it) return PyErr_NoMemory();";
    assert_eq!(
        said(own, "Py_DECREF(pair.map);"),
        "review in `f`, `Py_DECREF(pair.map)` (line 22) is not needed if the item no longer exists"
    );
    assert_eq!(
        said(memory, "Py_DECREF(pair->map); PyMem_Free(pair);"),
        "review in `f`, `Py_DECREF(pair->map)` (line 22) is not needed if the item no longer exists"
    );
    assert!(asks_for_state_only(&said(own, "free(pair.text);")));
}
