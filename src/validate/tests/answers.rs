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
            "unknown: `g` takes the {value} that `f` returns there for a failure"
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
            "unknown: `g` takes the {value} that `f` returns there for a failure"
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
