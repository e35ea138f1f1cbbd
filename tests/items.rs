//! Items of lists and dicts that one thread uses while another replaces them, before and after the
//! rewrite, in a free-threaded debug build of CPython, which fills the memory of dead objects.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::{free_threaded_python, headers, run};

const ITEMS: &str = include_str!("items/items.c");

/// A folder with the extension module made from the source; rewritten before if asked.
fn build(rewrite: bool) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("items.c");
    fs::write(&file, ITEMS).unwrap();
    if rewrite {
        let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
        ungil
            .args(["migrate", "--select", "UG1", "--unsafe-fixes"])
            .args(["--allow-no-vcs", "--min-python", "3.13", "."])
            .current_dir(folder.path());
        let output = ungil.output().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("PyList_GetItemRef("), "{output:?}");
        assert!(text.contains("PyDict_GetItemStringRef("), "{output:?}");
    }
    let mut gcc = Command::new("gcc");
    gcc.current_dir(folder.path())
        .args(["-Wall", "-Werror", "-shared", "-fPIC", "-O1", "-g"])
        .args(["-isystem", &headers(&free_threaded_python())])
        .args(["-o", "items.so", "items.c"]);
    run(&mut gcc);
    folder
}

fn threads(folder: &tempfile::TempDir, container: &str, how: &str) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/items/threads.py");
    let mut python = Command::new(free_threaded_python());
    python.arg(script).args([container, how]);
    python.env("PYTHONPATH", folder.path());
    python.output().unwrap()
}

#[test]
fn a_borrowed_item_dies_while_it_is_in_use() {
    let folder = build(false);
    for container in ["list", "dict"] {
        let output = threads(&folder, container, "meet");
        assert!(!output.status.success(), "{container}: {output:?}");
    }
}

#[test]
fn a_list_gets_shorter_between_its_size_and_its_items() {
    let folder = build(true);
    for function in ["list_total", "list_nones"] {
        let output = threads(&folder, function, "shrink");
        assert!(output.status.success(), "{function}: {output:?}");
        assert_eq!(output.stdout, b"held\n");
    }
}

#[test]
fn an_item_of_its_own_stays() {
    let folder = build(true);
    for container in ["list", "dict"] {
        for how in ["meet", "race"] {
            let output = threads(&folder, container, how);
            assert!(output.status.success(), "{container} {how}: {output:?}");
            assert_eq!(output.stdout, b"held\n");
        }
    }
}
