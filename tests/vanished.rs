//! Exits for items that vanish while a loop runs, in a free-threaded debug build of CPython: what had
//! begun by then is undone by all that is applied without a review, and what asks for one is right to.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::{free_threaded_python, headers, run};

const UNDO: &str = include_str!("vanished/undo.c");

/// What is applied without a review, and what is raised there.
const SAFE: &str = "\
add_all 0 ValueError
buffer 0 IndexError
converted 0 IndexError
empty 0 AttributeError
encoded 0 IndexError
hidden 0 IndexError
label 0 IndexError
mean 0 IndexError
memory 0 IndexError
own_converted 0 IndexError
point 0 IndexError
resized 0 IndexError
settled 0 IndexError
status 0 nothing
sum_up 0 ValueError
";

/// What is left to a review: each forgets something, or no exit of the function shows that it does not
/// (0). `fill` is called by `counted`.
const REVIEW: &str = "\
box 0 IndexError
copied 7 IndexError
counts 1 IndexError
each_pass 0 IndexError
fill 1 IndexError
macro 1 IndexError
moved 0 IndexError
nothing 1 IndexError
pointer 1 IndexError
python 1 IndexError
rows 1 IndexError
saved 3 IndexError
seen 1 IndexError
session 1 IndexError
struct 1 IndexError
taken 1 IndexError
";

/// The functions of the module that have a fix of this confidence, without `t_`.
fn fixed(folder: &Path, confidence: &str) -> Vec<String> {
    let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
    ungil.args(["check", "--select", "UG106", "--output-format", "json", "."]);
    let output = ungil.current_dir(folder).output().unwrap();
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let fixed = findings
        .iter()
        .filter(|finding| finding["outcome"]["confidence"] == confidence);
    let mut names: Vec<String> = fixed
        .map(|finding| {
            let name = finding["function"].as_str().unwrap();
            name.strip_prefix("t_").unwrap_or(name).to_owned()
        })
        .collect();
    names.sort();
    names.dedup();
    names
}

/// What the functions with fixes of this confidence leave open once they are fixed.
fn left_open(confidence: &str, how: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("undo.c"), UNDO).unwrap();
    let names = fixed(folder.path(), confidence);
    let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
    ungil.args(["migrate", "--select", "UG1", "--allow-no-vcs"]);
    ungil.args(["--min-python", "3.13"]).args(how).arg(".");
    // What is left by hand is told by the exit status.
    ungil.current_dir(folder.path()).output().unwrap();
    let mut gcc = Command::new("gcc");
    gcc.current_dir(folder.path())
        .args(["-Wall", "-Werror", "-shared", "-fPIC", "-O1", "-g"])
        .args(["-isystem", &headers(&free_threaded_python())])
        .args(["-o", "undo.so", "undo.c"]);
    run(&mut gcc);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vanished/call.py");
    let mut python = Command::new(free_threaded_python());
    python.arg(script).args(names);
    python.env("PYTHONPATH", folder.path());
    String::from_utf8(run(&mut python).stdout).unwrap()
}

#[test]
fn safe_fixes_undo_what_has_begun() {
    assert_eq!(left_open("safe", &[]), SAFE);
}

#[test]
fn what_fixes_to_review_forget() {
    assert_eq!(left_open("review", &["--unsafe-fixes"]), REVIEW);
}
