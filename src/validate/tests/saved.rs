//! Exceptions that are put away for a lookup.

use super::wrong;

const LOOKUP: &str = "
static int f(PyObject *d, PyObject *k) {
    PyObject *v;
    v = PyDict_GetItem(d, k);
    if (!v) return -1;
    use(v);
    return 0;
}
";
const DECLARED: (&str, &str) = ("    PyObject *v;", "    PyObject *v, *exc;");
const RELEASE: (&str, &str) = ("use(v);", "use(v); Py_DECREF(v);");
const LOST: &str = "in `f`, a saved exception is not restored after the lookup";

/// What is wrong with these statements in the place of the lookup.
fn with(statements: &str) -> Vec<String> {
    let lookup = ("v = PyDict_GetItem(d, k);", statements);
    wrong(LOOKUP, &[DECLARED, lookup, RELEASE])
}

#[test]
fn it_comes_back_behind_the_lookup() {
    let lookup = "(void)PyDict_GetItemRef(d, k, &v);";
    let save = "exc = PyErr_GetRaisedException();";
    let restore = "PyErr_SetRaisedException(exc);";
    assert_eq!(with(&format!("{save} {lookup} {restore}")), [""; 0]);
    let (test, report) = (
        "if (PyDict_GetItemRef(d, k, &v) < 0)",
        "PyErr_WriteUnraisable(NULL);",
    );
    assert_eq!(with(&format!("{save} {test} {report} {restore}")), [""; 0]);
    for statements in [
        format!("{save} {lookup}"),
        format!("{save} {lookup} Py_XDECREF(exc);"),
        format!("{lookup} {save} {restore}"),
        format!("{save} {lookup} {restore} {restore}"),
        format!("{save} {save} {lookup} {restore}"),
        format!("{save} {lookup} log_it(d); {restore}"),
        format!("{save} {lookup} exc = NULL; {restore}"),
        format!("{save} {lookup} PyErr_SetRaisedException(k);"),
        format!("{save} if (PyDict_GetItemRef(d, k, &v) < 0) return -1; {restore}"),
        format!("{save} {lookup} if (v) {{ {restore} }}"),
        format!("{save} {test} {report}"),
        format!("{save} {test} {{ {report} {restore} }}"),
        format!("{save} {report} {lookup} {restore}"),
    ] {
        let found = with(&statements);
        assert!(found.contains(&LOST.to_owned()), "{statements}: {found:?}");
    }
}

#[test]
fn nothing_else_runs_meanwhile() {
    let around = |key: &str| {
        with(&format!(
            "exc = PyErr_GetRaisedException(); (void)PyDict_GetItemRef(d, {key}, &v); \
             PyErr_SetRaisedException(exc);"
        ))
    };
    assert_eq!(around("(PyObject *)Py_TYPE(k)"), [""; 0]);
    assert_eq!(around("make_key(k)"), [LOST]);
}

#[test]
fn an_item_of_a_list_is_a_lookup() {
    const LOOP: &str = "
static void f(PyObject *d, int n) {
    for (int i = 0; i < n; i++) {
        PyObject *v = PyList_GET_ITEM(d, i);
        use(v);
    }
}
";
    let with = |behind: &str| {
        let lookup = format!(
            "PyObject *exc = PyErr_GetRaisedException();
             PyObject *v = PyList_GetItemRef(d, i);
             {behind} if (!v) break;"
        );
        let lookup = ("PyObject *v = PyList_GET_ITEM(d, i);", &*lookup);
        wrong(LOOP, &[lookup, RELEASE])
    };
    assert_eq!(with("PyErr_SetRaisedException(exc);"), [""; 0]);
    for behind in ["", "log_it(d); PyErr_SetRaisedException(exc);"] {
        let found = with(behind);
        assert!(found.contains(&LOST.to_owned()), "{behind}: {found:?}");
    }
}

#[test]
fn what_python_calls_with_an_exception_puts_it_away() {
    let with = |begins: &str, behind: &str, lookup: &str| {
        let text = format!(
            "
static void f(PyObject *o) {{
    PyObject *v;
    {begins}
    v = PyDict_GetItem(cache, key);
    use(v);
}}
{behind}
"
        );
        let lookup = ("v = PyDict_GetItem(cache, key);", lookup);
        let release = ("use(v);", "use(v); Py_XDECREF(v);");
        wrong(&text, &[DECLARED, lookup, release])
    };
    let bare = "if (PyDict_GetItemRef(cache, key, &v) < 0) PyErr_WriteUnraisable(NULL);";
    let kept = format!("exc = PyErr_GetRaisedException(); {bare} PyErr_SetRaisedException(exc);");
    let unkept = ["`f` may be called with an exception set, which a lookup does not keep"];
    let slot = |name: &str| format!("static PyType_Slot slots[] = {{{{{name}, f}}, {{0, NULL}}}};");
    let capsule =
        "PyObject *g(void *p) { return PyCapsule_New(p, NULL, (PyCapsule_Destructor)f); }";
    for behind in [&slot("Py_tp_dealloc"), &slot("Py_tp_finalize"), capsule] {
        assert_eq!(with("", behind, bare), unkept, "{behind}");
        assert_eq!(with("", behind, &kept), [""; 0], "{behind}");
        assert_eq!(with("PyErr_Clear();", behind, bare), [""; 0], "{behind}");
        assert_eq!(with("end(o);", behind, bare), [""; 0], "{behind}");
    }
    assert_eq!(with("", &slot("Py_tp_repr"), bare), [""; 0]);
}
