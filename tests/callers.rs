//! Who may call a function that is not `static` and returns a borrowed reference: what the rest of
//! the package has to do with it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use serde_json::Value;

use support::tree::Tree;

const CODE: &str = "#include <Python.h>
#include \"api.h\"
PyObject *find(PyObject *dict, PyObject *key) {
    return PyDict_GetItemWithError(dict, key);
}
static int f(PyObject *dict, PyObject *key) {
    PyObject *found = find(dict, key);
    return found == NULL ? -1 : use(found);
}
";
const HEADER: &str = "PyObject *find(PyObject *dict, PyObject *key);\n";
const SETUP: &str = "setup(ext_modules=[Extension('m', ['src/m.c'])])\n";

/// Confidence and assumptions of the fix for the package with these files beside its C.
fn said(files: &[(&str, &str)], options: &[&str]) -> String {
    let tree = Tree::new(&[("src/m.c", CODE.as_bytes())]);
    if files.iter().all(|(name, _)| !name.ends_with("api.h")) {
        tree.write("src/api.h", HEADER);
    }
    for (name, text) in files {
        tree.write(name, text);
    }
    let always = ["check", "--isolated", "--output-format", "json"];
    let rest = ["--select", "UG102", "--min-python", "3.13"];
    let found = tree.ungil(&[&always, &rest[..], options].concat());
    let findings: Vec<Value> = serde_json::from_slice(&found.stdout).unwrap();
    let outcome = &findings[0]["outcome"];
    let assumptions = outcome["assumptions"].as_array().unwrap().iter();
    let assumptions: Vec<&str> = assumptions.map(|text| text.as_str().unwrap()).collect();
    let confidence = outcome["confidence"].as_str().unwrap();
    format!("{confidence} {}", assumptions.join("; "))
}

#[test]
fn nobody_links_with_an_extension_module() {
    assert_eq!(said(&[("setup.py", SETUP)], &[]), "safe ");
    let meson = "py.extension_module('m', 'src/m.c')\n";
    assert_eq!(said(&[("meson.build", meson)], &[]), "safe ");
    let cmake = "add_library(m MODULE src/m.c)\npython_extension_module(m)\n";
    assert_eq!(said(&[("CMakeLists.txt", cmake)], &[]), "safe ");
    // What is built elsewhere is made of other files.
    let other = ("vendored/CMakeLists.txt", "add_library(z z.c)\n");
    assert_eq!(said(&[("setup.py", SETUP), other], &[]), "safe ");
}

#[test]
fn a_library_or_a_program_has_other_callers() {
    let anyone = "review only analysed C code calls `find`";
    assert_eq!(said(&[], &[]), anyone);
    let elsewhere = ("python/setup.py", SETUP);
    assert_eq!(said(&[elsewhere], &[]), anyone);
    let both = "py.extension_module('m', 'src/m.c')\nshared_library('m', 'src/m.c')\n";
    assert_eq!(said(&[("meson.build", both)], &[]), anyone);
    let cmake = "Python_add_library(m src/m.c)\nadd_executable(run src/m.c)\n";
    assert_eq!(said(&[("CMakeLists.txt", cmake)], &[]), anyone);
}

#[test]
fn other_languages_of_the_package_may_call_it() {
    let beside = |path: &str, text: &str| said(&[("setup.py", SETUP), (path, text)], &[]);
    let unread = |path| format!("review `{path}`, which was not analysed, does not call `find`");
    let cython = "cdef extern from \"api.h\":\n    object find(object, object)\n";
    assert_eq!(beside("src/g.pyx", cython), unread("src/g.pyx"));
    assert_eq!(beside("src/g.pyx", "def find_all(): pass\n"), "safe ");
    let cpp = "void g() { find(d, k); }\n";
    assert_eq!(beside("src/g.cpp", cpp), unread("src/g.cpp"));
    assert_eq!(beside("src/g.c.in", cpp), unread("src/g.c.in"));
    assert_eq!(beside("src/g.cpp", "// find(d, k)\n"), "safe ");
    let ctypes = "import ctypes\nctypes.PyDLL(m.__file__).find\n";
    assert_eq!(beside("tests/t.py", ctypes), unread("tests/t.py"));
    assert_eq!(beside("tests/t.py", "text.find('x')\n"), "safe ");
    let generator = "op(c_function=\"find\", args=2)\n";
    assert_eq!(beside("gen/ops.py", generator), unread("gen/ops.py"));
    assert_eq!(beside("gen/ops.py", "op(c_function='find_all')\n"), "safe ");
    let exported = "Extension('m', ['src/m.c'], export_symbols=['find'])\n";
    assert_eq!(said(&[("setup.py", exported)], &[]), unread("setup.py"));
}

