//! Packages of several modules: what is in the files of one says nothing of another that is not
//! linked with them, and all of one that is.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::fs;
use std::process::{Command, Output};

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

/// What the program does with a package of these files.
fn ungil(files: &[(&str, &str)], command: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut ungil = Command::new(env!("CARGO_BIN_EXE_ungil"));
    ungil.args([command, "--min-python", "3.13"]);
    let output = ungil.current_dir(folder.path()).output().unwrap();
    assert!(
        output.status.code().is_some_and(|code| code < 2),
        "{output:?}"
    );
    output
}

/// What the program says of the modules of a package with these files.
fn said(files: &[(&str, &str)]) -> String {
    String::from_utf8(ungil(files, "check").stderr).unwrap()
}

/// The files that the program declares safe, of a package with these files.
fn declared(files: &[(&str, &str)]) -> String {
    let patch = String::from_utf8(ungil(files, "diff").stdout).unwrap();
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
    // Nothing else defines what the module declares.
    let before = "int rounded(int);";
    assert!(!is_declared(before, "rounded(1)", &[program]));
    let other = ("other.c", "int rounded(int i) { return i; }\n");
    assert!(is_declared(before, "rounded(1)", &[program, other]));
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

#[test]
fn a_header_from_outside_names_headers_from_outside() {
    // Beside it stands another file with a static function of the name that the module names.
    let rect = "static int n;\nstatic int rect(int i) { return n += i; }\n\
        int other(int i) { return rect(i); }\n";
    let b = module("b", "int other(int);", "other(1)");
    let files = |header: &'static str| [("draw.c", rect), ("state.h", header)];
    // Of the library's function nothing else is known.
    let fact = "/* ungil: thread-safe(rect) */";
    let own =
        |include: &str| format!("{fact}\n#include \"state.h\"\n#include {include}\nint rect(int);");
    let is_safe = |include: &str, header: &'static str, more: (&'static str, &'static str)| {
        let files = files(header);
        let all: Vec<_> = files.iter().copied().chain([more, ("b.c", &*b)]).collect();
        is_declared(&own(include), "rect(1)", &all)
    };
    let none = ("note.txt", "");
    assert!(is_safe("LIBRARY_H", "", none));
    // What the package says of it, or a build, may lead to `draw.c`.
    assert!(!is_safe("OWN_H", "#define OWN_H \"draw.c\"\n", none));
    let setup = ("setup.py", "flags = ['-DOWN_H=\"draw.c\"']\n");
    assert!(!is_safe("OWN_H", "", setup));
}

#[test]
fn what_only_programs_use_is_of_no_module() {
    // The build gives the module another name, so that any file may be part of it.
    let setup = (
        "setup.py",
        "from setuptools import Extension\nExtension('c', ['a.c'])\n",
    );
    let tool = (
        "tool.c",
        "static int n;\nint step(int i) { n += i; return n; }\n",
    );
    let program = "static int n;\nint step(int);\nint main(void) { n++; return step(1); }\n";
    let program = ("test.c", program);
    let with = |more: (&'static str, &'static str)| {
        let a = module("a", "static int step(int i) { return i; }", "step(1)");
        let files = [("a.c", &*a), setup, tool, more];
        declared(&files).contains("a.c")
    };
    assert!(with(program));
    // Nobody is seen to use it, or it is no program in each build.
    assert!(!with(("note.txt", "")));
    let test = "#ifdef TEST\nint step(int);\nint main(void) { return step(1); }\n#endif\n";
    assert!(!with(("test.c", test)));
    // The program is linked with the module.
    let embeds = "#include <Python.h>\nPyObject *PyInit_a(void);\nint step(int);\nint main(void)\n\
        { PyImport_AppendInittab(\"a\", PyInit_a); return step(1); }\n";
    assert!(!with(("test.c", embeds)));
}

#[test]
fn a_program_that_includes_a_source_is_another() {
    let program = (
        "test.c",
        "#include \"a.c\"\nstatic int n;\nint main(void) { return ++n; }\n",
    );
    assert!(is_declared("", "1", &[("setup.py", SETUP), program]));
    assert!(is_declared("", "1", &[program]));
}

