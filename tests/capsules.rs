//! Capsules, and what text of the package that is not read makes of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;

use support::tree::Tree;

const CODE: &str = "#include <Python.h>
#include \"api.h\"
static PyObject *make(Thread *thread) {
    return WRAP(thread);
}
static Thread *f(PyObject *dict, PyObject *key) {
    PyObject *v = PyDict_GetItemWithError(dict, key);
    return v == NULL ? NULL : (Thread *)PyCapsule_GetPointer(v, NAME);
}
";

/// Confidence of the fix for the package with this text in C++ beside its C, where its capsules have
/// this name.
fn beside(name: &str, text: &str) -> String {
    let tree = Tree::new(&[("m.c", CODE.as_bytes())]);
    let header = format!("#define NAME {name}\n#define WRAP(it) PyCapsule_New(it, NAME, NULL)\n");
    tree.write("api.h", header);
    tree.write("g.cpp", text);
    let found = tree.ungil(&[
        "check",
        "--isolated",
        "--output-format",
        "json",
        "--select",
        "UG102",
        "--min-python",
        "3.13",
    ]);
    let findings: Vec<Value> = serde_json::from_slice(&found.stdout).unwrap();
    let outcome = &findings[0]["outcome"];
    let confidence = outcome["confidence"].as_str();
    confidence.unwrap_or("by hand").to_owned()
}

#[test]
fn text_that_is_not_read_may_give_one_a_destructor() {
    let other = "return PyCapsule_New(p, \"demo.loop\", free);\n";
    let same = "return PyCapsule_New(p, \"demo.thread\", free);\n";
    assert_eq!(beside("NULL", other), "by hand");
    assert_eq!(beside("\"demo.thread\"", other), "safe");
    assert_eq!(beside("\"demo.thread\"", same), "by hand");
    assert_eq!(beside("\"\"", other), "by hand");
    assert_eq!(beside("\"\"", "int g;\n"), "safe");
    assert_eq!(beside("NULL", "int g;\n"), "safe");
}
