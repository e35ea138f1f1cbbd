//! Capsules without a name: what else the package makes of them.

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
    return v == NULL ? NULL : (Thread *)PyCapsule_GetPointer(v, NULL);
}
";
const HEADER: &str = "#define WRAP(pointer) PyCapsule_New(pointer, NULL, NULL)\n";

/// Confidence of the fix for the package with this file beside its C.
fn beside(name: &str, text: &str) -> String {
    let tree = Tree::new(&[("m.c", CODE.as_bytes())]);
    tree.write("api.h", HEADER);
    tree.write(name, text);
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
    assert_eq!(
        beside("g.cpp", "return PyCapsule_New(p, NULL, free);\n"),
        "by hand"
    );
    assert_eq!(beside("g.cpp", "int g;\n"), "safe");
}
