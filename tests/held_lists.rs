//! Lists that a critical section holds still, in a free-threaded debug build of CPython.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{free_threaded_python, headers, run};

const HELD: &str = include_str!("held_lists/held.c");

/// `HELD` as the command rewrites it without a review.
fn rewritten() -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("held.c");
    fs::write(&file, HELD).unwrap();
    let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
    ungil.args(["migrate", "--select", "UG106", "--allow-no-vcs"]);
    run(ungil
        .args(["--min-python", "3.13", "."])
        .current_dir(folder.path()));
    fs::read_to_string(file).unwrap()
}

/// A folder with the extension module made from `source`.
fn build(source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("held.c"), source).unwrap();
    let headers = headers(&free_threaded_python());
    let mut gcc = Command::new("gcc");
    gcc.current_dir(folder.path()).args([
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-parameter",
        "-Wno-missing-field-initializers",
        "-Wdeclaration-after-statement",
    ]);
    gcc.args(["-shared", "-fPIC", "-O1", "-g", "-isystem", &headers]);
    run(gcc.args(["-o", "held.so", "held.c"]));
    folder
}

/// What a script prints.
fn python(folder: &tempfile::TempDir, name: &str) -> String {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/held_lists");
    let mut python = Command::new(free_threaded_python());
    python.args(["-X", "gil=0"]).arg(tests.join(name));
    let output = run(python.env("PYTHONPATH", folder.path()));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn held_lists_give_the_same_results() {
    let new = rewritten();
    assert_eq!(new.matches("Py_BEGIN_CRITICAL_SECTION(list);").count(), 3);
    assert_eq!(new.matches("PyList_GET_ITEM(list, i)").count(), 4);
    let before = python(&build(HELD), "results.py");
    assert_eq!(before.matches(" balanced\n").count(), 30, "{before}");
    assert_eq!(python(&build(&new), "results.py"), before);
}

#[test]
fn held_lists_may_change_in_other_threads() {
    assert_eq!(python(&build(&rewritten()), "threads.py"), "done\n");
}
