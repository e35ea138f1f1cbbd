//! What becomes of the lookups of a file.

use std::fs;
use std::process::Command;

use serde_json::Value;

/// Confidence of each fix for a file with this text, and what it asks to confirm.
pub(crate) fn all(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("m.c"),
        format!("#include <Python.h>{text}"),
    )
    .unwrap();
    let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
    let options = ["--select", "UG106", "--min-python", "3.13"];
    let output = ungil
        .args(["check", "--isolated", "--output-format", "json"])
        .args(options)
        .arg(".")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let line = |finding: &Value| {
        let outcome = &finding["outcome"];
        let said = outcome["assumptions"].as_array().into_iter().flatten();
        let said: Vec<&str> = said.map(|text| text.as_str().unwrap()).collect();
        let confidence = outcome["confidence"].as_str().unwrap_or("by hand");
        format!("{confidence} {}", said.join("; "))
            .trim_end()
            .to_owned()
    };
    findings
        .iter()
        .map(line)
        .collect::<Vec<String>>()
        .join("\n")
}

/// The same for the function `static PyObject *f(…)` with this body.
pub(crate) fn object(body: &str) -> String {
    all(&format!(
        "\nstatic PyObject *f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, \
         Py_ssize_t i)\n{{\n{body}\n}}\n"
    ))
}
