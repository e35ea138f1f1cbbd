//! Extension modules before and after the rewrite: do they compile, and does a free-threaded
//! Python leave the GIL off when it imports them?

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{free_threaded_python, headers, run};

const SLOTS: &str = "
static int m_exec(PyObject *m) { return 0; }
static PyModuleDef_Slot slots[] = {{Py_mod_exec, m_exec}, {0, NULL}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, \"m\", NULL, 0, NULL, slots};
PyMODINIT_FUNC PyInit_m(void) { return PyModuleDef_Init(&def); }
";

const NO_SLOTS: &str = "
static struct PyModuleDef def = {
    PyModuleDef_HEAD_INIT,
    .m_name = \"m\",
};
PyMODINIT_FUNC PyInit_m(void) { return PyModuleDef_Init(&def); }
";

const STORED: &str = "
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, \"m\", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_m(void)
{
    PyObject *m = PyModule_Create(&def);
    int rc;
    if (m == NULL)
        return NULL;
    rc = PyModule_AddIntConstant(m, \"n\", 1);
    if (rc < 0) {
        Py_DECREF(m);
        return NULL;
    }
    return m;
}
";

const RETURNED: &str = "
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, \"m\", NULL, -1, NULL};
static int ready;
PyMODINIT_FUNC PyInit_m(void)
{
    ready = 1;
    return PyModule_Create(&def);
}
";

fn compile(folder: &Path, headers: &str, flags: &[&str]) {
    // The style of C89 is what older packages are held to; the headers themselves are newer.
    let strict = ["-Wall", "-Werror", "-Wdeclaration-after-statement"];
    let mut gcc = Command::new("gcc");
    gcc.current_dir(folder).args(strict).args(flags);
    run(gcc.args(["-isystem", headers, "m.c"]));
}

/// Whether the GIL is on after the import, without a warning if it is off.
fn gil_after_import(folder: &Path, python: &Path) -> String {
    let code = "import sys, m; print(sys._is_gil_enabled())";
    let output = run(Command::new(python).args(["-c", code]).current_dir(folder));
    let said = String::from_utf8(output.stderr).unwrap();
    let gil = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    assert_eq!(said.contains("has been enabled"), gil == "True", "{said}");
    gil
}

fn ungil(folder: &Path) -> Command {
    let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
    ungil.current_dir(folder);
    ungil
}

/// What the statistics say of the module.
fn declared(folder: &Path) -> String {
    let file = folder.join("stats.json");
    let check = ungil(folder)
        .arg("check")
        .arg("--stats-file")
        .arg(&file)
        .output();
    assert!(check.unwrap().status.code().is_some_and(|code| code < 2));
    let stats: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let module = &stats["modules"][0];
    assert_eq!(module["name"], "m");
    module["declared"].as_str().unwrap().to_owned()
}

/// Headers of other Pythons on the machine.
fn other_headers() -> Vec<String> {
    let home = std::env::var_os("HOME").unwrap_or_default();
    let versions = fs::read_dir(Path::new(&home).join(".pyenv/versions"));
    let pythons = versions
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path());
    let wanted = ["3.8.", "3.12."];
    pythons
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            wanted.iter().any(|version| name.starts_with(version))
        })
        .map(|path| headers(&path.join("bin/python3")))
        .collect()
}

#[test]
fn declared_modules_leave_the_gil_off() {
    let python = free_threaded_python();
    let headers = headers(&python);
    let other = other_headers();
    for text in [SLOTS, NO_SLOTS, STORED, RETURNED] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let shared = ["-shared", "-fPIC", "-o", "m.so"];
        fs::write(path.join("m.c"), format!("#include <Python.h>\n{text}")).unwrap();
        compile(path, &headers, &shared);
        assert_eq!(gil_after_import(path, &python), "True", "{text}");
        assert_eq!(declared(path), "safe", "{text}");
        let fixes = ["--unsafe-fixes", "--select", "UG2"];
        run(ungil(path).args(["migrate", "--allow-no-vcs"]).args(fixes));
        assert_eq!(declared(path), "already", "{text}");
        let again = run(ungil(path).arg("diff").args(fixes));
        assert!(again.stdout.is_empty(), "{text}");
        compile(path, &headers, &shared);
        assert_eq!(gil_after_import(path, &python), "False", "{text}");
        for headers in &other {
            compile(path, headers, &["-fsyntax-only"]);
        }
    }
}
