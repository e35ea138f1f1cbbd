//! What becomes of the lookups of a file.

use std::fs;
use std::process::Command;

use serde_json::Value;

/// What the rules find in a file with this text.
pub(crate) fn findings(text: &str, rules: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.c"), text).unwrap();
    let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
    let output = ungil
        .args(["check", "--isolated", "--output-format", "json"])
        .args(["--select", rules, "--min-python", "3.13"])
        .arg(".")
        .current_dir(folder.path())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Confidence of each fix for a file with this text, and what it asks to confirm.
pub(crate) fn all(text: &str) -> String {
    let findings = findings(&format!("#include <Python.h>{text}"), "UG106");
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

/// Whether nothing more is asked than whether what the function has done by then may stay: the
/// function had no exit in that state.
pub(crate) fn asks_for_state_only(all: &str) -> bool {
    let is_state = |line: &str| {
        let stays =
            "need not be undone at the new error exit (the function could not leave here before)";
        let ready = "is correct at the new error exit (the function could not leave here before)";
        let said = line.strip_suffix(stays);
        let said = said.or_else(|| line.strip_suffix(ready));
        said.is_some_and(|said| said.starts_with("review ") && !said.contains("; "))
    };
    all.lines().all(|line| line == "safe" || is_state(line))
}

/// The same for the function `static PyObject *f(…)` with this body.
pub(crate) fn object(body: &str) -> String {
    all(&format!(
        "\nstatic PyObject *f(PyObject *self, PyObject *list, PyObject *dict, PyObject *key, \
         Py_ssize_t i)\n{{\n{body}\n}}\n"
    ))
}
