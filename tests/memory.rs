//! Buffers that move to another allocator, before and after, in a free-threaded debug build of
//! CPython, whose allocators stop the process when memory goes back to the wrong one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::{free_threaded_python, headers, run};

const BUFFERS: &str = include_str!("memory/buffers.c");

/// The source as the command rewrites it.
fn rewritten() -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("buffers.c");
    fs::write(&file, BUFFERS).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    command
        .args(["migrate", "--select", "UG401", "--allow-no-vcs", "."])
        .current_dir(folder.path());
    let output = command.output().unwrap();
    let text = fs::read_to_string(file).unwrap();
    assert_ne!(text, BUFFERS, "{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// Compiles `source` and uses it.
fn drive(source: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("buffers.c"), source).unwrap();
    let mut compiler = Command::new("gcc");
    compiler
        .current_dir(folder.path())
        .args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-missing-field-initializers",
        ])
        .args(["-Wno-cast-function-type", "-shared", "-fPIC", "-O1", "-g"])
        .args(["-isystem", &headers(&free_threaded_python())]);
    run(compiler.args(["-o", "buffers.so", "buffers.c"]));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/memory/drive.py");
    let mut python = Command::new(free_threaded_python());
    python.args(["-X", "gil=0"]).arg(script);
    python
        .env("PYTHONPATH", folder.path())
        .env("PYTHONMALLOC", "debug");
    python.output().unwrap()
}

fn lines(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn buffers_move_and_nothing_else_changes() {
    let after = rewritten();
    for old in [
        "Malloc", "MALLOC", "Calloc", "Realloc", "Free", "FREE", "Del",
    ] {
        assert!(
            !after.contains(&format!("PyObject_{old}(")),
            "{old}\n{after}"
        );
    }
    let results = lines(&drive(&after));
    assert_eq!(results.lines().count(), 8);
    assert_eq!(results, lines(&drive(BUFFERS)));
}

#[test]
fn a_release_left_behind_would_stop_the_process() {
    for release in [
        "PyMem_Free(n->text)",
        "PyMem_Free(memory)",
        "PyMem_Free(self->items)",
    ] {
        let after = rewritten();
        assert!(after.contains(release), "{after}");
        let wrong = after.replace(release, &release.replace("PyMem_", "PyObject_"));
        let output = drive(&wrong);
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("bad ID: Allocated using API"), "{said}");
    }
}
