//! References that the original forgets as well.

use super::{STRONG, wrong};

const FORGETS: &str = "
static PyObject *f(PyObject *l, int n) {
    PyObject *v = PyList_GetItem(l, 0);
    Py_XINCREF(v);
    if (n > 1) return NULL;
    if (n < 0) { Py_XDECREF(v); return NULL; }
    return v;
}
";
const TAKEN: (&str, &str) = ("    Py_XINCREF(v);\n", "");
const LEAK: &str = "in `f`, the reference from `PyList_GetItemRef` is not released on every path";

#[test]
fn a_path_may_forget_what_it_forgot() {
    assert_eq!(wrong(FORGETS, &[STRONG, TAKEN]), [""; 0]);
    let mended = (
        "if (n > 1) return NULL;",
        "if (n > 1) { Py_XDECREF(v); return NULL; }",
    );
    assert_eq!(wrong(FORGETS, &[STRONG, TAKEN, mended]), [""; 0]);
    let declared = (
        "*v = PyList_GetItem(l, 0);\n",
        "*v;\n    v = PyList_GetItemRef(l, 0);\n",
    );
    assert_eq!(wrong(FORGETS, &[declared, TAKEN]), [""; 0]);
}

#[test]
fn a_path_that_released_may_not() {
    let release = ("Py_XDECREF(v); return NULL;", "return NULL;");
    assert_eq!(wrong(FORGETS, &[STRONG, TAKEN, release]), [LEAK]);
}

#[test]
fn a_path_that_took_none_may_not() {
    let before = FORGETS.replace("Py_XINCREF(v);", "if (n < 9) Py_XINCREF(v);");
    let taken = ("    if (n < 9) Py_XINCREF(v);\n", "");
    assert_eq!(
        wrong(&before, &[STRONG, taken]),
        [format!(
            "unknown: {LEAK}, as in the original code (line 5), and this is intended"
        )]
    );
}

#[test]
fn more_than_one_may_not_be_forgotten() {
    assert_eq!(wrong(FORGETS, &[STRONG]), [LEAK]);
}

#[test]
fn a_copy_of_a_list_may_be_forgotten_as_the_list_was() {
    let before = "
static int f(PyObject *l, int n) {
    PyObject *all = PySequence_Fast(l, \"\");
    if (all == NULL) return -1;
    if (n != PySequence_Fast_GET_SIZE(all)) return -1;
    Py_DECREF(all);
    return 0;
}
";
    let copied = (
        "PySequence_Fast(l,",
        "PyList_CheckExact(l) ? PyList_AsTuple(l) : PySequence_Fast(l,",
    );
    assert_eq!(wrong(before, &[copied]), [""; 0]);
    let release = ("    Py_DECREF(all);\n", "");
    assert_eq!(
        wrong(before, &[copied, release]),
        ["in `f`, the reference from `PyList_AsTuple` is not released on every path"]
    );
}
