//! Answers that the function has for what a new exit asks, and memory that is freed by hand.

use super::wrong;

#[test]
fn an_answer_of_the_function_stays() {
    let code = "
static int f(PyObject *l) {
    PyObject *v = PyList_GetItem(l, 0);
    if (!v) return fail(l, \"none\");
    use(v);
    return 0;
}
";
    let with = |exit: &str| {
        let lookup = format!("PyList_GetItemRef(l, 0); {exit}");
        let changes = [
            ("PyList_GetItem(l, 0);", &*lookup),
            ("use(v);", "use(v); Py_DECREF(v);"),
        ];
        wrong(code, &changes)
    };
    assert_eq!(with(""), [""; 0]);
    let doubted = [
        "unknown: in `f`, `fail(l, \"none\")` (line 4) is not needed if the item no longer exists",
        "unknown: if the item no longer exists, `f` need not do what it does when `v` is `NULL`",
    ];
    assert_eq!(with("if (v == NULL) return -1;"), doubted);
}

#[test]
fn a_test_for_null_that_has_nothing_left_to_find() {
    let of_test = |test: &str| {
        let code = format!(
            "
static PyObject *f(PyObject *l) {{
    PyObject *v = PyList_GetItem(l, 0);
    {test}
    return PyLong_FromLong(1);
}}
"
        );
        let lookup = "PyList_GetItemRef(l, 0); if (v == NULL) return NULL;";
        let end = "Py_DECREF(v); return PyLong_FromLong(1);";
        let changes = [
            ("PyList_GetItem(l, 0);", lookup),
            ("return PyLong_FromLong(1);", end),
        ];
        wrong(&code, &changes)
    };
    let doubted =
        "unknown: if the item no longer exists, `f` need not do what it does when `v` is `NULL`";
    for test in [
        "if (!v || v == l) PyErr_Clear();",
        "if (NULL == v) PyErr_Clear();",
        "int found = v != NULL; if (!found) PyErr_Clear();",
        "if (v) use(v); else PyErr_Clear();",
        "if (v && v != l) use(v);",
    ] {
        let found = of_test(test);
        assert!(found.iter().any(|it| it == doubted), "{test}: {found:?}");
    }
    assert_eq!(of_test("use(v);"), [""; 0]);
    // A declaration that was moved.
    let code = "
static PyObject *f(PyObject *l) {
    PyObject *v = PyList_GetItem(l, 0);
    int missing = NULL == v;
    if (missing) PyErr_Clear();
    return PyLong_FromLong(1);
}
";
    let changes = [
        (
            "PyObject *v = PyList_GetItem(l, 0);",
            "PyObject *v = PyList_GetItemRef(l, 0); int missing; if (v == NULL) return NULL;",
        ),
        ("int missing = NULL == v;", "missing = NULL == v;"),
        (
            "return PyLong_FromLong(1);",
            "Py_DECREF(v); return PyLong_FromLong(1);",
        ),
    ];
    assert!(wrong(code, &changes).iter().any(|it| it == doubted));
}

#[test]
fn what_is_freed_by_hand_is_not_released() {
    let with = |free: &str, frees: &str| {
        let code = format!(
            "
static void host_free(PyObject *o) {{ Host *h = (Host *)o; {free} }}
static int f(PyObject *d, PyObject *k) {{
    PyObject *v = PyDict_GetItemWithError(d, k);
    if (!v) return -1;
    {frees}
    return 0;
}}
"
        );
        let end = format!("{frees} Py_DECREF(v);");
        let changes = [
            (
                "PyObject *v = PyDict_GetItemWithError(d, k);",
                "PyObject *v; (void)PyDict_GetItemRef(d, k, &v);",
            ),
            (frees, &*end),
        ];
        wrong(&code, &changes)
    };
    let doubted = |name: &str| {
        [format!(
            "unknown: in `f`, `{name}` does not itself free the memory of `v`"
        )]
    };
    assert_eq!(
        with("PyObject_Del(h);", "host_free(v);"),
        doubted("host_free")
    );
    assert_eq!(with("", "PyObject_Free(v);"), doubted("PyObject_Free"));
    assert_eq!(with("", "Py_TYPE(v)->tp_free(v);"), doubted("a slot"));
    assert_eq!(with("h->n = 0;", "host_free(v);"), [""; 0]);
}
