//! Static variables that get references of their own.

use super::wrong;

const STATE: &str = "
static struct state { PyObject *spawn; } state;
static PyObject *last;
static PyObject *f(PyObject *l) {
    state.spawn = PyList_GetItem(l, 0);
    last = PyList_GetItem(l, 1);
    return PyObject_CallNoArgs(state.spawn);
}
";
const SPAWN: (&str, &str) = (
    "state.spawn = PyList_GetItem(l, 0)",
    "Py_XSETREF(state.spawn, PyList_GetItemRef(l, 0))",
);
const LAST: (&str, &str) = (
    "last = PyList_GetItem(l, 1)",
    "Py_XSETREF(last, PyList_GetItemRef(l, 1))",
);

#[test]
fn a_variable_that_nothing_else_counts_may_keep_a_reference() {
    assert_eq!(wrong(STATE, &[SPAWN, LAST]), [""; 0]);
}

#[test]
fn a_variable_that_something_else_sets_or_counts_may_not() {
    let set = ["`state.spawn` is also set or counted elsewhere"];
    for other in [
        "static void g(PyObject *v) { state.spawn = v; }",
        "static void g(void) { Py_DECREF(state.spawn); }",
        "static void g(void) { Py_CLEAR(state.spawn); }",
        "static void g(void) { reset(&state); }",
        "static PyObject **all[] = {&state.spawn};",
    ] {
        assert_eq!(
            wrong(&format!("{STATE}{other}\n"), &[SPAWN]),
            set,
            "{other}"
        );
    }
    let twice = STATE.replace(
        "    return",
        "    state.spawn = PyList_GetItem(l, 2);\n    return",
    );
    assert_eq!(wrong(&twice, &[SPAWN]), set);
}
