//! What is in force, from where; what comments and the configuration silence.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::process::Command;

use support::snapshots;

const CODE: &str = "#include <Python.h>\n\n\
    PyObject *\nfirst(PyObject *list)\n{\n    \
    PyObject *item = PyList_GetItem(list, 0);\n    \
    return item == NULL ? NULL : PyObject_Str(item);\n}\n";

/// A tree with these files; gives exit status, stdout and stderr of `ungil` in it.
fn ungil(files: &[(&str, &str)], arguments: &[&str]) -> (i32, String, String) {
    let tree = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = tree.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    command.args(arguments).current_dir(tree.path());
    let output = command.env_remove("UNGIL_OUTPUT_FORMAT").output().unwrap();
    let folder = fs::canonicalize(tree.path()).unwrap();
    let text = |bytes| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace(&format!("{}/", folder.display()), "")
    };
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn each_setting_names_its_origin() {
    let pyproject = "[project]\nname = \"m\"\nrequires-python = \">=3.10\"\n\n[tool.ungil]\n\
                     ignore = [\"UG2\"]\nstrict = true\ncompat = \"header\"\n\n\
                     [tool.ungil.per-file-ignores]\n\"vendor/\" = [\"UG1\"]\n";
    let flags = [
        "config", "--ignore", "UG101", "--compat", "none", "-D", "A=1",
    ];
    let (status, shown, _) = ungil(&[("pyproject.toml", pyproject)], &flags);
    assert_eq!(status, 0);
    snapshots::settings("cli").bind(|| insta::assert_snapshot!("settings", shown));
}

#[test]
fn rules_can_be_ignored_in_some_files() {
    let config = "[per-file-ignores]\n\"vendor/\" = [\"UG1\"]\n\"*_old.c\" = [\"UG2\"]\n";
    let files = [
        ("setup.py", ""),
        ("ungil.toml", config),
        ("vendor/m.c", CODE),
        ("m_old.c", CODE),
    ];
    let (status, found, _) = ungil(&files, &["check", "--output-format", "concise"]);
    assert_eq!(status, 1);
    assert!(found.contains("m_old.c:6:"), "{found}");
    assert!(!found.contains("vendor"), "{found}");
    let (_, said, _) = ungil(&files, &["explain", "vendor/m.c:6"]);
    assert!(
        said.contains("suppressed by the configuration: UG101"),
        "{said}"
    );
}

#[test]
fn a_comment_that_silences_nothing_is_named_if_its_rules_ran() {
    let useful = CODE.replace(
        "PyObject *\nfirst",
        "/* ungil: ignore[UG101] -- x */\nPyObject *\nfirst",
    );
    let files = [("setup.py", ""), ("m.c", useful.as_str())];
    let (status, _, said) = ungil(&files, &["check"]);
    assert_eq!((status, said.contains("warning")), (0, false), "{said}");
    let useless = format!("/* ungil: ignore-file[UG2] */\n{useful}");
    let files = [("setup.py", ""), ("m.c", useless.as_str())];
    let (_, _, said) = ungil(&files, &["check"]);
    assert!(
        said.contains("warning: m.c:1: this comment no longer suppresses a finding"),
        "{said}"
    );
    let (_, _, said) = ungil(&files, &["check", "--select", "UG1"]);
    assert!(!said.contains("warning"), "{said}");
}

const QUEUE: &str = "#include <Python.h>\n\n\
    PyObject *convert(PyObject *);\nint give(void *, PyObject *);\n\n\
    PyObject *\nf(void *queue, PyObject *list)\n{\n    \
    PyObject *item = PyList_GetItem(list, 0);\n    \
    if (item == NULL)\n        return NULL;\n    \
    Py_INCREF(item);\n    give(queue, item);\n    return convert(item);\n}\n";

