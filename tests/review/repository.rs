//! A repository to review, and runs of `ungil` in it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::support::run;

/// A module that does not say that it runs without the GIL.
pub(crate) fn module(name: &str) -> String {
    format!(
        "#include <Python.h>\n\n\
         static struct PyModuleDef {name}_def = {{PyModuleDef_HEAD_INIT, \"{name}\", NULL, -1, NULL}};\n\n\
         PyMODINIT_FUNC\nPyInit_{name}(void)\n{{\n    return PyModule_Create(&{name}_def);\n}}\n"
    )
}

/// A repository with the modules `one`, `two` and `three`, committed.
pub(crate) struct Repository(tempfile::TempDir);

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self::empty();
        fs::write(repository.path().join("setup.py"), "").unwrap();
        for name in ["one", "three", "two"] {
            fs::write(repository.path().join(format!("{name}.c")), module(name)).unwrap();
        }
        repository.commit();
        repository
    }

    /// A repository without files.
    pub(crate) fn empty() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.git(&["init", "-q"]);
        repository
    }

    /// Commits what is there.
    pub(crate) fn commit(&self) {
        self.git(&["add", "."]);
        self.git(&["commit", "-qm", "all"]);
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
        let mut git = Command::new("git");
        let output = run(git.args(identity).args(arguments).current_dir(self.path()));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Files that differ from the commit.
    pub(crate) fn changed(&self) -> Vec<String> {
        let status = self.git(&["status", "--porcelain"]);
        status.lines().map(|line| line[3..].to_owned()).collect()
    }

    pub(crate) fn ungil(&self, arguments: &[&str], input: &str) -> Output {
        self.ungil_with("false", arguments, input)
    }

    /// A run with this command for an editor.
    pub(crate) fn ungil_with(&self, editor: &str, arguments: &[&str], input: &str) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ungil"))
            .args(arguments)
            .env("VISUAL", editor)
            .current_dir(self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that refuses does not read.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let arguments = [&["review", "--output-format", "json"], arguments].concat();
        let output = self.ungil(&arguments, "");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        let answer = self.json(&["--list"]);
        let fixes = answer["fixes"].as_array().unwrap();
        fixes
            .iter()
            .map(|fix| fix["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
