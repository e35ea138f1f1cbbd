//! What new exits leave behind.

use super::wrong;

const OWNER: &str = "
static PyObject *f(PyObject *l, Py_ssize_t n) {
    PyObject *out = PyList_New(n);
    if (!out) return NULL;
    PyObject *v = PyList_GET_ITEM(l, 0);
    use(v);
    return out;
}
";
const RELEASE: (&str, &str) = ("use(v);", "use(v); Py_DECREF(v);");

/// What is wrong if the function leaves so where the item is not there.
fn leaving(before: &str, exit: &str) -> Vec<String> {
    let strong = format!("PyList_GetItemRef(l, 0); if (!v) {{ {exit} }}");
    wrong(before, &[("PyList_GET_ITEM(l, 0);", &strong), RELEASE])
}

#[test]
fn an_exit_that_leaks_what_was_made_is_found() {
    assert_eq!(
        leaving(OWNER, "return NULL;"),
        ["in `f`, the reference from `PyList_New` is not released on every path"]
    );
    assert_eq!(leaving(OWNER, "Py_DECREF(out); return NULL;"), [""; 0]);
}

#[test]
fn an_exit_that_releases_too_much_is_found() {
    let before = OWNER.replace("PyObject *v", "Py_DECREF(out); PyObject *v");
    let before = before.replace("return out;", "return NULL;");
    assert_eq!(leaving(&before, "return NULL;"), [""; 0]);
    assert_eq!(
        leaving(&before, "Py_DECREF(out); return NULL;"),
        [
            "in `f`, the reference from `PyList_New` is released or given away once too often on some path"
        ]
    );
}

#[test]
fn what_leaked_before_is_no_matter_of_the_exit() {
    let before = OWNER.replace("use(v);", "use(v); if (n > 9) return NULL;");
    let released = ("use(v);", "use(v); Py_DECREF(v);");
    let strong = "PyList_GetItemRef(l, 0); if (!v) return NULL;";
    let changes = [("PyList_GET_ITEM(l, 0);", strong), released];
    assert_eq!(wrong(&before, &changes), [""; 0]);
}
