//! References of new variables beside counts that the code leaves on the object.

use super::wrong;

const GHOST: &str = "
static int f(PyObject *d, PyObject *k, int ghost) {
    PyObject *v;
    v = PyDict_GetItemWithError(d, k);
    if (v == NULL) return -1;
    if (ghost) Py_INCREF(v);
    look(v);
    return PyDict_DelItem(d, k);
}
";
const LOOKUP: (&str, &str) = (
    "v = PyDict_GetItemWithError(d, k);",
    "PyObject *own; PyDict_GetItemRef(d, k, &own); v = own;",
);

#[test]
fn a_count_for_somebody_else_is_none_of_the_new_reference() {
    let release = ("look(v);", "look(v); Py_DECREF(own);");
    assert_eq!(wrong(GHOST, &[LOOKUP, release]), [""; 0]);
}

#[test]
fn a_new_reference_that_is_not_released_is_found() {
    let leak = "in `f`, the reference from `PyDict_GetItemRef` is not released on every path";
    let old = format!("unknown: {leak}, as in the original code (line 8), and this is intended");
    assert_eq!(wrong(GHOST, &[LOOKUP]), [old]);
    let sometimes = ("look(v);", "look(v); if (!ghost) Py_DECREF(own);");
    assert_eq!(wrong(GHOST, &[LOOKUP, sometimes]), [leak]);
}

#[test]
fn a_count_that_goes_with_the_change_is_missed() {
    let text = GHOST.replace("look(v);", "look(v); Py_INCREF(v);");
    let gone = ("look(v); Py_INCREF(v);", "look(v); Py_DECREF(own);");
    assert_eq!(
        wrong(&text, &[LOOKUP, gone]),
        [
            "unknown: in `f`, the reference from `PyDict_GetItemRef` is not released on every \
             path, as in the original code (line 8), and this is intended"
        ]
    );
}

#[test]
fn a_use_behind_the_release_is_found() {
    let early = ("look(v);", "Py_DECREF(own); look(v);");
    assert_eq!(
        wrong(GHOST, &[LOOKUP, early]),
        ["in `f`, the reference from `PyDict_GetItemRef` is used after its release on some path"]
    );
}
