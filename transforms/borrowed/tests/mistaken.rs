//! Callers that do not tell the error of a function from its success.

use super::all;

/// A function with an item of a list, which comes back so, and what `g` makes of that.
fn of(head: &str, end: &str, caller: &str) -> String {
    all(&format!(
        "static int f(PyObject *list, PyObject *key, Py_ssize_t i)
{{
    PyObject *item;
    {head}
    item = PyList_GET_ITEM(list, i);
    if (use(item) == 3)
        return 0;
    {end}
}}
PyObject *g(PyObject *list, PyObject *key)
{{
    int rc;
    {caller}
    Py_RETURN_NONE;
}}
"
    ))
}

const RAISES: &str = "if (i < 0) { PyErr_SetNone(PyExc_IndexError); return -1; }";
const TELLS: &str = "return PyObject_IsTrue(key);";

/// Whether an exit is written that returns -1; else the finding names who takes that for a success.
fn is_told(head: &str, end: &str, caller: &str) -> bool {
    let said = of(head, end, caller);
    let is_by_hand = said.contains("ignores the `-1` that this function returns for an error");
    let new = "+    if (item == NULL) {\n+        return -1;";
    assert_ne!(is_by_hand, said.contains(new), "{said}");
    !is_by_hand
}

#[test]
fn a_test_for_zero_takes_it_for_a_success() {
    for caller in [
        "if (!f(list, key, 0)) return NULL;",
        "if (f(list, key, 0) == 0) return NULL;",
        "if (f(list, key, 0)) use(list);",
        "rc = f(list, key, 0); if (!rc) return NULL;",
        "if (!(rc = f(list, key, 0))) return NULL;",
        "while (f(list, key, 0)) use(list);",
        "use(f(list, key, 0) ? list : key);",
        "if (f(list, key, 0) == 1) return NULL;",
        "if (list != NULL && f(list, key, 0)) return NULL;",
        "switch (f(list, key, 0)) { case 0: return NULL; default: use(list); }",
        "switch (f(list, key, 0)) { case 0: switch (rc) { case -1: return NULL; } }",
        "if (f(list, key, 0) < 0) return NULL; if (!f(list, key, 1)) return NULL;",
    ] {
        assert!(!is_told("", TELLS, caller), "{caller}");
        assert!(!is_told(RAISES, "return 1;", caller), "{caller}");
    }
}

#[test]
fn a_test_for_it_does_not() {
    for caller in [
        "if (f(list, key, 0) < 0) return NULL;",
        "if (-1 == f(list, key, 0)) return NULL;",
        "switch (f(list, key, 0)) { case -1: return NULL; default: use(list); }",
        "if (0 > f(list, key, 0)) return NULL;",
        "rc = f(list, key, 0); if (rc == -1) return NULL; if (rc) use(list);",
        "if (f(list, key, 0)) use(list); if (PyErr_Occurred()) return NULL;",
        "if (f(list, key, 0) != 0 && PyErr_Occurred()) return NULL;",
        "f(list, key, 0); if (PyErr_Occurred()) PyErr_Clear();",
        "",
    ] {
        assert!(is_told("", TELLS, caller), "{caller}");
        assert!(is_told(RAISES, "return 1;", caller), "{caller}");
    }
    // What says 0 and -1 may be asked whether it says something, also where that comes from itself.
    assert!(is_told(
        RAISES,
        "{ int rc = key ? 0 : -1; if (i > 3) rc = f(list, key, i - 1); return rc; }",
        "if (f(list, key, 0)) return NULL;"
    ));
    assert!(is_told(
        RAISES,
        "return 0;",
        "if (f(list, key, 0)) return NULL;"
    ));
}

#[test]
fn who_ignores_it_comes_back_with_the_exception() {
    for caller in [
        "f(list, key, 0);",
        "(void)f(list, key, 0);",
        "rc = f(list, key, 0);",
        "use((PyObject *)(size_t)f(list, key, 0));",
    ] {
        assert!(!is_told("", TELLS, caller), "{caller}");
        assert!(!is_told(RAISES, "return 1;", caller), "{caller}");
    }
}

