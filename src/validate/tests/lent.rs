//! Functions split behind a lookup, of which one half is lent the object.

use super::wrong;

/// The function before, with a macro written out that leaves it.
const BEFORE: &str = "
static int f(struct box *box, PyObject *d, PyObject *k) {
    PyObject *v;
    int n = 0;
    Py_ssize_t size = PyDict_Size(d);
    begin(box);
    v = PyDict_GetItemWithError(d, k);
    if (v == NULL) return -1;
    n += use(box, v, size);
    if (n < 0) return -1;
    return n;
}
/* first */
";

const HEAD: (&str, &str) = (
    "static int f(struct box *box, PyObject *d, PyObject *k) {\n    PyObject *v;\n",
    "static int f_with_v(struct box *box, Py_ssize_t size, PyObject *v) {\n",
);
const FRONT: (&str, &str) = (
    "    Py_ssize_t size = PyDict_Size(d);\n    begin(box);\n    v = PyDict_GetItemWithError(d, k);\n",
    "",
);
const FIRST: &str = "static int f(struct box *box, PyObject *d, PyObject *k) {
    PyObject *v;
    Py_ssize_t size = PyDict_Size(d);
    int result;
    begin(box);
    (void)PyDict_GetItemRef(d, k, &v);
    result = f_with_v(box, size, v);
    Py_XDECREF(v);
    return result;
}";

/// What is wrong with a split in which each text of the first half is another.
fn first(changes: &[(&str, &str)]) -> Vec<String> {
    let mut first = FIRST.to_owned();
    for (old, new) in changes {
        assert!(first.contains(old), "{old}");
        first = first.replace(old, new);
    }
    wrong(BEFORE, &[HEAD, FRONT, ("/* first */", &first)])
}

/// The same where `n += …;` is `text` before and after.
fn second(text: &str) -> Vec<String> {
    let before = BEFORE.replace("n += use(box, v, size);", text);
    wrong(&before, &[HEAD, FRONT, ("/* first */", FIRST)])
}

#[test]
fn two_halves_that_do_what_the_function_did_are_fine() {
    assert_eq!(first(&[]), [""; 0]);
    assert_eq!(
        second("Py_INCREF(v); n += use(box, v, size); Py_DECREF(v); n += use(box, v, size);"),
        [""; 0]
    );
}

#[test]
fn a_first_half_that_does_something_else_is_found() {
    let other = "`f` and `f_with_v` do not begin like the original function";
    for change in [
        ("    begin(box);\n", ""),
        ("begin(box);", "begin(box); begin(box);"),
        ("begin(box);", "begin(d);"),
        ("PyDict_GetItemRef(d, k, &v)", "PyDict_GetItemRef(d, d, &v)"),
        ("= PyDict_Size(d)", "= PyDict_Size(k)"),
        (
            "begin(box);\n",
            "begin(box);\n    if (size == 0) goto out;\nout:\n",
        ),
    ] {
        assert!(first(&[change]).contains(&other.to_owned()), "{change:?}");
    }
    let end = "`f` and `f_with_v` do not end with one call of the other function and a release";
    for change in [
        ("return result;", "return 0;"),
        ("Py_XDECREF(v);\n", "Py_XDECREF(v);\n    begin(box);\n"),
        (
            "result = f_with_v(box, size, v);",
            "f_with_v(box, size, v);\n    result = f_with_v(box, size, v);",
        ),
        ("f_with_v(box, size, v)", "f_with_v(box, size + 1, v)"),
    ] {
        assert_eq!(first(&[change]), [end], "{change:?}");
    }
}

#[test]
fn a_first_half_without_the_release_is_found() {
    let found = first(&[("    Py_XDECREF(v);\n", "")]);
    assert!(
        found.contains(
            &"in `f`, the reference from `PyDict_GetItemRef` is not released on every path"
                .to_owned()
        ),
        "{found:?}"
    );
}

