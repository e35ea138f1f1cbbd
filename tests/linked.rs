//! Packages of several modules: what is in the files of one says nothing of another that is not
//! linked with them, and all of one that is.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::fs;
use std::process::Command;

/// Shared state, and what writes it.
const STATE: &str = "\
static int count;
int helper(int n) { count += n; return count; }
";
const SETUP: &str = "\
from setuptools import Extension, setup
setup(ext_modules=[
    Extension('pkg.a', ['a.c']),
    Extension('pkg.b', ['b.c', 'state.c']),
])
";

/// A module whose method returns `value`.
fn module(name: &str, before: &str, value: &str) -> String {
    format!(
        r#"#include <Python.h>
{before}
static PyObject *f(PyObject *self, PyObject *arg) {{ return PyLong_FromLong({value}); }}
static PyMethodDef methods[] = {{{{"f", f, METH_O, NULL}}, {{NULL, NULL, 0, NULL}}}};
static int exec(PyObject *m) {{ return 0; }}
static PyModuleDef_Slot slots[] = {{{{Py_mod_exec, exec}}, {{0, NULL}}}};
static PyModuleDef def = {{PyModuleDef_HEAD_INIT, .m_name = "{name}", .m_methods = methods, .m_slots = slots}};
PyMODINIT_FUNC PyInit_{name}(void) {{ return PyModuleDef_Init(&def); }}
"#
    )
}