#[test]
fn a_macro_is_no_function_of_another_file() {
    let header = (
        "api.h",
        "#ifndef API_INTERNAL\n#define helper(n) (n)\n#endif\n",
    );
    let before = "#include \"api.h\"";
    // It is one where the word is defined.
    let internal = "#define API_INTERNAL\n#include \"api.h\"\nint helper(int);";
    assert!(!is_declared(internal, "helper(1)", &[header]));
    let setup = ("setup.py", "flags = ['-DAPI_INTERNAL']\n");
    let other = ("more.c", "#define API_INTERNAL\n#include \"api.h\"\n");
    let later = "#include \"api.h\"\n#undef helper\nint helper(int);";
    assert!(is_declared(before, "helper(1)", &[header, other]));
    assert!(!is_declared(before, "helper(1)", &[header, other, setup]));
    assert!(!is_declared(later, "helper(1)", &[header]));
    // Without `(` it is the function.
    let bare = "#include \"first.h\"\n#include \"api.h\"";
    let first = ("first.h", "int helper(int);\n");
    let all = &[header, other, first];
    assert!(is_declared(bare, "helper(1)", all));
    assert!(!is_declared(bare, "(helper)(1)", all));
    // Python's own options define `NDEBUG`.
    let header = ("api.h", "#ifndef NDEBUG\n#define helper(n) (n)\n#endif\n");
    let other = ("more.c", "#define NDEBUG\n#include \"api.h\"\n");
    assert!(!is_declared(before, "helper(1)", &[header, other]));
}

#[test]
fn cython_has_what_its_headers_include() {
    let inner = (
        "inner.h",
        "static int n;\nstatic int bump(void) { return n += 1; }\n",
    );
    let all = ("all.h", "#include \"inner.h\"\n");
    let with = |text: &'static str| {
        let wrapper = ("wrapper.pyx", text);
        is_declared("#include \"all.h\"", "1", &[inner, all, wrapper])
    };
    assert!(with("cdef int bump(): return 1\n"));
    assert!(!with("cdef extern from \"src/all.h\":\n    int bump()\n"));
}

#[test]
fn one_text_makes_a_module_for_each_file_that_names_it() {
    let template = module("x", "", "VALUE").replace("PyInit_x", "INITMODULE");
    let quiet = "#include <Python.h>\n#define VALUE 1\n#define INITMODULE PyInit_quiet\n#include \"template.c\"\n";
    let racy = "#include <Python.h>\nstatic int count;\nstatic int value(void) { count += 1; return count; }\n#define VALUE value()\n#define INITMODULE PyInit_racy\n#include \"template.c\"\n";
    let files = [
        ("template.c", &*template),
        ("quiet.c", quiet),
        ("racy.c", racy),
    ];
    let said = self::said(&files);
    assert!(said.contains("Module `quiet` is ready"), "{said}");
    assert!(said.contains("Module `racy` is not ready"), "{said}");
    // A build has one of two files that make a module of one name.
    let other = ("other.c", &*racy.replace("PyInit_racy", "PyInit_quiet"));
    let of_two = self::said(&[files[0], files[1], files[2], other]);
    assert!(of_two.contains("Module `quiet` is not ready"), "{of_two}");
    // One declaration is for both.
    assert!(!declared(&files).contains("template.c"));
    let empty = "PyMODINIT_FUNC PyInit_none(void) { return NULL; }\n";
    let empty = format!("#include <Python.h>\n{empty}");
    let none = self::said(&[("none.c", &empty)]);
    assert!(!none.contains("none"), "{none}");
}

#[test]
fn a_copy_of_a_header_is_the_header() {
    let header = r#"#ifndef OWN
static int n;
static PyObject *next(PyObject *self, PyObject *unused) { n += 1; return PyLong_FromLong(n); }
static PyMethodDef more[] = {{"next", next, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
#endif
"#;
    let include = "#define OWN\n#include \"api.h\"";
    let files = [
        ("src/a.c", &*module("a", include, "1")),
        ("src/api.h", header),
    ]
    .map(|(path, text)| (path, text.to_owned()));
    let with = |copy: &str| {
        let all = files.iter().map(|(path, text)| (*path, &**text));
        let all: Vec<_> = all.chain([("pkg/api.h", copy)]).collect();
        declared(&all).contains("a.c")
    };
    assert!(with(header));
    assert!(!with(&header.replace("n += 1", "n += 2")));
}
