//! Static variables and fields of objects, before and after the rewrite, in a free-threaded debug
//! build of CPython.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::{free_threaded_python, headers, run};

/// Caches that threads fill at the same time: more than one, since a race can be missed.
const CACHES: usize = 24;

fn text(output: Output) -> String {
    String::from_utf8(output.stdout).unwrap()
}

/// The module with its caches: making the value takes long enough for others to come in.
fn source() -> String {
    let caches = (0..CACHES).map(|n| {
        format!(
            "static PyObject *\n\
             cache_{n}(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))\n\
             {{\n    static PyObject *items;\n    if (items == NULL)\n        \
             items = PyTuple_New(LENGTH);\n    return Py_XNewRef(items);\n}}\n\n"
        )
    });
    let table = (0..CACHES).map(|n| format!("{{\"cache_{n}\", cache_{n}, METH_NOARGS, NULL}},\n"));
    include_str!("shared_state/state.c")
        .replace("/* CACHES */", &caches.collect::<String>())
        .replace("/* TABLE */", &table.collect::<String>())
}

/// A folder with the extension module made from `source`.
fn build(source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("state.c"), source).unwrap();
    let headers = headers(&free_threaded_python());
    // The style of C89 is what older packages are held to; the headers themselves are newer.
    let strict = ["-Wall", "-Werror", "-Wdeclaration-after-statement"];
    let mut compiler = Command::new("gcc");
    compiler.current_dir(folder.path()).args(strict);
    compiler.args(["-shared", "-fPIC", "-O1", "-g", "-isystem", &headers]);
    run(compiler.args(["-o", "state.so", "state.c"]));
    folder
}

/// The module as the command rewrites it, with fixes to review or without.
fn rewritten(options: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.c");
    fs::write(&file, source()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    command
        .args([
            "migrate",
            "--select",
            "UG5",
            "--allow-no-vcs",
            "--min-python",
            "3.13",
        ])
        .args(options)
        .arg(".")
        .current_dir(folder.path());
    let output = command.output().unwrap();
    let text = fs::read_to_string(file).unwrap();
    assert_ne!(
        text,
        source(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

fn python(folder: &tempfile::TempDir, arguments: &[&str]) -> String {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shared_state");
    let mut python = Command::new(free_threaded_python());
    python
        .arg(tests.join(arguments[0]))
        .args(&arguments[1..])
        .env("PYTHONPATH", folder.path());
    text(run(&mut python))
}

#[test]
fn rewritten_functions_give_the_same_results() {
    let before = python(&build(&source()), &["results.py"]);
    assert_eq!(before.lines().count(), 7);
    assert!(
        before.lines().all(|line| line.ends_with(" balanced")),
        "{before}"
    );
    for options in [&[][..], &["--unsafe-fixes"]] {
        assert_eq!(python(&build(&rewritten(options)), &["results.py"]), before);
    }
}

#[test]
fn threads_lose_what_nobody_locks() {
    let said = python(&build(&source()), &["threads.py"]);
    assert_eq!(
        said,
        "caches: filled more than once\ncounter: counts lost\n"
    );
}

#[test]
fn threads_keep_what_the_rewrite_locks() {
    let new = rewritten(&["--unsafe-fixes"]);
    assert_eq!(new.matches("PyMutex_Lock(&").count(), CACHES + 3);
    assert_eq!(new.matches("Py_BEGIN_CRITICAL_SECTION(").count(), 5);
    let said = python(&build(&new), &["threads.py", "attributes"]);
    assert_eq!(
        said,
        "caches: each filled once\ncounter: all counted\nattributes: kept\n"
    );
}
