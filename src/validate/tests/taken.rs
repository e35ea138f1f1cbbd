//! References that new text takes by itself, for as long as the body of a loop runs.

use super::wrong;

const LOOP: &str = "
static int f(PyObject *d, PyObject *g) {
    PyObject *k;
    Py_ssize_t pos = 0;
    while (PyDict_Next(d, &pos, &k, NULL)) {
        if (skip(g)) continue;
        if (look(g, k)) return -1;
        /* end */
    }
    return 0;
}
";
const TAKE: (&str, &str) = (
    "if (skip(g)) continue;",
    "Py_INCREF(k); if (skip(g)) { Py_DECREF(k); continue; }",
);
const OUT: (&str, &str) = (
    "if (look(g, k)) return -1;",
    "if (look(g, k)) { Py_DECREF(k); return -1; }",
);
const END: (&str, &str) = ("/* end */", "Py_DECREF(k);");

#[test]
fn what_is_released_on_every_way_out_is_counted_as_before() {
    assert_eq!(wrong(LOOP, &[TAKE, OUT, END]), [""; 0]);
}

#[test]
fn a_way_out_without_a_release_is_found() {
    let is_found = |changes: &[(&str, &str)]| {
        assert_eq!(
            wrong(LOOP, changes),
            ["in `f`, the `Py_INCREF` and `Py_DECREF` calls for `k` do not balance as before"],
            "{changes:?}"
        );
    };
    is_found(&[TAKE, OUT]);
    is_found(&[TAKE, END]);
    is_found(&[("if (skip", "Py_INCREF(k); if (skip"), OUT, END]);
    let twice = ("/* end */", "Py_DECREF(k); Py_DECREF(k);");
    is_found(&[TAKE, OUT, twice]);
}

#[test]
fn a_release_before_the_next_use_is_found() {
    let early = (
        "if (look(g, k)) return -1;",
        "Py_DECREF(k); if (look(g, k)) return -1;",
    );
    assert_eq!(
        wrong(LOOP, &[TAKE, early]),
        ["in `f`, the `Py_INCREF` and `Py_DECREF` calls for `k` do not balance as before"]
    );
}

#[test]
fn a_count_that_is_looked_at_is_doubted() {
    let text = LOOP.replace("look(g, k)", "look(g, k->ob_refcnt)");
    let out = (
        "if (look(g, k->ob_refcnt)) return -1;",
        "if (look(g, k->ob_refcnt)) { Py_DECREF(k); return -1; }",
    );
    assert_eq!(
        wrong(&text, &[TAKE, out, END]),
        ["unknown: in `f`, no code relies on the reference count of `k`, which is now one higher"]
    );
}

#[test]
fn a_variable_that_holds_what_the_other_had_is_followed() {
    let text = LOOP.replace("if (skip(g)) continue;", "k = make(k);");
    let take = ("k = make(k);", "PyObject *own = Py_NewRef(k); k = make(k);");
    let out = ("return -1;", "{ Py_DECREF(own); return -1; }");
    assert_eq!(
        wrong(&text, &[take, out, ("/* end */", "Py_DECREF(own);")]),
        [""; 0]
    );
    assert_eq!(
        wrong(&text, &[take, ("/* end */", "Py_DECREF(own);")]),
        ["in `f`, the reference from `Py_NewRef` is not released on every path"]
    );
}

#[test]
fn the_stand_in_of_a_compatibility_header_is_the_function() {
    let text = format!(
        "static inline PyObject *_Py_NewRef(PyObject *o) {{ Py_INCREF(o); return o; }}
#define Py_NewRef(o) _Py_NewRef(_PyObject_CAST(o))
{LOOP}"
    );
    let take = ("if (skip(g)) continue;", "PyObject *own = Py_NewRef(k);");
    let out = ("return -1;", "{ Py_DECREF(own); return -1; }");
    assert_eq!(
        wrong(&text, &[take, out, ("/* end */", "Py_DECREF(own);")]),
        [""; 0]
    );
}

#[test]
fn a_variable_that_also_gets_a_new_reference_is_followed() {
    let head = "    PyObject *k;
    Py_ssize_t pos = 0;
";
    let lookup = format!(
        "{head}    k = PyList_GetItem(g, 0);\n    if (k == NULL) return -1;\n    use(k);\n"
    );
    let text = LOOP.replace(head, &lookup);
    let strong = ("PyList_GetItem", "PyList_GetItemRef");
    let release = ("use(k);", "use(k); Py_DECREF(k);");
    // What the exit leaves as it is is another question.
    let of_count = |changes: &[(&str, &str)]| {
        let mut all = wrong(&text, changes);
        all.retain(|it| !it.ends_with("the function could not leave here before)"));
        all
    };
    assert_eq!(of_count(&[strong, release, TAKE, OUT, END]), [""; 0]);
    assert_eq!(
        of_count(&[strong, release, TAKE, OUT]),
        ["in `f`, the `Py_INCREF` and `Py_DECREF` calls for `k` do not balance as before"]
    );
}

#[test]
fn a_release_of_something_else_that_is_null_is_not_of_the_key() {
    let head = "    PyObject *k;
    Py_ssize_t pos = 0;
";
    let lookup = format!(
        "{head}    PyObject *first = PyDict_GetItem(d, g), *text = PyObject_Repr(g);
    if (first == NULL) return -1;
    if (text == NULL) Py_DECREF(text);
"
    );
    let text = LOOP.replace(head, &lookup);
    assert_eq!(wrong(&text, &[TAKE, OUT, END]), [""; 0]);
    assert_eq!(
        wrong(&text, &[TAKE, OUT]),
        ["in `f`, the `Py_INCREF` and `Py_DECREF` calls for `k` do not balance as before"]
    );
}

/// `Py_INCREF(d)` says that there is an object, so `Py_DECREF(d)` behind it does not release `NULL`.
#[test]
fn a_variable_is_not_null_behind_what_takes_a_reference_to_it() {
    let text = "
static int f(PyObject *a) {
    PyObject *d = NULL;
    if (!PyArg_ParseTuple(a, \"O!\", &PyDict_Type, &d)) return -1;
#ifdef FIRST
    first();
#endif
    look(d);
    done();
    return 0;
}
";
    let take = ("    look", "    Py_INCREF(d);\n    look");
    let release = ("    done", "    Py_DECREF(d);\n    done");
    assert_eq!(wrong(text, &[take, release]), [""; 0]);
    let again = ("    done", "    Py_DECREF(d); Py_DECREF(d);\n    done");
    let lost = "in `f`, the `Py_INCREF` and `Py_DECREF` calls for `d` do not balance as before";
    for changes in [&[take][..], &[release], &[take, again]] {
        let found = wrong(text, changes);
        assert!(found.iter().any(|it| it.starts_with(lost)), "{found:?}");
    }
}
