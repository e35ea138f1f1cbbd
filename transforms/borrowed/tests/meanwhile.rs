//! What the code knew before a lookup, or asks for behind it, and what jumps over it.

use super::{all, int};

fn is_doubted(text: &str, doubt: &str) -> bool {
    assert!(text.contains("Ref("), "{text}");
    text.contains(doubt)
}

#[test]
fn a_key_that_was_there_may_be_gone() {
    let gone = |before: &str, lookup: &str| {
        let text = int(&format!(
            "
    PyObject *value;
    {before} {{
        {lookup}
        use(value);
    }}
    if (PyObject_Hash(key) == -1)
        return -1;
    return 0;"
        ));
        is_doubted(&text, "review: no other thread removes the key after")
    };
    let plain = "value = PyDict_GetItem(dict, key);";
    assert!(gone("if (PyDict_Contains(dict, key))", plain));
    assert!(gone("if (PyDict_Contains(dict, key) == 1)", plain));
    assert!(gone("if (PySequence_Contains(dict, key) > 0)", plain));
    assert!(gone("PyDict_SetItem(dict, key, list);", plain));
    // As this tool writes it.
    assert!(gone(
        "if (PyDict_SetDefaultRef(dict, key, list, NULL) >= 0)",
        plain
    ));
    assert!(gone("if (PyDict_GetItemRef(dict, key, &other) > 0)", plain));
    assert!(gone(
        "if (PyDict_Contains(dict, key))",
        "value = PyDict_GetItemWithError(dict, key);"
    ));
    // Of another key, or of another dict.
    assert!(!gone("if (PyDict_Contains(dict, list))", plain));
    assert!(!gone("if (PyDict_Contains(list, key))", plain));
    // The code asks again.
    let tested = format!("{plain} if (value == NULL) return -1;");
    assert!(!gone("if (PyDict_Contains(dict, key))", &tested));
}

#[test]
fn another_exception_takes_another_branch() {
    let asks = |own: &str, caller: &str| {
        let text = all(&format!(
            "static PyObject *f(PyObject *list)
{{
    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL) {{
        {own}
        return NULL;
    }}
    return PyObject_Repr(item);
}}
PyObject *g(PyObject *list)
{{
    PyObject *made = f(list);
    if (made == NULL) {{
        {caller}
        return NULL;
    }}
    return made;
}}
"
        ));
        is_doubted(&text, "raises `TypeError` for that")
    };
    let test = |name: &str| format!("if (PyErr_ExceptionMatches({name})) note(list);");
    assert!(asks(&test("PyExc_SystemError"), ""));
    assert!(asks("", &test("PyExc_SystemError")));
    assert!(!asks(&test("PyExc_IndexError"), &test("PyExc_IndexError")));
    assert!(!asks("", ""));
}

#[test]
fn a_jump_over_the_function_leaves_it_with_its_reference() {
    let jumps = |fail: &str, call: &str| {
        let text = all(&format!(
            "static void fail(struct parser *p)
{{
    {fail}
}}
static void expect(struct parser *p, int c)
{{
    if (next(p) != c)
        fail(p);
}}
static int f(struct parser *p, PyObject *list)
{{
    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return -1;
    {call}
    use(item);
    return 0;
}}
"
        ));
        is_doubted(&text, "does not leave with `longjmp`")
    };
    assert!(jumps("longjmp(p->env, 1);", "expect(p, 1);"));
    assert!(jumps("siglongjmp(p->env, 1);", "fail(p);"));
    assert!(!jumps("note(p);", "expect(p, 1);"));
    assert!(!jumps("longjmp(p->env, 1);", "note(p);"));
    // It comes back there.
    assert!(!jumps(
        "if (!setjmp(p->env)) longjmp(p->env, 1);",
        "expect(p, 1);"
    ));
}

#[test]
fn a_count_without_a_test_read_what_is_not_there() {
    let doubted = |body: &str| {
        let text = all(&format!(
            "PyObject *get(PyObject *self, PyObject *dict)\n{{\n    \
             PyObject *v = PyDict_GetItemString(dict, \"a\");\n    {body}\n    return v;\n}}\n"
        ));
        is_doubted(
            &text,
            "the code does not test that, and no longer reads the result here",
        )
    };
    assert!(doubted("Py_INCREF(v);"));
    assert!(!doubted("if (v == NULL) return NULL; Py_INCREF(v);"));
    assert!(!doubted("Py_XINCREF(v);"));
}

#[test]
fn a_function_that_returns_nothing_tells_nobody_that_it_left_early() {
    let doubted = |set: &str| {
        let text = all(&format!(
            "static void put(PyObject *tuple, int i, PyObject *list, double *out)\n{{\n    \
             PyObject *item = PyList_GetItem(list, i);\n    Py_INCREF(item);\n    {set}\n    \
             Py_DECREF(item);\n}}\n\
             PyObject *all(PyObject *tuple, PyObject *list, double *out)\n{{\n    \
             put(tuple, 0, list, out);\n    return tuple;\n}}\n"
        ));
        is_doubted(
            &text,
            "no caller needs what `put` would have stored in its arguments",
        )
    };
    assert!(doubted("PyTuple_SET_ITEM(tuple, i, Py_NewRef(item));"));
    assert!(doubted("*out = PyFloat_AS_DOUBLE(item);"));
    assert!(!doubted("use(item);"));
}
