//! Changes by hand, and what is not proven of them.

use std::collections::BTreeMap;

use super::Failure;
use super::proof::{Author, Original, failures};
use crate::edit::{Edit, apply};
use crate::program::testing::with_program;
use crate::source::{ByteSpan, FileId};

const FILE: FileId = FileId(0);

/// What is wrong after each text was replaced by the other.
fn wrong(before: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let mut edits: Vec<Edit> = changes
        .iter()
        .map(|(old, new)| {
            let at = u32::try_from(before.find(old).expect("it is there")).expect("short");
            let end = at + u32::try_from(old.len()).expect("short");
            Edit {
                file: FILE,
                span: ByteSpan::new(at, end),
                text: new.as_bytes().into(),
            }
        })
        .collect();
    edits.sort_by_key(|edit| edit.span);
    let applied = apply(before.as_bytes(), edits.iter());
    let after = String::from_utf8(applied.bytes.clone()).expect("text");
    let applied = BTreeMap::from([(FILE, applied)]);
    with_program(&[("a.c", before)], |original| {
        with_program(&[("a.c", &after)], |result| {
            let found = failures(&Original::new(original), result, &applied, Author::Rule);
            let reasons = found.into_iter().map(|failed| match failed.failure {
                Failure::Wrong(reason) => reason,
                Failure::Unknown(reason) => format!("unknown: {reason}"),
            });
            reasons.collect()
        })
    })
}

const HELPER: &str = "
static PyObject *find(PyObject *l) {
    if (!l) return Py_None;
    return PyList_GetItem(l, 0);
}
static int f(PyObject *l) { PyObject *v = find(l); if (!v) return -1; use(v); return 0; }
";
const STRONG: (&str, &str) = ("PyList_GetItem", "PyList_GetItemRef");
const NONE: (&str, &str) = ("return Py_None", "return Py_NewRef(Py_None)");
const RELEASE: (&str, &str) = ("use(v);", "use(v); Py_DECREF(v);");

#[test]
fn a_helper_and_its_callers_change_together() {
    assert_eq!(wrong(HELPER, &[STRONG, NONE, RELEASE]), [""; 0]);
}

#[test]
fn a_caller_that_releases_nothing_is_found() {
    assert_eq!(
        wrong(HELPER, &[STRONG, NONE]),
        ["in `f`, the reference from `find` is not released on every path"]
    );
}

#[test]
fn a_return_that_stays_borrowed_is_found() {
    assert_eq!(
        wrong(HELPER, &[STRONG, RELEASE]),
        ["`find` returns a new reference on some paths only"]
    );
}

#[test]
fn callers_that_are_not_known_are_doubted() {
    let before = format!("{HELPER}\nvoid *table[] = {{ find }};");
    assert_eq!(
        wrong(&before, &[STRONG, NONE, RELEASE]),
        ["`find` is passed on, so not all of its callers are known"]
    );
}

#[test]
fn a_helper_that_gave_new_references_needs_no_change_of_its_callers() {
    let before = "
static PyObject *find(PyObject *l) {
    PyObject *v = PyList_GetItem(l, 0);
    Py_XINCREF(v);
    return v;
}
static int f(PyObject *l) { PyObject *v = find(l); use(v); Py_XDECREF(v); return 0; }
";
    assert_eq!(wrong(before, &[STRONG, ("Py_XINCREF(v);", "")]), [""; 0]);
}
