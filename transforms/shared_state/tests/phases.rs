//! What writes a static variable, and when.

use super::variable;

#[test]
fn a_type_that_a_format_asks_for_is_read() {
    let parsed = |format: &str| {
        variable(&format!(
            "typedef struct {{ PyHeapTypeObject super; int extra; }} Meta;
static Meta type;
static PyObject *f(PyObject *self, PyObject *args)
{{
    PyObject *w;
    return PyArg_ParseTuple(args, \"{format}\", &type, &w) ? w : NULL;
}}
"
        ))
    };
    assert_eq!(parsed("O!:f"), "");
    let said = parsed("ii");
    assert!(said.contains("`type`"), "{said}");
}

#[test]
fn the_child_of_a_fork_has_one_thread() {
    let registered = |call: &str, more: &str| {
        variable(&format!(
            "static int pid;
static void note(void) {{ pid = getpid(); }}
static int setup(PyObject *m) {{ return {call}; }}
static PyObject *f(PyObject *self, PyObject *unused)
{{
    {more}
    return PyLong_FromLong(pid);
}}
"
        ))
    };
    assert_eq!(registered("pthread_atfork(NULL, NULL, note)", ""), "");
    assert_eq!(registered("pthread_atfork(0, 0, &note)", ""), "");
    for (call, more) in [
        ("pthread_atfork(note, NULL, NULL)", ""),
        ("pthread_atfork(NULL, note, note)", ""),
        ("pthread_atfork(NULL, NULL, note)", "note();"),
        ("pthread_atfork(NULL, NULL, note)", "later(note);"),
        ("atexit(note)", "later(note);"),
    ] {
        let said = registered(call, more);
        assert!(said.contains("`pid`"), "{call} {more}: {said}");
    }
}
