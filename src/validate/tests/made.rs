//! What a function makes where its lookup found nothing, in several configurations.

use super::wrong;

const MADE: &str = "
static int f(PyObject *d, PyObject *k) {
    PyObject *v;
#ifdef A
    show(d);
#endif
#ifndef B
    v = PyDict_GetItemWithError(d, k);
#else
    v = d;
#endif
    if (!v) {
        v = PyDict_New();
        PyDict_SetItem(d, k, v);
    }
    use(v);
    return 0;
}
";
const STRONG: (&str, &str) = (
    "v = PyDict_GetItemWithError(d, k);",
    "(void)PyDict_GetItemRef(d, k, &v);",
);
const RELEASE: (&str, &str) = ("use(v);", "use(v); Py_XDECREF(v);");

#[test]
fn a_reference_that_was_lost_may_be_released() {
    let text = MADE.replace("#ifndef B", "#if 1");
    assert_eq!(wrong(&text, &[STRONG, RELEASE]), [""; 0]);
    let twice = (
        "PyDict_SetItem(d, k, v);",
        "PyDict_SetItem(d, k, v); Py_DECREF(v);",
    );
    let wrong = wrong(&text, &[STRONG, twice, RELEASE]);
    assert!(
        wrong.iter().any(|it| it
            .contains("the reference from `PyDict_New` is released or given away once too often")),
        "{wrong:?}"
    );
}

#[test]
fn not_where_a_configuration_borrows() {
    let wrong = wrong(MADE, &[STRONG, RELEASE]);
    assert!(
        wrong.iter().any(|it| it
            .contains("the `Py_INCREF` and `Py_DECREF` calls for `v` do not balance as before")),
        "{wrong:?}"
    );
}
