//! Pythons to compile and run against.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod cases;
pub(crate) mod compile;
pub(crate) mod decided;
pub(crate) mod snapshots;
pub(crate) mod tree;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What the generated header can stand in for.
pub(crate) const COMPAT_FUNCTIONS: &[&str] = &[
    "Py_NewRef",
    "Py_XNewRef",
    "PyErr_GetRaisedException",
    "PyErr_SetRaisedException",
    "PyList_GetItemRef",
    "PyDict_GetItemRef",
    "PyDict_GetItemStringRef",
    "PyDict_SetDefaultRef",
    "PyDict_ContainsString",
    "PyWeakref_GetRef",
    "PyImport_AddModuleRef",
    "PyEval_GetFrameGlobals",
    "PyEval_GetFrameBuiltins",
    "PySys_GetOptionalAttrString",
    "PyUnstable_Object_IsUniquelyReferenced",
    "PyMutex",
    "Py_BEGIN_CRITICAL_SECTION",
    "Py_BEGIN_CRITICAL_SECTION2",
];

/// The interpreter of a free-threaded Python: `UNGIL_FT_PYTHON`, else the one that the script
/// builds.
pub(crate) fn free_threaded_python() -> PathBuf {
    if let Some(python) = std::env::var_os("UNGIL_FT_PYTHON") {
        return python.into();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/ft-python");
    let output = run(Command::new("bash").arg(script));
    String::from_utf8(output.stdout).unwrap().trim().into()
}

/// Include folders of Pythons newer than those of the machine, as the script fetches them.
pub(crate) fn newer_headers() -> Vec<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/python-headers");
    let output = run(Command::new("bash").arg(script));
    let text = String::from_utf8(output.stdout).unwrap();
    let folders = text.lines().map(|line| line.split_once(' ').unwrap().1);
    folders.map(PathBuf::from).collect()
}

/// Runs `command`, which must succeed.
pub(crate) fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{said}");
    output
}

/// The folder of the `Python.h` of an interpreter.
pub(crate) fn headers(python: &Path) -> String {
    let code = "import sysconfig; print(sysconfig.get_path('include'))";
    let output = run(Command::new(python).args(["-c", code]));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
