//! Sections that came in around reads of a list.

use super::wrong;

/// A function that reads all items of a list, with this in front of the loop, its condition, and in it.
fn reading(before: &str, condition: &str, inner: &str) -> String {
    format!(
        "
static int f(PyObject *l, PyObject *o, Py_ssize_t m) {{
    Py_ssize_t i, n; int found = 0; PyObject *v, *last = 0;
    {before}
    for (i = 0; {condition}; i++) {{ v = PyList_GET_ITEM(l, i); {inner} }}
    last = o;
    return found;
}}
"
    )
}

const BEGIN: (&str, &str) = ("    for", "    Py_BEGIN_CRITICAL_SECTION(l);\n    for");
const END: (&str, &str) = (
    "    last = o",
    "    Py_END_CRITICAL_SECTION();\n    last = o",
);
const SIZE: &str = "i < PyList_GET_SIZE(l)";
const TEST: &str = "found += v == o || PyUnicode_Check(v);";

/// What is wrong with a section around the loop alone.
fn held(before: &str, condition: &str, inner: &str) -> Vec<String> {
    wrong(&reading(before, condition, inner), &[BEGIN, END])
}

#[test]
fn a_size_of_each_turn_holds() {
    assert_eq!(held("", SIZE, TEST), [""; 0]);
    let taken = "Py_INCREF(v); found += PyObject_IsTrue(v); Py_DECREF(v);";
    assert_eq!(held("", SIZE, taken), [""; 0]);
}

#[test]
fn a_size_in_front_of_the_section_is_found() {
    let wrong = ["in `f`, the size of `l` is read where the section does not protect the list"];
    assert_eq!(held("n = PyList_GET_SIZE(l);", "i < n", TEST), wrong);
    assert_eq!(
        held("if (PyList_GET_SIZE(l) > 9) return 1;", SIZE, TEST),
        wrong
    );
}

#[test]
fn an_index_without_a_bound_is_found() {
    let wrong = [
        "in `f`, an item of `l` is read with an index that is not compared with the size in the section",
    ];
    assert_eq!(held("", "i < m", TEST), wrong);
    assert_eq!(held("", "i <= PyList_GET_SIZE(l)", TEST), wrong);
    assert_eq!(held("", "i++ < PyList_GET_SIZE(l)", TEST), wrong);
    assert_eq!(held("", "i < PyList_GET_SIZE(o)", TEST), wrong);
    let again = "i++; v = PyList_GET_ITEM(l, i);";
    assert_eq!(held("", SIZE, again), wrong);
    let let_in = "PyObject_IsTrue(o); v = PyList_GET_ITEM(l, i);";
    assert_eq!(held("", SIZE, let_in), wrong);
}

#[test]
fn an_item_that_may_be_gone_is_found() {
    let wrong = ["in `f`, an item of `l` is used where the section no longer protects the list"];
    assert_eq!(
        held("", SIZE, "PyObject_IsTrue(o); found = PyUnicode_Check(v);"),
        wrong
    );
    assert_eq!(
        held(
            "",
            SIZE,
            "if (last) found = PyUnicode_Check(last); last = v;"
        ),
        wrong
    );
    assert_eq!(held("", SIZE, "keeper.last = v;"), wrong);
    assert_eq!(held("", SIZE, "return PyUnicode_Check(v);").len(), 1);
    assert_eq!(
        held(
            "",
            SIZE,
            "Py_INCREF(v); Py_DECREF(v); found = PyUnicode_Check(v);"
        ),
        wrong
    );
    assert_eq!(
        held("", SIZE, "found = PyObject_IsTrue(v);"),
        ["in `f`, `PyObject_IsTrue` gets an item of `l` and may let other threads change it"]
    );
    assert_eq!(
        held("", SIZE, "Py_DECREF(v);"),
        ["in `f`, an item that is borrowed from `l` is released"]
    );
}

#[test]
fn a_stored_item_is_counted_at_once() {
    assert_eq!(held("", SIZE, "keeper.all[i] = v; Py_INCREF(v);"), [""; 0]);
    assert_eq!(
        held(
            "",
            SIZE,
            "keeper.all[i] = v; PyObject_IsTrue(o); Py_INCREF(v);"
        ),
        ["in `f`, an item of `l` is used where the section no longer protects the list"]
    );
}

#[test]
fn a_wait_between_sizes_is_found() {
    let inner = "PyList_Append(o, Py_None); keeper.all[i] = 0;";
    assert_eq!(
        held("", SIZE, inner),
        ["in `f`, the size of `l` is read where the section does not protect the list"]
    );
}

#[test]
fn a_section_that_loses_its_list_is_found() {
    let lost = ["in `f`, `l` is set or released in the section that locks it"];
    assert_eq!(held("", SIZE, "l = o;"), lost);
    assert_eq!(held("", SIZE, "Py_DECREF(l);"), lost);
    assert_eq!(
        held("if (l == 0) found = 1;", SIZE, TEST),
        ["in `f`, `l` may be NULL where the section begins"]
    );
}

#[test]
fn sections_within_sections_are_found() {
    let begin = "    Py_BEGIN_CRITICAL_SECTION(o);\n    Py_BEGIN_CRITICAL_SECTION(l);\n    for";
    let end = "    Py_END_CRITICAL_SECTION();\n    Py_END_CRITICAL_SECTION();\n    last = o";
    let changes = [("    for", begin), ("    last = o", end)];
    let found = wrong(&reading("", SIZE, TEST), &changes);
    assert_eq!(
        found,
        ["in `f`, the section on `o` locks another list than the one that is read in it"]
    );
    let own = reading("PyMutex_Lock(&m);", SIZE, TEST).replace("last = o", "PyMutex_Unlock(&m)");
    let end = (
        "    PyMutex_Unlock",
        "    Py_END_CRITICAL_SECTION();\n    PyMutex_Unlock",
    );
    assert_eq!(
        wrong(&own, &[BEGIN, end]),
        [
            "in `f`, the section on `l` is inside another section, or contains one",
            "unknown: in `f`, no thread that holds the object of the new critical section waits \
             for the lock that `PyMutex_Lock` took"
        ]
    );
}

#[test]
fn a_section_on_another_list_is_found() {
    let begin = ("    for", "    Py_BEGIN_CRITICAL_SECTION(o);\n    for");
    assert_eq!(
        wrong(&reading("", SIZE, TEST), &[begin, END]),
        ["in `f`, the section on `o` locks another list than the one that is read in it"]
    );
}
