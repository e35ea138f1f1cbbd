//! Loops over dicts, before and after the rewrite, in a free-threaded debug build of CPython.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::{free_threaded_python, headers, run};

const LOOPS: &str = include_str!("sections/loops.c");

fn text(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap()
}

/// A folder with the extension module made from `source`.
fn build(source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("loops.c"), source).unwrap();
    let headers = headers(&free_threaded_python());
    // The style of C89 is what older packages are held to; the headers themselves are newer.
    let strict = [
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wdeclaration-after-statement",
    ];
    let mut compiler = Command::new("gcc");
    compiler.current_dir(folder.path()).args(strict);
    compiler.args(["-shared", "-fPIC", "-O1", "-g", "-isystem", &headers]);
    run(compiler.args(["-o", "loops.so", "loops.c"]));
    folder
}

/// `LOOPS` as the command rewrites it.
fn rewritten() -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("loops.c");
    fs::write(&file, LOOPS).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    command
        .args(["migrate", "--select", "UG301", "--unsafe-fixes"])
        .args(["--allow-no-vcs", "--min-python", "3.13", "."])
        .current_dir(folder.path());
    let output = command.output().unwrap();
    let text = fs::read_to_string(file).unwrap();
    assert_ne!(text, LOOPS, "{}", String::from_utf8_lossy(&output.stderr));
    text
}

fn python(folder: &tempfile::TempDir, script: &str) -> String {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sections");
    let mut python = Command::new(free_threaded_python());
    python
        .arg(tests.join(script))
        .env("PYTHONPATH", folder.path());
    text(run(&mut python))
}

#[test]
fn rewritten_loops_give_the_same_results() {
    let new = rewritten();
    let loops = |text: &str| text.matches("while (PyDict_Next(").count();
    assert_eq!(loops(&new), loops(LOOPS));
    assert!(
        new.matches("Py_BEGIN_CRITICAL_SECTION").count() >= 11,
        "{new}"
    );
    let before = python(&build(LOOPS), "results.py");
    let after = python(&build(&new), "results.py");
    assert!(before.lines().count() > 900);
    assert!(
        before.lines().all(|line| line.ends_with(" balanced")),
        "{before}"
    );
    assert_eq!(before, after);
}

#[test]
fn rewritten_loops_survive_changes_by_other_threads() {
    assert_eq!(python(&build(&rewritten()), "threads.py"), "survived\n");
}
