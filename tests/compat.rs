//! The generated header on a Python that lacks what it provides: it compiles without a warning,
//! and its functions keep the conventions of the native ones.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{headers, run};

const FUNCTIONS: &[&str] = &[
    "Py_NewRef",
    "Py_XNewRef",
    "PyList_GetItemRef",
    "PyDict_GetItemRef",
    "PyDict_GetItemStringRef",
    "PyDict_SetDefaultRef",
    "PyDict_ContainsString",
    "PyWeakref_GetRef",
    "PyImport_AddModuleRef",
    "Py_BEGIN_CRITICAL_SECTION",
    "Py_BEGIN_CRITICAL_SECTION2",
];

/// Fails with the number of the line that does not hold.
const EXTENSION: &str = r#"
#include "ungil_compat.h"
#define HOLDS(x) do { if (!(x)) { PyErr_Format(PyExc_AssertionError, "line %d", __LINE__); return NULL; } } while (0)

static PyObject *
check(PyObject *self, PyObject *args)
{
    PyObject *dict, *list, *unhashable, *key, *v, *ref, *target;
    (void)self;
    if (!PyArg_ParseTuple(args, "OOOOOO", &dict, &list, &unhashable, &key, &ref, &target))
        return NULL;
    v = PyList_GetItemRef(list, 0);
    HOLDS(v != NULL); Py_DECREF(v);
    v = PyList_GetItemRef(list, 9);
    HOLDS(v == NULL && PyErr_ExceptionMatches(PyExc_IndexError)); PyErr_Clear();
    HOLDS(PyDict_GetItemRef(dict, key, &v) == 1 && v != NULL); Py_DECREF(v);
    HOLDS(PyDict_GetItemRef(dict, list, &v) == -1 && v == NULL && PyErr_Occurred()); PyErr_Clear();
    HOLDS(PyDict_GetItemRef(dict, Py_None, &v) == 0 && v == NULL && !PyErr_Occurred());
    HOLDS(PyDict_GetItemStringRef(dict, "key", &v) == 1); Py_DECREF(v);
    HOLDS(PyDict_GetItemStringRef(dict, "none", &v) == 0 && v == NULL);
    HOLDS(PyDict_GetItemStringRef(dict, "\xff", &v) == -1 && v == NULL); PyErr_Clear();
    HOLDS(PyDict_ContainsString(dict, "key") == 1 && PyDict_ContainsString(dict, "none") == 0);
    HOLDS(PyDict_SetDefaultRef(dict, key, Py_None, &v) == 1 && v != Py_None); Py_DECREF(v);
    HOLDS(PyDict_SetDefaultRef(dict, Py_True, target, &v) == 0 && v == target); Py_DECREF(v);
    HOLDS(PyDict_SetDefaultRef(dict, Py_True, key, NULL) == 1);
    HOLDS(PyDict_SetDefaultRef(dict, unhashable, key, &v) == -1 && v == NULL); PyErr_Clear();
    HOLDS(PyWeakref_GetRef(ref, &v) == 1 && v == target); Py_DECREF(v);
    HOLDS(PyWeakref_GetRef(target, &v) == -1 && v == NULL); PyErr_Clear();
    v = PyImport_AddModuleRef("sys");
    HOLDS(v != NULL); Py_DECREF(v);
    v = Py_NewRef(target); HOLDS(v == target); Py_DECREF(v);
    HOLDS(Py_XNewRef(NULL) == NULL);
    Py_BEGIN_CRITICAL_SECTION(dict);
    Py_BEGIN_CRITICAL_SECTION2(dict, list);
    HOLDS(dict != list);
    Py_END_CRITICAL_SECTION2();
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {{"check", check, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, "m", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_m(void) { return PyModule_Create(&def); }
"#;

const SCRIPT: &str = "
import gc, m, sys
class Target: pass
import weakref
target = Target()
def once():
    m.check({'key': []}, [[]], [], 'key', weakref.ref(target), target)
for _ in range(3): once()
before = sys.getrefcount(target)
for _ in range(100): once()
assert sys.getrefcount(target) == before, 'a reference to the target is lost'
";

fn old_python() -> PathBuf {
    PathBuf::from("python3")
}

#[test]
fn the_header_keeps_the_conventions_of_the_native_functions() {
    let python = old_python();
    let include = headers(&python);
    assert!(
        Path::new(&include).join("Python.h").exists(),
        "needs the headers of python3: {include}"
    );
    let folder = tempfile::tempdir().unwrap();
    let functions = FUNCTIONS.iter().copied().collect();
    fs::write(
        folder.path().join("ungil_compat.h"),
        ungil::compat::header(&functions),
    )
    .unwrap();
    fs::write(folder.path().join("m.c"), EXTENSION).unwrap();
    let strict = [
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wdeclaration-after-statement",
        "-fPIC",
        "-shared",
    ];
    let mut gcc = Command::new("gcc");
    gcc.current_dir(folder.path()).args(strict);
    run(gcc.args(["-isystem", &include, "m.c", "-o", "m.so"]));
    run(Command::new(python)
        .args(["-c", SCRIPT])
        .current_dir(folder.path()));
}