#[test]
fn other_values_in_the_second_half_are_found() {
    let found = "`f` and `f_with_v` do not have the same values in their variables";
    // The address of the variable is known elsewhere.
    let before = BEFORE.replace("begin(box);", "begin(&size);");
    let first = FIRST.replace("begin(box);", "begin(&size);");
    let front = FRONT.0.replace("begin(box);", "begin(&size);");
    assert_eq!(
        wrong(&before, &[HEAD, (&front, ""), ("/* first */", &first)]),
        [found]
    );
    // `n` is 1 by then.
    let before = BEFORE.replace("begin(box);", "n = begin(box);");
    let first = FIRST
        .replace("begin(box);", "n = begin(box);")
        .replace("int result;", "int result, n = 0;");
    let front = FRONT.0.replace("begin(box);", "n = begin(box);");
    assert_eq!(
        wrong(&before, &[HEAD, (&front, ""), ("/* first */", &first)]),
        ["`f` and `f_with_v` do not begin like the original function"]
    );
    // Not the value that the first half had.
    assert_eq!(
        wrong(
            BEFORE,
            &[
                (
                    HEAD.0,
                    "static int f_with_v(struct box *box, PyObject *v) {\n"
                ),
                (
                    "    begin(box);\n    v = PyDict_GetItemWithError(d, k);\n",
                    ""
                ),
                ("PyDict_Size(d)", "0"),
                ("/* first */", &FIRST.replace("box, size, v)", "box, v)")),
            ]
        ),
        ["`f` and `f_with_v` do not begin like the original function"]
    );
}

#[test]
fn a_second_half_that_lost_a_statement_is_found() {
    let lost = (FRONT.0, "");
    let change = ("    if (v == NULL) return -1;\n", "");
    let found = wrong(BEFORE, &[HEAD, lost, change, ("/* first */", FIRST)]);
    assert_eq!(
        found,
        ["`f` and `f_with_v` do not have each statement of the original function once"]
    );
}

#[test]
fn what_the_second_half_keeps_is_found() {
    let found = "`f_with_v` keeps or releases the object that it borrows";
    for text in [
        "box->v = v;",
        "box->text = PyUnicode_AsUTF8(v);",
        "n += use(box, v, size); Py_DECREF(v);",
        "keep(&v);",
    ] {
        assert_eq!(second(text), [found], "{text}");
    }
    let found = "`f` and `f_with_v` may release the object while the thread is detached";
    assert_eq!(second("PyGILState_Release(box->state);"), [found]);
}

#[test]
fn a_result_that_is_the_object_is_found() {
    let object = |text: &str| {
        text.replace("static int", "static PyObject *")
            .replace("return -1", "return NULL")
            .replace("return n;", "return v;")
            .replace("int result", "PyObject *result")
    };
    let before = object(BEFORE);
    let found = wrong(
        &before,
        &[
            (&object(HEAD.0), &object(HEAD.1)),
            FRONT,
            ("/* first */", &object(FIRST)),
        ],
    );
    assert!(
        found.contains(&"`f_with_v` keeps or releases the object that it borrows".to_owned()),
        "{found:?}"
    );
}

#[test]
fn an_exception_that_is_kept_around_the_lookup() {
    let old = |text: &str| text.replace("GetItemWithError", "GetItem");
    let told = "if (PyDict_GetItemRef(d, k, &v) < 0) { PyErr_WriteUnraisable(NULL); }";
    let kept = format!(
        "exc = PyErr_GetRaisedException();\n    {told}\n    PyErr_SetRaisedException(exc);"
    );
    let change = |(from, to): (&str, &str)| {
        let first = FIRST
            .replace("int result;", "int result;\n    PyObject *exc;")
            .replace("(void)PyDict_GetItemRef(d, k, &v);", &kept);
        assert!(first.contains(from), "{from}");
        let first = first.replace(from, to);
        wrong(
            &old(BEFORE),
            &[HEAD, (&old(FRONT.0), ""), ("/* first */", &first)],
        )
    };
    assert_eq!(change(("", "")), [""; 0]);
    let other = "`f` and `f_with_v` do not begin like the original function";
    for wrong in [
        ("(exc)", "(v)"),
        ("exc = PyErr_GetRaised", "PyErr_GetRaised"),
        ("    PyErr_SetRaisedException(exc);\n", ""),
        (
            "    PyErr_SetRaisedException(exc);\n",
            "    PyErr_Clear();\n",
        ),
        // What the lookup raises would stay.
        (&*kept, "(void)PyDict_GetItemRef(d, k, &v);"),
        (told, "(void)PyDict_GetItemRef(d, k, &v);"),
        (told, "begin(box);"),
    ] {
        let found = change(wrong);
        assert!(
            found.iter().any(|text| text == other),
            "{wrong:?}: {found:?}"
        );
    }
}
