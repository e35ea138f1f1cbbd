//! Functions with more paths than can be followed one by one.

use super::{STRONG, wrong};

const TOO_MANY: &str = "unknown: each reference is released exactly once (the function has too many paths for a proof)";

/// A function that asks seven questions and answers them behind a lookup, with `rest` between.
fn crowded(rest: &str) -> String {
    let names = ["a", "b", "c", "d", "e", "g", "h"];
    let asked: String = names
        .iter()
        .map(|name| format!("    int {name} = 0; if (ask()) {name} = 1;\n"))
        .collect();
    let told: String = names
        .iter()
        .map(|name| format!("    if ({name}) tell();\n"))
        .collect();
    format!(
        "static int f(PyObject *l) {{
            PyObject *w = NULL, *v;
            {asked}
            {rest}
            {told}
            return 0;
        }}"
    )
}

const USE: &str = "v = PyList_GetItem(l, 0); use(v);";
const RELEASE: (&str, &str) = ("use(v);", "use(v); Py_XDECREF(v);");

#[test]
fn a_release_on_every_path_is_enough() {
    let text = crowded(USE);
    assert_eq!(wrong(&text, &[STRONG, RELEASE]), [""; 0]);
    assert_eq!(wrong(&text, &[STRONG]), [TOO_MANY]);
}

#[test]
fn what_the_code_does_to_null_is_not_the_doing_of_the_change() {
    let text = crowded(&format!("if (ask()) w = l; {USE} Py_DECREF(w);"));
    assert_eq!(wrong(&text, &[STRONG, RELEASE]), [""; 0]);
}

#[test]
fn what_the_change_does_to_null_is() {
    let text = crowded(&format!(
        "if (ask()) w = spare; {USE} if (w) {{ show(w); }}"
    ));
    let late = ("show(w); }", "show(w); } Py_DECREF(w);");
    assert_eq!(wrong(&text, &[STRONG, RELEASE, late]), [TOO_MANY]);
    let inside = ("show(w); }", "show(w); Py_DECREF(w); }");
    assert_eq!(wrong(&text, &[STRONG, RELEASE, inside]), [""; 0]);
}

#[test]
fn a_leak_that_was_there_may_stay() {
    let taken = "v = PyList_GetItem(l, 0); Py_XINCREF(v); if (w) return -1; Py_XDECREF(v);";
    let text = crowded(&format!("if (ask()) w = l; {taken}"));
    let gone = ("Py_XINCREF(v);", "");
    assert_eq!(wrong(&text, &[STRONG, gone]), [""; 0]);
    let less = ("Py_XDECREF(v);", "");
    assert_eq!(wrong(&text, &[STRONG, gone, less]), [TOO_MANY]);
}

#[test]
fn a_variable_that_tells_whether_there_is_a_reference_is_known() {
    let text = crowded("v = NULL; if (ask()) { v = PyList_GetItem(l, 0); i = 1; } use(v);");
    let text = text.replace("int a", "int i = 0, a");
    let counted = ("use(v);", "use(v); if (i) Py_XDECREF(v);");
    assert_eq!(wrong(&text, &[STRONG, counted]), [""; 0]);
    let other = ("use(v);", "use(v); if (a) Py_XDECREF(v);");
    assert_eq!(wrong(&text, &[STRONG, other]), [TOO_MANY]);
}
