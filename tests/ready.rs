//! Small modules whose methods race, the same without a race, with locks, and without a race that is
//! easy to prove: only the second may be declared without a question.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::process::Command;

use support::{free_threaded_python, headers, run};

const FRAME: &str = r#"
static PyMethodDef methods[] = {{"f", f, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static int exec(PyObject *m) { return 0; }
static PyModuleDef_Slot slots[] = {{Py_mod_exec, exec}, {0, NULL}};
static PyModuleDef def = {PyModuleDef_HEAD_INIT, .m_name = "m", .m_methods = methods, .m_slots = slots};
PyMODINIT_FUNC PyInit_m(void) { return PyModuleDef_Init(&def); }
"#;

/// The cases of a file: what each begins with, and its code as a module.
fn cases(text: &'static str) -> Vec<(&'static str, String)> {
    let cases = text.split("/*** ").skip(1);
    let cases = cases.map(|case| {
        let (title, code) = case.split_once(" */\n").unwrap();
        let takes_many = code.contains("f(PyObject *self, PyObject *args)");
        let kind = if takes_many { "METH_VARARGS" } else { "METH_O" };
        let frame = FRAME.replace("METH_O", kind);
        (title, format!("#include <Python.h>\n{code}{frame}"))
    });
    cases.collect()
}

fn folder(code: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.c"), code).unwrap();
    folder
}

/// What the program prints with these arguments, on a module.
fn ungil(folder: &tempfile::TempDir, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    command.args(arguments).args(["--min-python", "3.13", "-v"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert!(
        output.status.code().is_some_and(|code| code < 2),
        "{output:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

fn is_declared(folder: &tempfile::TempDir) -> bool {
    ungil(folder, &["diff"]).contains("Py_mod_gil, Py_MOD_GIL_NOT_USED")
}

#[test]
fn a_write_that_threads_may_meet_at_is_named() {
    let mut wrong = Vec::new();
    for (title, code) in cases(include_str!("ready/racy.c")) {
        let (_, named) = title.split_once(": ").unwrap();
        let folder = folder(&code);
        let said = ungil(&folder, &["check"]);
        if is_declared(&folder) || !said.contains(named) {
            wrong.push(format!("{title}\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_module_whose_writes_are_accounted_for_is_declared() {
    let mut wrong = Vec::new();
    for (title, code) in cases(include_str!("ready/innocent.c")) {
        let folder = folder(&code);
        if !is_declared(&folder) {
            wrong.push(format!("{title}\n{}", ungil(&folder, &["check"])));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that each module of `text` has one question, which `says` what is asked and names the place
/// in its title.
fn asks_once(text: &'static str, says: &str) {
    let mut wrong = Vec::new();
    for (title, code) in cases(text) {
        let (_, named) = title.split_once(": ").unwrap();
        let folder = folder(&code);
        let said = ungil(&folder, &["check"]);
        let asked: Vec<&str> = said
            .lines()
            .filter(|it| it.contains("to confirm:"))
            .collect();
        let is_it = |it: &&str| it.contains(says) && it.contains(named);
        if is_declared(&folder) || asked.len() != 1 || !asked.iter().all(is_it) {
            wrong.push(format!("{title}\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_locks_account_for_is_the_one_thing_to_confirm() {
    asks_once(include_str!("ready/locked.c"), "under the lock of these");
}

#[test]
fn what_is_private_without_a_short_proof_is_the_one_thing_to_confirm() {
    asks_once(include_str!("ready/asked.c"), "this could not be proven");
}

#[test]
fn what_is_left_of_a_declared_module_is_named() {
    let (_, code) = cases(include_str!("ready/racy.c")).remove(0);
    let slot = "{Py_mod_exec, exec}, {Py_mod_gil, Py_MOD_GIL_NOT_USED},";
    let folder = folder(&code.replace("{Py_mod_exec, exec},", slot));
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    let output = command.arg("check").current_dir(folder.path()).output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    let left = "Module `m` declares that it runs without the GIL; check that no two threads make these writes to the same data, although no lock was found around them: `s->n` in `f` (m.c:";
    assert!(said.contains(left), "{said}");
}

#[test]
fn the_modules_compile() {
    let headers = headers(&free_threaded_python());
    for text in [
        include_str!("ready/racy.c"),
        include_str!("ready/innocent.c"),
        include_str!("ready/locked.c"),
        include_str!("ready/asked.c"),
    ] {
        for (_, code) in cases(text) {
            let folder = folder(&code);
            let mut compiler = Command::new("gcc");
            compiler
                .current_dir(folder.path())
                .args(["-w", "-fsyntax-only"]);
            run(compiler.args(["-isystem", &headers, "m.c"]));
        }
    }
}
