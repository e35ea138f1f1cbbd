//! What new exits return, and what callers make of that.

use super::wrong;

/// A function that gives `result`, and a caller.
fn text(result: &str, caller: &str) -> String {
    format!(
        "
static {result} f(PyObject *l) {{
    PyObject *v = PyList_GET_ITEM(l, 0);
    use(v);
    return convert(l);
}}
static PyObject *g(PyObject *l) {{
    {caller}
    return l;
}}
"
    )
}

/// What is wrong with an exit that returns `value`.
fn with(result: &str, caller: &str, value: &str) -> Vec<String> {
    let lookup = format!("PyList_GetItemRef(l, 0); if (v == NULL) return {value};");
    let changes = [
        ("PyList_GET_ITEM(l, 0);", &*lookup),
        ("use(v);", "use(v); Py_DECREF(v);"),
    ];
    wrong(&text(result, caller), &changes)
}

#[test]
fn a_number_that_a_caller_takes_for_a_success_is_doubted() {
    let doubted = |value: &str| {
        [format!(
            "unknown: `g` treats the {value} that `f` returns there as a failure"
        )]
    };
    let negated = "if (!f(l)) return NULL;";
    assert_eq!(with("int", negated, "-1"), doubted("-1"));
    assert_eq!(with("int", negated, "0"), [""; 0]);
    let negative = "if (f(l) < 0) return NULL;";
    assert_eq!(with("int", negative, "-1"), [""; 0]);
    assert_eq!(with("int", negative, "0"), doubted("0"));
    assert_eq!(with("int", negative, "1"), doubted("1"));
}

#[test]
fn a_failure_that_a_caller_drops_is_doubted() {
    let doubted = |value: &str| {
        [format!(
            "unknown: `g` treats the {value} that `f` returns there as a failure"
        )]
    };
    assert_eq!(with("int", "f(l);", "-1"), doubted("-1"));
    assert_eq!(
        with("int", "use((PyObject *)(size_t)f(l));", "-1"),
        doubted("-1")
    );
    assert_eq!(
        with("int", "f(l); if (PyErr_Occurred()) return NULL;", "-1"),
        [""; 0]
    );
    assert_eq!(with("PyObject *", "f(l);", "NULL"), doubted("`NULL`"));
    assert_eq!(
        with("PyObject *", "if (f(l) == NULL) return NULL;", "NULL"),
        [""; 0]
    );
}

#[test]
fn an_object_is_no_error() {
    let caller = "return f(l);";
    assert_eq!(with("PyObject *", caller, "NULL"), [""; 0]);
    let doubted = ["unknown: `f` may return an object with an exception set"];
    assert_eq!(with("PyObject *", caller, "Py_NewRef(Py_None)"), doubted);
    assert_eq!(with("PyObject *", caller, "Py_True"), doubted);
}

/// What the variable holds that a label returns, and whether the exception is still there.
#[test]
fn what_a_label_returns() {
    let doubted = |ret: &str, made: &str, end: &str| {
        let code = format!(
            "
static {ret}f(PyObject *d, PyObject *l) {{
    int failed = 0, status = 0;
    {made}
    PyObject *v = PyList_GetItem(l, 0);
    if (v == NULL) goto out;
    failed = PyObject_IsTrue(v);
out:
    {end}
}}
static PyObject *g(PyObject *d, PyObject *l) {{ if (f(d, l) < 0) return NULL; Py_RETURN_NONE; }}
"
        );
        let strong = [
            ("PyList_GetItem", "PyList_GetItemRef"),
            (
                "failed = PyObject_IsTrue(v);",
                "failed = PyObject_IsTrue(v); Py_DECREF(v);",
            ),
            ("if (v == NULL) goto out;", "if (v == NULL) { goto out; }"),
        ];
        wrong(&code, &strong).join(" ")
    };
    let object = |end: &str| {
        let made = "PyObject *r = PyList_New(0); if (r == NULL) return NULL;";
        doubted("PyObject *", made, end)
    };
    let all = [
        object("return r;"),
        object("if (failed) Py_CLEAR(r); return r;"),
        object("if (PyErr_Occurred()) Py_CLEAR(r); return r;"),
        object("PyErr_Clear(); return r;"),
        object("return failed ? r : NULL;"),
        doubted("int ", "", "return status;"),
        doubted("int ", "", "return failed - 1;"),
        doubted(
            "int ",
            "",
            "if (PyErr_Occurred()) return -1; return status;",
        ),
    ];
    insta::assert_snapshot!(all.join("\n"), @"
    unknown: `f` may return an object with an exception set
    unknown: in `f`, `Py_CLEAR(r)` (line 9) is correct at the new error exit (the function could not leave here before) unknown: `f` may return an object with an exception set

    unknown: `f` does not have to report a failed lookup to its caller

    unknown: a return value of 0 from `f` means failure
    ");
}
