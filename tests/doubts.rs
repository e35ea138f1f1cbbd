//! What the second look at a fix says of code that was wrong before, and of whom it says it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;
use support::decided::findings;

/// Line, confidence and assumptions of each fix for a file with this text.
fn fixes(text: &str) -> Vec<String> {
    let findings = findings(text, "UG1");
    let line = |finding: &Value| {
        let outcome = &finding["outcome"];
        let said = outcome["assumptions"].as_array().unwrap().iter();
        let said: Vec<&str> = said.map(|text| text.as_str().unwrap()).collect();
        let at = &finding["location"]["line"];
        let confidence = outcome["confidence"].as_str().unwrap();
        format!("{at}: {confidence} {}", said.join("; "))
            .trim_end()
            .to_owned()
    };
    findings.iter().map(line).collect()
}

#[test]
fn a_release_too_many_is_named_where_it_is() {
    let found = fixes(
        "#include <Python.h>
static int f(PyObject *from, PyObject *to) {
    PyObject *first, *item;
    first = PyList_GetItem(from, 1);
    if (first == NULL || use(first) < 0)
        return -1;
    item = PyList_GetItem(from, 0);
    if (item == NULL)
        return -1;
    Py_INCREF(item);
    if (PyList_SetItem(to, 0, item) < 0)
        return -1;
    Py_DECREF(item);
    return 0;
}
",
    );
    assert_eq!(
        found,
        [
            "4: safe",
            "7: review in `f`, the reference from `PyList_GetItemRef` is released or given away \
             once too often on some path, as in the original code (line 13), and this is intended",
        ]
    );
}

#[test]
fn a_leak_that_a_macro_makes_is_named_where_it_is_used() {
    let found = fixes(
        "#include <Python.h>
#define TRY(x) do { if ((x) < 0) return NULL; } while (0)
static PyObject *f(PyObject *list) {
    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return NULL;
    Py_INCREF(item);
    Py_INCREF(item);
    TRY(PyList_Append(list, item));
    Py_DECREF(item);
    return item;
}
",
    );
    assert_eq!(
        found,
        [
            "4: review in `f`, the reference from `PyList_GetItemRef` is not released on every \
             path, as in the original code (line 9), and this is intended"
        ]
    );
}