/// The files that the program declares safe, of a package with these files.
fn declared(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    command.args(["diff", "--min-python", "3.13"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    assert!(
        output.status.code().is_some_and(|code| code < 2),
        "{output:?}"
    );
    let patch = String::from_utf8(output.stdout).unwrap();
    let mut safe = String::new();
    for part in patch.split("\n+++ b/").skip(1) {
        if part.contains("Py_mod_gil, Py_MOD_GIL_NOT_USED") {
            write!(safe, "{} ", part.lines().next().unwrap()).unwrap();
        }
    }
    safe
}

/// Whether module `a`, beside module `b` with shared state, is declared: with what stands before
/// its method, the value that this returns, and more files.
fn is_declared(before: &str, value: &str, more: &[(&str, &str)]) -> bool {
    let a = module("a", before, value);
    let b = module("b", "int helper(int);", "helper(1)");
    let mut files = vec![("a.c", &*a), ("b.c", &*b), ("state.c", STATE)];
    files.retain(|(path, _)| more.iter().all(|(other, _)| other != path));
    files.extend(more);
    let safe = declared(&files);
    assert!(!safe.contains("b.c"), "{safe}");
    safe.contains("a.c")
}

#[test]
fn state_of_another_module_is_its_own() {
    assert!(is_declared("", "1", &[("setup.py", SETUP)]));
    assert!(is_declared("", "1", &[]));
    // A prototype names nothing, nor does a field.
    let before = "#include \"all.h\"\nstruct s { int helper; };";
    let all = ("all.h", "int helper(int);\nextern int other;\n");
    let value = "((struct s *)self)->helper";
    assert!(is_declared(before, value, &[("setup.py", SETUP), all]));
    assert!(is_declared(before, value, &[all]));
    // What is its own is no other's, though it has the name.
    let own = "int helper(int n) { return n; }";
    assert!(is_declared(own, "helper(1)", &[("setup.py", SETUP)]));
    assert!(is_declared(own, "helper(1)", &[]));
}

#[test]
fn state_that_is_reached_counts_whatever_the_build_says() {
    let prototype = "int helper(int);";
    let through = (
        "more.c",
        "int helper(int);\nint more(int n) { return helper(n); }\n",
    );
    let included = (
        "part.inc",
        "int helper(int);\nstatic int part(int n) { return helper(n); }\n",
    );
    let header = ("glue.h", "#define GLUE(name) helper\n");
    let pasted = "int helper(int);\n#define CALL(a, b) a##b";
    let table = "int helper(int);\nstatic struct { int (*call)(int); } table[] = {{helper}};";
    let chosen = "int helper(int);\n#ifdef FAST\n#define CALL(n) helper(n)\n#else\n#define CALL(n) (n)\n#endif";
    for build in [Some(SETUP), None] {
        let racy = |before: &str, value: &str, more: &[(&str, &str)]| {
            let build = build.map(|text| ("setup.py", text));
            let files: Vec<_> = more.iter().copied().chain(build).collect();
            assert!(
                !is_declared(before, value, &files),
                "{before} {value} {build:?}"
            );
        };
        racy(prototype, "helper(1)", &[]);
        racy("int more(int);", "more(1)", &[through]);
        racy("#include \"part.inc\"", "part(1)", &[included]);
        racy(
            "int helper(int);\n#include \"glue.h\"",
            "GLUE(x)(1)",
            &[header],
        );
        racy(pasted, "CALL(hel, per)(1)", &[]);
        racy(table, "table[0].call(1)", &[]);
        racy(chosen, "CALL(1)", &[]);
        // A variable instead of a function.
        let state = (
            "state.c",
            "int count;\nint helper(int n) { count += n; return count; }\n",
        );
        racy("extern int count;", "count", &[state]);
        // In the file of the other module itself.
        let b = module("b", STATE, "helper(1)");
        racy(prototype, "helper(1)", &[("b.c", &b), ("state.c", "")]);
        // By way of C++.
        let glue = (
            "glue.cpp",
            "extern \"C\" int helper(int);\nextern \"C\" int glue(int n) { return helper(n); }\n",
        );
        racy("int glue(int);", "glue(1)", &[glue]);
    }
}

#[test]
fn variants_of_a_platform_count_all() {
    let other = ("win.c", "int helper(int n) { return n; }\n");
    let a = "int helper(int);";
    assert!(!is_declared(a, "helper(1)", &[other]));
    // One of two files that define it is compiled.
    let setup = SETUP.replace("['a.c']", "['a.c', 'win.c' if WIN else 'state.c']");
    assert!(!is_declared(a, "helper(1)", &[other, ("setup.py", &setup)]));
    // It is defined beside, but not in each build.
    let own = "int helper(int);\n#ifdef OWN\nint helper(int n) { return n; }\n#endif";
    assert!(!is_declared(own, "helper(1)", &[("setup.py", SETUP)]));
    let weak = "__attribute__((weak)) int helper(int n) { return n; }";
    assert!(!is_declared(weak, "helper(1)", &[("setup.py", SETUP)]));
}

#[test]
fn code_that_runs_by_itself_is_of_each_module() {
    let hook = "static int count;\nstatic void tick(void) { count++; }\n\
        __attribute__((constructor)) static void start(void) { tick(); }\n\
        void later(void) { count++; }\n";
    let used = ("hook.c", hook);
    let b = module("b", "void later(void);", "(later(), 1)");
    assert!(!is_declared("", "1", &[used, ("b.c", &b)]));
}

#[test]
fn a_file_that_makes_one_module_of_all_is_another() {
    let all = ("all.c", "#include \"a.c\"\n#include \"state.c\"\n");
    assert!(is_declared("", "1", &[("setup.py", SETUP), all]));
    assert!(!is_declared("", "1", &[all]));
}

#[test]
fn a_source_that_is_named_belongs() {
    // Nothing names what is in it, but it is compiled in.
    let setup = SETUP.replace("['a.c']", "['a.c', 'state.c']");
    assert!(!is_declared("", "1", &[("setup.py", &setup)]));
    // What is not seen of the sources is what the code names.
    let setup = SETUP.replace("['a.c']", "['a.c'] + more()");
    assert!(is_declared("", "1", &[("setup.py", &setup)]));
    assert!(!is_declared(
        "int helper(int);",
        "helper(1)",
        &[("setup.py", &setup)]
    ));
}

#[test]
fn modules_whose_names_a_build_makes_have_all_files() {
    let setup = "\
from setuptools import Extension
for name in ('fast', 'slow'):
    Extension(name, ['a.c'], define_macros=[('NAME', name)])
";
    assert!(!is_declared("", "1", &[("setup.py", setup)]));
}

#[test]
fn definitions_that_macros_make_may_be_what_is_missing() {
    let state = format!("{STATE}MAKE_FUNCTIONS(more, 3 +)\n");
    let files = [("state.c", &*state), ("setup.py", SETUP)];
    assert!(is_declared("", "1", &files));
    assert!(!is_declared("int more(int);", "more(1)", &files));
}

#[test]
fn a_program_beside_the_modules_is_linked_with_none() {
    let program = (
        "test.c",
        "static int n;\nint rounded(int i) { return n += i; }\nint main(void) { return rounded(1); }\n",
    );
    let before = "static int get(struct s *it) { return it->rounded; }\n#define rounded 3";
    let value = "rounded";
    assert!(is_declared(before, value, &[("setup.py", SETUP), program]));
}

/// A helper of one name in each file: what that of `a` says is not said of `b`.
#[test]
fn a_helper_declares_the_module_that_calls_it() {
    let made = |name: &str, says: &str| {
        format!(
            r#"#include <Python.h>
static struct PyModuleDef def = {{PyModuleDef_HEAD_INIT, "{name}", NULL, -1, NULL}};
static PyObject *make(void)
{{
    PyObject *module = PyModule_Create(&def);
    if (module == NULL)
        return NULL;
    {says}
    return module;
}}
PyMODINIT_FUNC PyInit_{name}(void) {{ return make(); }}
"#
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let says = "PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED);";
    fs::write(folder.path().join("a.c"), made("a", says)).unwrap();
    fs::write(folder.path().join("b.c"), made("b", "")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    command.args(["diff", "--min-python", "3.13"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let patch = String::from_utf8(output.stdout).unwrap();
    let changed: Vec<&str> = patch
        .lines()
        .filter(|line| line.starts_with("+++ "))
        .collect();
    assert_eq!(changed, ["+++ b/b.c"], "{patch}");
}