#[test]
fn files_that_are_left_out_may_call_it() {
    let anyone = "review only analysed C code calls `find`";
    let found = said(&[("setup.py", SETUP)], &["--exclude", "tests"]);
    assert_eq!(found, anyone);
}

#[test]
fn other_packages_may_call_what_an_installed_header_declares() {
    let installed = format!("setup(headers=['src/api.h'])\n{SETUP}");
    let header = "review no code that includes `src/api.h` calls `find`";
    assert_eq!(said(&[("setup.py", &installed)], &[]), header);
    let installed = "py.extension_module('m', 'src/m.c')\npy.install_sources('src/api.h')\n";
    assert_eq!(said(&[("meson.build", installed)], &[]), header);
    let built = SETUP.replace("'])", "'], depends=['src/api.h'])");
    assert_eq!(said(&[("setup.py", &built)], &[]), "safe ");
}

#[test]
fn a_header_in_a_package_of_python() {
    let header = "review no code that includes `src/api.h` calls `find`";
    let of = |setup: &str, beside: &str| said(&[("setup.py", setup), (beside, "")], &[]);
    let whole = format!("setup(include_package_data=True)\n{SETUP}");
    let all = format!("setup(package_data={{'src': ['*.h']}})\n{SETUP}");
    for setup in [&whole, &all] {
        assert_eq!(of(setup, "src/__init__.py"), header);
        assert_eq!(of(setup, "other/__init__.py"), "safe ");
    }
    assert_eq!(of(SETUP, "src/__init__.py"), "safe ");
}

#[test]
fn a_static_function_of_an_installed_header() {
    let header = CODE.replace("PyObject *find", "static inline PyObject *find");
    let header = header.replace("#include \"api.h\"\n", "");
    let code = "#include \"api.h\"\n";
    let files = [("src/m.c", code), ("src/api.h", &header)];
    let with = |setup| said(&[files[0], files[1], ("setup.py", setup)], &[]);
    assert_eq!(with(SETUP), "safe ");
    let installed = format!("setup(headers=['src/api.h'])\n{SETUP}");
    let header = "review no code that includes `src/api.h` calls `find`";
    assert_eq!(with(&installed), header);
}

#[test]
fn a_static_function_that_other_languages_take() {
    let find = CODE.replace("PyObject *find", "static inline PyObject *find");
    let find = find.replace("#include \"api.h\"\n", "");
    let beside = |path: &str, text: &str| {
        let code = "#include \"api.h\"\n";
        let files = [("src/m.c", code), ("src/api.h", &find[..])];
        said(
            &[files[0], files[1], ("setup.py", SETUP), (path, text)],
            &[],
        )
    };
    let unread = |path| format!("review `{path}`, which was not analysed, does not call `find`");
    let cpp = "#include \"api.h\"\nvoid g() { auto v = find(d, k); Py_INCREF(v); }\n";
    assert_eq!(beside("src/g.cpp", cpp), unread("src/g.cpp"));
    // A `find` of its own.
    assert_eq!(beside("src/g.cpp", "void g() { find(d, k); }\n"), "safe ");
    assert_eq!(beside("src/g.cpp", "#include \"api.h\"\n"), "safe ");
    let cython = "cdef extern from \"api.h\":\n    object find(object, object)\n";
    assert_eq!(beside("src/g.pyx", cython), unread("src/g.pyx"));
    assert_eq!(beside("src/g.pxd", cython), unread("src/g.pxd"));
    assert_eq!(beside("src/g.pyx", "from text import find\n"), "safe ");
    // What includes the header will do.
    let all = cython.replace("api.h", "m.c");
    assert_eq!(beside("src/g.pyx", &all), unread("src/g.pyx"));
}

#[test]
fn a_static_function_of_a_file_that_cython_includes() {
    let code = CODE.replace("PyObject *find", "static PyObject *find");
    let beside = |cython: &str| {
        let cython = ("src/g.pyx", cython);
        said(&[("src/m.c", &code), ("setup.py", SETUP), cython], &[])
    };
    let cython = "cdef extern from \"m.c\":\n    object find(object, object)\n";
    let unread = "review `src/g.pyx`, which was not analysed, does not call `find`";
    assert_eq!(beside(cython), unread);
    assert_eq!(beside(&cython.replace("m.c", "z.c")), "safe ");
}

#[test]
fn a_function_that_nothing_calls() {
    let code = CODE.split("static").next().unwrap();
    let code = ("src/m.c", code);
    let nobody = "review no code calls `find` (no analysed code does)";
    assert_eq!(said(&[code, ("setup.py", SETUP)], &[]), nobody);
    let tree = Tree::new(&[]);
    tree.write("m.c", code.1.replace("#include \"api.h\"\n", ""));
    let found = tree.ungil(&["check", "--isolated", "--select", "UG102", "."]);
    assert!(
        found.text().contains("no analysed code calls it"),
        "{found:?}"
    );
}
