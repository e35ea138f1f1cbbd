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

/// `LOOPS` after each run of `ungil` with one of these lines of arguments.
fn after(runs: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("loops.c");
    fs::write(&file, LOOPS).unwrap();
    for line in runs {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
        command.args(line.split(' ')).current_dir(folder.path());
        run(command.args([
            "--select",
            "UG301",
            "--allow-no-vcs",
            "--min-python",
            "3.13",
        ]));
    }
    let text = fs::read_to_string(file).unwrap();
    assert_ne!(text, LOOPS);
    text
}

/// `LOOPS` as the command rewrites it.
fn rewritten() -> String {
    after(&["migrate --unsafe-fixes"])
}

/// The same with the alternative where there is one.
fn rewritten_with_helper() -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("loops.c"), LOOPS).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    let list = command
        .args(["review", "--list", "--output-format", "json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    let fixes = list["fixes"].as_array().unwrap();
    let with_helper: Vec<&str> = fixes
        .iter()
        .filter(|fix| fix["alternatives"].is_array() && fix["rule"] == "UG301")
        .map(|fix| fix["id"].as_str().unwrap())
        .collect();
    assert_eq!(with_helper.len(), 1);
    let helper = format!("review --accept {} --alternative 2 --write", with_helper[0]);
    let text = after(&[&helper, "migrate --unsafe-fixes"]);
    assert!(text.contains("\ncall_until_lock_held("), "{text}");
    text
}

fn python(folder: &tempfile::TempDir, name: &str) -> String {
    text(run(&mut script(folder, name)))
}

fn script(folder: &tempfile::TempDir, name: &str) -> Command {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sections");
    let mut python = Command::new(free_threaded_python());
    python
        .arg(tests.join(name))
        .env("PYTHONPATH", folder.path());
    python
}

#[test]
fn rewritten_loops_give_the_same_results() {
    let before = python(&build(LOOPS), "results.py");
    assert!(before.lines().count() > 900);
    assert!(
        before.lines().all(|line| line.ends_with(" balanced")),
        "{before}"
    );
    let new = rewritten();
    let loops = |text: &str| text.matches("while (PyDict_Next(").count();
    assert_eq!(loops(&new), loops(LOOPS));
    assert!(
        new.matches("Py_BEGIN_CRITICAL_SECTION").count() >= 14,
        "{new}"
    );
    assert_eq!(new.matches("? PyDict_Copy(").count(), 4, "{new}");
    assert!(
        new.contains("SECTION(many != NULL ? many : Py_None);"),
        "{new}"
    );
    for new in [new, rewritten_with_helper()] {
        assert_eq!(before, python(&build(&new), "results.py"));
    }
}

#[test]
fn rewritten_loops_survive_changes_by_other_threads() {
    for new in [rewritten(), rewritten_with_helper()] {
        let folder = build(&new);
        assert_eq!(python(&folder, "meet.py"), "survived\n");
        assert_eq!(python(&folder, "threads.py"), "survived\n");
        assert_eq!(python(&folder, "copies.py"), "survived\n");
        assert_eq!(python(&folder, "replaced.py"), "survived\n");
    }
}

#[test]
fn a_value_dies_while_the_loop_uses_it() {
    let ended = script(&build(LOOPS), "meet.py").output().unwrap();
    assert!(!ended.status.success(), "{ended:?}");
}
