//! Types of one name in several files: those that the function sees count.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;

use support::tree::Tree;

/// Confidence of the fix for a function that copies the `Node` out of an object, where `Node` is
/// this in its file, and that in another one.
fn taken(here: &str, there: &str) -> String {
    let code = format!(
        "#include <Python.h>
{here}typedef struct {{ PyObject_HEAD Node node; }} PyNode;
static int f(PyObject *list, Node *nodes) {{
    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return -1;
    nodes[0] = ((PyNode *)item)->node;
    return 0;
}}
"
    );
    let tree = Tree::new(&[("m.c", code.as_bytes())]);
    tree.write("a.c", format!("#include <Python.h>\n{there}"));
    let always = ["check", "--isolated", "--output-format", "json"];
    let rest = ["--select", "UG101", "--min-python", "3.13", "."];
    let found = tree.ungil(&[&always, &rest[..]].concat());
    let findings: Vec<Value> = serde_json::from_slice(&found.stdout).unwrap();
    let confidence = findings[0]["outcome"]["confidence"].as_str();
    confidence.unwrap_or("by hand").to_owned()
}

const NUMBERS: &str = "typedef struct { int left, right; } Node;\n";
const POINTERS: &str = "typedef struct { char *left, *right; } Node;\n";
const TAGGED: &str = "typedef struct node { struct node *left, *right; } Node;\n";

#[test]
fn another_file_has_pointers_in_it() {
    assert_eq!(taken(NUMBERS, POINTERS), "safe");
    assert_eq!(taken(NUMBERS, TAGGED), "safe");
    assert_eq!(taken(NUMBERS, "typedef char *Node;\n"), "safe");
}

#[test]
fn another_file_has_numbers_in_it() {
    assert_eq!(taken(POINTERS, NUMBERS), "by hand");
    assert_eq!(taken(TAGGED, NUMBERS), "by hand");
    assert_eq!(
        taken("typedef char *Node;\n", "typedef int Node;\n"),
        "by hand"
    );
    // What the header says of it is not read for this rule.
    assert_eq!(taken("#include \"node.h\"\n", NUMBERS), "by hand");
}

/// Whether a `static` helper gets an exit where an item is gone, if another file has a helper of its
/// name, of whose result `there` makes nothing.
fn exits(there: &str) -> bool {
    let code = "#include <Python.h>
static int check(PyObject *list) {
    PyObject *item = PyList_GET_ITEM(list, 0);
    return PyObject_IsTrue(item);
}
PyObject *f(PyObject *self, PyObject *list) {
    if (check(list) < 0)
        return NULL;
    Py_RETURN_NONE;
}
";
    let tree = Tree::new(&[("m.c", code.as_bytes())]);
    tree.write("a.c", format!("#include <Python.h>\n{there}"));
    let rest = ["--select", "UG106", "--min-python", "3.13", "."];
    let found = tree.ungil(&[&["diff", "--isolated"], &rest[..]].concat());
    let patch = String::from_utf8(found.stdout).unwrap();
    patch.contains("+    if (item == NULL) {\n+        return -1;\n")
}

#[test]
fn callers_of_a_namesake_say_nothing() {
    let drops = "PyObject *g(PyObject *o) { check(o); return PyLong_FromLong(1); }\n";
    assert!(exits(&format!(
        "static int check(PyObject *o) {{ return o != NULL; }}\n{drops}"
    )));
    assert!(!exits(&format!("extern int check(PyObject *o);\n{drops}")));
}
