//! Stores into lists, fields of objects and lists of weak references, before and after the rewrite,
//! in a free-threaded debug build of CPython.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::tree::Tree;
use support::{free_threaded_python, headers, run};

const ACCESS: &str = include_str!("unsafe_access/access.c");
const COUNTS: &str = include_str!("unsafe_access/counts.c");
const UNIQUE: &str = include_str!("unsafe_access/unique.c");
const WEAK: &str = include_str!("unsafe_access/weak.c");

/// Compiles `source` as the module `name` in `folder`; whether that works is told by the output.
fn compile(folder: &Path, name: &str, source: &str) -> Output {
    fs::write(folder.join(format!("{name}.c")), source).unwrap();
    let mut compiler = Command::new("gcc");
    compiler
        .current_dir(folder)
        .args(["-Wall", "-Werror", "-shared", "-fPIC", "-O1", "-g"])
        .args(["-isystem", &headers(&free_threaded_python())])
        .args(["-o", &format!("{name}.so"), &format!("{name}.c")]);
    compiler.output().unwrap()
}

/// `source` as the command rewrites it; a second run changes nothing.
fn rewritten(source: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("module.c");
    fs::write(&file, source).unwrap();
    let ungil = |command: &str, more: &[&str]| {
        let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
        ungil
            .args([command, "--select", "UG701,UG702,UG706", "--unsafe-fixes"])
            .args(["--min-python", "3.13", "."])
            .args(more)
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let first = ungil("migrate", &["--allow-no-vcs"]);
    let text = fs::read_to_string(&file).unwrap();
    assert_ne!(text, source, "{first:?}");
    let second = ungil("diff", &[]);
    assert!(second.stdout.is_empty(), "{second:?}");
    text
}

/// What `script` prints with the module made from `source`.
fn python(name: &str, source: &str, script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let compiled = compile(folder.path(), name, source);
    assert!(compiled.status.success(), "{compiled:?}");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unsafe_access");
    let mut python = Command::new(free_threaded_python());
    python
        .arg(tests.join(script))
        .env("PYTHONPATH", folder.path());
    String::from_utf8(run(&mut python).stdout).unwrap()
}

#[test]
fn fields_and_stores_give_the_same_results() {
    let new = rewritten(ACCESS);
    assert_eq!(new.matches("->ob_").count(), 0, "{new}");
    assert_eq!(new.matches("PyList_SetItem(").count(), 1);
    assert_eq!(new.matches("PyList_SET_ITEM(").count(), 1);
    let before = python("access", ACCESS, "results.py");
    assert_eq!(before.lines().count(), 5);
    assert_eq!(python("access", &new, "results.py"), before);
}

#[test]
fn items_of_a_shared_list_are_released() {
    let left = |source: &str| python("access", source, "threads.py");
    // Four threads store two thousand items each; the last one is still there.
    assert_eq!(left(ACCESS), "left behind: 7999\n");
    assert_eq!(left(&rewritten(ACCESS)), "left behind: 0\n");
}

#[test]
fn lists_of_weak_references_are_cleared_as_before() {
    let new = rewritten(WEAK);
    assert_eq!(new.matches("if (self->weakrefs").count(), 0, "{new}");
    let before = python("weak", WEAK, "forget.py");
    assert_eq!(before, "'Node' 'Made' 'Sub' 'Slotted' 8\ndone\n");
    assert_eq!(python("weak", &new, "forget.py"), before);
}

#[test]
fn counts_are_read_where_the_field_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let before = compile(folder.path(), "counts", COUNTS);
    let said = String::from_utf8_lossy(&before.stderr);
    assert!(said.contains("ob_refcnt"), "{said}");
    let after = python("counts", &rewritten(COUNTS), "read_counts.py");
    assert_eq!(after, "True []\n");
}

/// What `whose.py` prints under `python` with the module in `folder`.
fn whose(folder: &Path, python: &Path) -> String {
    let mut compiler = Command::new("gcc");
    compiler
        .current_dir(folder)
        .args(["-Wall", "-Werror", "-shared", "-fPIC", "-O1", "-g"])
        .args(["-isystem", &headers(python), "-o", "unique.so", "unique.c"]);
    run(&mut compiler);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unsafe_access");
    let mut python = Command::new(python);
    python.arg(tests.join("whose.py")).env("PYTHONPATH", folder);
    String::from_utf8(run(&mut python).stdout).unwrap()
}

#[test]
fn what_another_thread_made_is_shared() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("unique.c"), UNIQUE).unwrap();
    let (with, without) = (Path::new("python3"), free_threaded_python());
    let before = "True False False\n";
    assert_eq!(whose(path, with), before);
    assert_eq!(whose(path, &without), before);

    let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
    let options = [
        "--select",
        "UG703",
        "--unsafe-fixes",
        "--allow-no-vcs",
        "--min-python=3.9",
    ];
    let _ = ungil
        .current_dir(path)
        .arg("migrate")
        .args(options)
        .output();
    let new = fs::read_to_string(path.join("unique.c")).unwrap();
    assert_eq!(new.matches("Py_REFCNT").count(), 0, "{new}");
    assert_eq!(whose(path, with), before, "with the GIL nothing changes");
    assert_eq!(whose(path, &without), "True False True\n");
}

/// A test of the field is a test of the count and a read of the field.
#[test]
fn a_tested_field_is_asked_for_once() {
    let source = "#include <Python.h>\nint f(PyObject *a)\n{\n    return a->ob_refcnt == 1;\n}\n";
    let tree = Tree::new(&[("m.c", source.as_bytes())]);
    let written = |more: &[&str]| {
        let common = [
            "migrate",
            "--allow-no-vcs",
            "--min-python=3.14",
            "--select=UG7",
        ];
        tree.ungil(&[&common, more].concat());
        tree.text("m.c").lines().nth(3).unwrap().trim().to_owned()
    };
    assert_eq!(written(&[]), "return Py_REFCNT(a) == 1;");
    tree.write("m.c", source);
    let question = "return PyUnstable_Object_IsUniquelyReferenced(a);";
    assert_eq!(written(&["--unsafe-fixes"]), question);
    assert_eq!(written(&["--unsafe-fixes"]), question);
}
