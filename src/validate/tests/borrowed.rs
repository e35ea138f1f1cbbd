//! Releases that came in, of what the function only borrows.

use super::wrong;

/// What is wrong if a function with these first lines and this end leaves so where the item is not
/// there; `o` is its own further on only.
fn leaving(first: &str, exit: &str) -> Vec<String> {
    let before = format!(
        "static PyObject *f(PyObject *self, PyObject *args) {{
    PyObject *r = NULL, *o = NULL, *v;
    {first}
    v = PyList_GET_ITEM(self, 0);
    use(v);
    o = PyObject_Repr(o);
    if (o == NULL)
        goto fail;
    r = PyObject_Str(o);
fail:
    Py_XDECREF(o);
    return r;
}}"
    );
    let strong = format!("PyList_GetItemRef(self, 0); if (!v) {{ {exit} }}");
    let changes = [
        ("PyList_GET_ITEM(self, 0);", &*strong),
        ("use(v);", "use(v); Py_DECREF(v);"),
    ];
    wrong(&before, &changes)
}

const LENT: &str = "in `f`, `o` is released where the function does not own its object";

#[test]
fn a_variable_that_borrows_first() {
    for first in [
        "o = PyTuple_GetItem(args, 0);",
        "if (!PyArg_ParseTuple(args, \"O\", &o)) return NULL;",
    ] {
        assert_eq!(leaving(first, "return NULL;"), [""; 0]);
        for exit in [
            "Py_DECREF(o); return NULL;",
            "Py_XDECREF(o); return NULL;",
            "Py_CLEAR(o); return NULL;",
            "Py_SETREF(o, NULL); return NULL;",
            "goto fail;",
        ] {
            assert_eq!(leaving(first, exit)[0], LENT, "{first} {exit}");
        }
    }
    assert_eq!(leaving("o = PyObject_Type(args);", "goto fail;"), [""; 0]);
    let counted = "o = PyTuple_GetItem(args, 0); Py_XINCREF(o);";
    assert_eq!(leaving(counted, "goto fail;"), [""; 0]);
}

#[test]
fn what_the_caller_passes() {
    let first = "o = args;";
    let of_args = LENT.replace("`o`", "`args`");
    assert_eq!(leaving(first, "return NULL;"), [""; 0]);
    assert_eq!(leaving(first, "goto fail;"), [&*of_args]);
    assert_eq!(leaving(first, "Py_DECREF(args); return NULL;"), [of_args]);
}

/// What is wrong if a function that releases its argument leaves so where the item is not there.
fn consuming(rest: &str, exit: &str) -> Vec<String> {
    let before = format!(
        "static int f(PyObject *l, PyObject *o) {{
    PyObject *v = PyList_GET_ITEM(l, 0);
    use(v);
    if (PyObject_SetAttr(l, l, o) < 0) {{
        Py_DECREF(o);
        return -1;
    }}
    {rest}
    return 0;
}}"
    );
    let strong = format!("PyList_GetItemRef(l, 0); if (!v) {{ {exit} }}");
    let changes = [
        ("PyList_GET_ITEM(l, 0);", &*strong),
        ("use(v);", "use(v); Py_DECREF(v);"),
    ];
    wrong(&before, &changes)
}

#[test]
fn what_the_caller_gives_away() {
    assert_eq!(
        consuming("Py_DECREF(o);", "Py_DECREF(o); return -1;"),
        [""; 0]
    );
    let at_success = "if (n) { Py_DECREF(o); return 1; }";
    let consuming = |exit| consuming(at_success, exit);
    assert_eq!(consuming("Py_DECREF(o); return -1;"), [""; 0]);
    assert_eq!(consuming("Py_DECREF(o); return 0;"), [LENT]);
}