#[test]
fn what_the_configuration_says_of_functions_is_shown_and_obeyed() {
    let facts = "[functions]\ngive = { steals = [2] }\nconvert = { returns = \"new\" }\n";
    let run = |arguments| ungil(&[("m.c", QUEUE), ("ungil.toml", facts)], arguments).1;
    let shown = run(&["config"]);
    let (_, functions) = shown.split_once("\n\n").unwrap();
    insta::assert_snapshot!(functions, @r#"
    [functions]  # ungil.toml:1
    convert = { returns = "new" }
    give = { steals = [2] }
    "#);
    snapshots::settings("cli").bind(|| {
        insta::assert_snapshot!("diff_with_facts", run(&["diff", "--min-python", "3.13"]))
    });
    let (_, without, _) = ungil(&[("m.c", QUEUE)], &["diff", "--min-python", "3.13"]);
    snapshots::settings("cli").bind(|| insta::assert_snapshot!("diff_without_facts", without));
}

#[test]
fn errors_are_reported_by_flag_or_file_and_else_told_of_once() {
    let code = "#include <Python.h>\n\n\
        static PyObject *\nget(PyObject *dict, PyObject *key)\n{\n    \
        PyObject *value = PyDict_GetItem(dict, key);\n    \
        if (value == NULL)\n        return PyErr_Format(PyExc_KeyError, \"none\");\n    \
        return PyLong_FromLong(PyLong_AsLong(value));\n}\n";
    let note = "1 fix lets functions return errors that lookups swallowed before; with `--errors preserve` they report these errors and continue";
    let report = "PyErr_WriteUnraisable(NULL);";
    let diff = ["diff", "--select", "UG102"];
    let (_, patch, said) = ungil(&[("m.c", code)], &diff);
    assert_eq!(said.matches(note).count(), 1, "{said}");
    assert!(!patch.contains(report), "{patch}");
    let (_, _, said) = ungil(&[("m.c", code)], &["migrate", "--select", "UG102"]);
    assert_eq!(said.matches(note).count(), 1, "{said}");
    let file = ("ungil.toml", "errors = \"preserve\"\n");
    let flag = [&diff[..], &["--errors", "preserve"]].concat();
    for (files, args) in [
        (&[("m.c", code), file][..], &diff[..]),
        (&[("m.c", code)], &flag),
    ] {
        let (_, patch, said) = ungil(files, args);
        assert!(patch.contains(report), "{patch}");
        assert!(!said.contains("swallowed"), "{said}");
    }
}

#[test]
fn comments_silence_findings_in_build_files() {
    let setup = "from setuptools import Extension, setup\n\
                 # ungil: ignore[UG804] -- each .pyx has the directive\n\
                 setup(ext_modules=cythonize(\"a.pyx\"))\n";
    let toml = "[build-system]\nrequires = [\n  \"setuptools<70\",  # ungil: ignore[wrong-gil-define]\n]\n";
    let cfg =
        "[bdist_wheel]\npy_limited_api = cp39  # ungil: ignore[UG801] -- no free-threaded builds\n";
    let meson = "# ungil: ignore[UG801]\npy.extension_module('a', 'a.c', limited_api: '3.9')\n";
    let cmake = "# ungil: ignore[UG804] -- it is for tests\nnanobind_add_module(ext ext.cpp)\n\
                 Python_add_library(b MODULE USE_SABI 3.9) # ungil: ignore[UG801]\n";
    let workflow = "jobs:\n  wheels:\n    steps:\n      - uses: pypa/cibuildwheel@v2.20.0  # ungil: ignore[UG802]\n";
    let cpp = "// ungil: ignore[UG804] -- a module for debugging\nPYBIND11_MODULE(x, m) {}\n\
               PYBIND11_MODULE(y, m) {} // ungil: ignore[UG804]\n";
    let files = [
        ("setup.py", setup),
        ("pyproject.toml", toml),
        ("setup.cfg", cfg),
        ("meson.build", meson),
        ("CMakeLists.txt", cmake),
        (".github/workflows/wheels.yml", workflow),
        ("x.cpp", cpp),
    ];
    let bare = files.map(|(name, text)| (name, text.replace("ungil:", "")));
    let bare: Vec<(&str, &str)> = bare
        .iter()
        .map(|(name, text)| (*name, text.as_str()))
        .collect();
    let check = ["check", "--select=UG8", "--output-format=concise"];
    let (_, before, _) = ungil(&bare, &check);
    let told: Vec<&str> = before
        .lines()
        .filter_map(|line| line.split(": ").next())
        .collect();
    insta::assert_debug_snapshot!(told, @r#"
    [
        ".github/workflows/wheels.yml:4:20",
        "CMakeLists.txt:2:1",
        "CMakeLists.txt:3:29",
        "meson.build:2:33",
        "pyproject.toml:3:3",
        "setup.cfg:2:1",
        "setup.py:3:19",
        "x.cpp:2:1",
        "x.cpp:3:1",
    ]
    "#);
    let (status, after, said) = ungil(&files, &check);
    insta::assert_snapshot!(format!("{status}\n{after}{said}"), @"
    0
    No findings
    Coverage: 0 of 0 functions in 0 files analysed
    Not analysed: 1 file of C++
    ");
}