#[test]
fn callers_of_callers_are_asked() {
    let through = |test: &str| {
        let said = all(&format!(
            "static int f(PyObject *list, PyObject *key)
{{
    PyObject *item = PyList_GET_ITEM(list, 0);
    if (use(item) == 3)
        return 0;
    return PyObject_IsTrue(key);
}}
static int pass(PyObject *list, PyObject *key)
{{
    int rc = f(list, key);
    return rc;
}}
static int guarded(PyObject *list, PyObject *key)
{{
    int rc;
    if (Py_EnterRecursiveCall(\" here\"))
        return 0;
    rc = f(list, key);
    Py_LeaveRecursiveCall();
    return rc;
}}
PyObject *g(PyObject *list, PyObject *key)
{{
    if ({test})
        return NULL;
    Py_RETURN_NONE;
}}
"
        ));
        said.contains("+        return -1;")
    };
    assert!(through("pass(list, key) < 0"));
    assert!(!through("!pass(list, key)"));
    // Whatever else it returns.
    assert!(through("guarded(list, key) < 0"));
    assert!(!through("!guarded(list, key)"));
    assert!(!through("pass(list, key) == 7"));
}

#[test]
fn a_converter_says_zero() {
    let parsed = "if (!PyArg_ParseTuple(list, \"O&\", f, &rc)) return NULL;";
    assert!(!is_told("", TELLS, parsed));
    let said = of(
        "if (i < 0) { PyErr_SetNone(PyExc_IndexError); return 0; }",
        "return 1;",
        parsed,
    );
    assert!(
        said.contains("+    if (item == NULL) {\n+        return 0;"),
        "{said}"
    );
}

#[test]
fn a_lookup_that_swallowed_its_errors_reports_them() {
    insta::assert_snapshot!(all(
        "static int find(PyObject *dict, PyObject *key, PyObject *list)
{
    PyObject *v = PyDict_GetItem(dict, key);
    if (v == NULL)
        return 0;
    return PyList_Append(list, v);
}
PyObject *g(PyObject *dict, PyObject *list)
{
    if (!find(dict, Py_None, list))
        return NULL;
    Py_RETURN_NONE;
}
"
    ), @"
    @@
     static int find(PyObject *dict, PyObject *key, PyObject *list)
     {
    -    PyObject *v = PyDict_GetItem(dict, key);
    +    PyObject *v;
    +    int result;
    +    if (PyDict_GetItemRef(dict, key, &v) < 0) {
    +        PyErr_WriteUnraisable(NULL);
    +    }
         if (v == NULL)
             return 0;
    -    return PyList_Append(list, v);
    +    result = PyList_Append(list, v);
    +    Py_DECREF(v);
    +    return result;
     }
     PyObject *g(PyObject *dict, PyObject *list)
    ");
}

#[test]
fn null_may_be_a_value_for_what_gets_it() {
    let said = |caller: &str| {
        all(&format!(
            "static const char *f(PyObject *list, PyObject *key)
{{
    PyObject *item;
    if (PyObject_Hash(key) == -1)
        return NULL;
    item = PyList_GET_ITEM(list, 0);
    return PyUnicode_Check(item) ? \"text\" : \"other\";
}}
PyObject *g(PyObject *list, PyObject *key)
{{
    {caller}
}}
"
        ))
    };
    let is_mistaken = |caller: &str| said(caller).contains("ignores the `NULL`");
    assert!(is_mistaken("return Py_BuildValue(\"z\", f(list, key));"));
    assert!(is_mistaken(
        "return Py_BuildValue(\"(is#)\", 1, f(list, key), 2);"
    ));
    let asks = "const char *s = f(list, key); if (s == NULL) return NULL;";
    assert!(!is_mistaken(&format!(
        "{asks} return Py_BuildValue(\"z\", s);"
    )));
}

#[test]
fn others_know_how_much_a_loop_sets() {
    let said = |told: &str, bound: &str| {
        all(&format!(
            "void f(PyObject *list, struct numbers *out)
{{
    int i, n = count(list);
    {told}
    for (i = 0; i < {bound}; i++)
        out->numbers[i] = PyFloat_AS_DOUBLE(PyList_GET_ITEM(list, i));
}}
"
        ))
    };
    let reason = "has already set the number that a complete loop needs";
    assert!(said("out->count = n;", "out->count").contains(reason));
    assert!(said("out->count = n;", "n").contains(reason));
    let stops = "+            PyErr_WriteUnraisable(NULL);\n+            return;";
    for other in ["out->kind = 3;", "last = i;"] {
        assert!(said(other, "n").contains(stops), "{other}");
    }
}
