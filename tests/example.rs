//! The bundled example: its patch applies, compiles, and leaves nothing for a second run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::{headers, run};

fn ungil(folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    command
        .args(["diff", "example"])
        .current_dir(folder)
        .output()
        .unwrap()
}

fn compile(folder: &Path, headers: &str) {
    let mut gcc = Command::new("gcc");
    // The example looks behind weak references as one did before 3.13.
    gcc.args([
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-deprecated-declarations",
    ]);
    run(gcc
        .args(["-isystem", headers, "example/inventory.c"])
        .current_dir(folder));
}

#[test]
fn the_patch_of_the_example_applies_and_compiles() {
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/example");
    let temporary = tempfile::tempdir().unwrap();
    let top = temporary.path();
    fs::create_dir(top.join("example")).unwrap();
    for entry in fs::read_dir(original).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), top.join("example").join(entry.file_name())).unwrap();
    }
    run(Command::new("git").args(["init", "-q"]).current_dir(top));
    let headers = headers(Path::new("python3"));
    compile(top, &headers);

    let patch = ungil(top);
    assert_eq!(patch.status.code(), Some(1), "{patch:?}");
    assert!(!patch.stdout.is_empty());
    fs::write(top.join("the.patch"), &patch.stdout).unwrap();
    run(Command::new("git")
        .args(["apply", "the.patch"])
        .current_dir(top));
    compile(top, &headers);

    let again = ungil(top);
    assert_eq!(
        (again.status.code(), again.stdout.as_slice()),
        (Some(0), &b""[..])
    );
}
