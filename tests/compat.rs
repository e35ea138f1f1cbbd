//! The generated header on a Python that lacks what it provides, and on one that has it: it
//! compiles without a warning beside any `pythoncapi_compat.h`, and its functions keep the
//! conventions of the native ones.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::tree::Tree;
use support::{COMPAT_FUNCTIONS, free_threaded_python, headers, newer_headers, run};
use ungil::compat::{Style, header};

/// Asks each function for what the native one gives.
const EXTENSION: &str = include_str!("compat/conventions.c");

const SCRIPT: &str = "
import gc, m, sys
class Target:
    def fail(self): raise LookupError(self)
import weakref
target = Target()
def once():
    m.check({'key': []}, [[]], [], 'key', weakref.ref(target), target)
    assert target.raised.args == (target,)
    assert target.raised.__traceback__.tb_frame.f_code.co_name == 'fail'
    del target.raised
for _ in range(3): once()
before = sys.getrefcount(target)
for _ in range(100): once()
assert sys.getrefcount(target) == before, 'a reference to the target is lost'
";

fn style(full: Option<&str>, limited: bool) -> Style<'_> {
    Style {
        stem: "pyapi_compat",
        full,
        limited,
    }
}

/// A copy of `pythoncapi_compat.h` that has `functions`.
fn full_header(functions: &BTreeSet<&str>) -> String {
    let text = header(functions, style(None, false)).replace("PYAPI_COMPAT_H", "PYTHONCAPI_COMPAT");
    let banner = "// Header file providing new C API functions to old Python versions.\n";
    banner.to_owned() + &text.replace("Functions of newer Pythons", "Made by hand: functions")
}

/// Compiles `m.c` of `folder`; a warning fails.
fn build(folder: &Path, python: &Path) {
    compile(folder, Path::new(&headers(python)), &[]);
}

fn compile(folder: &Path, include: &Path, options: &[&str]) {
    assert!(
        include.join("Python.h").exists(),
        "no headers in {include:?}"
    );
    let strict = [
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wdeclaration-after-statement",
        "-fPIC",
        "-shared",
    ];
    let mut gcc = Command::new("gcc");
    gcc.current_dir(folder).args(strict);
    gcc.args(options).arg("-isystem").arg(include);
    run(gcc.args(["m.c", "-o", "m.so"]));
}

fn pythons() -> [PathBuf; 2] {
    [PathBuf::from("python3"), free_threaded_python()]
}

/// Builds the extension on top of `includes`, and runs it.
fn holds(includes: &str, files: &[(&str, &str)]) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    fs::write(folder.path().join("m.c"), includes.to_owned() + EXTENSION).unwrap();
    for python in pythons() {
        build(folder.path(), &python);
        run(Command::new(python)
            .args(["-c", SCRIPT])
            .current_dir(folder.path()));
    }
}

#[test]
fn the_header_keeps_the_conventions_of_the_native_functions() {
    let own = header(
        &COMPAT_FUNCTIONS.iter().copied().collect(),
        style(None, false),
    );
    holds("#include \"pyapi_compat.h\"\n", &[("pyapi_compat.h", &own)]);
}

#[test]
fn it_compiles_for_newer_pythons_with_the_gil_and_without() {
    let folder = tempfile::tempdir().unwrap();
    let own = header(
        &COMPAT_FUNCTIONS.iter().copied().collect(),
        style(None, false),
    );
    fs::write(folder.path().join("pyapi_compat.h"), own).unwrap();
    let code = "#include \"pyapi_compat.h\"\n".to_owned() + EXTENSION;
    fs::write(folder.path().join("m.c"), code).unwrap();
    for include in newer_headers() {
        compile(folder.path(), &include, &[]);
        compile(folder.path(), &include, &["-DPy_GIL_DISABLED=1"]);
    }
}

#[test]
fn it_stands_beside_older_and_newer_copies_of_the_full_header() {
    let all: BTreeSet<&str> = COMPAT_FUNCTIONS.iter().copied().collect();
    let (old, new): (BTreeSet<&str>, _) = (["Py_NewRef", "Py_XNewRef"].into(), all.clone());
    let lacked = &all - &old;
    let own = header(&lacked, style(Some("pythoncapi_compat.h"), false));
    for full in [&old, &new] {
        let full = full_header(full);
        let files = [("pyapi_compat.h", &*own), ("pythoncapi_compat.h", &*full)];
        holds(
            "#include \"pyapi_compat.h\"\n#include \"pythoncapi_compat.h\"\n",
            &files,
        );
        holds(
            "#include \"pythoncapi_compat.h\"\n#include \"pyapi_compat.h\"\n",
            &files,
        );
    }
}

/// The headers of a free-threaded Python as its build with the GIL has them.
fn headers_with_gil(folder: &Path) -> PathBuf {
    let include = folder.join("include");
    let original = headers(&free_threaded_python());
    run(Command::new("cp").args(["-r", &original]).arg(&include));
    let config = fs::read_to_string(include.join("pyconfig.h")).unwrap();
    let config = config.replace("#define Py_GIL_DISABLED 1\n", "");
    fs::write(include.join("pyconfig.h"), config).unwrap();
    include
}

#[test]
fn headers_of_3_13_make_a_library_for_the_limited_api_of_3_9() {
    let folder = tempfile::tempdir().unwrap();
    let own = header(
        &COMPAT_FUNCTIONS.iter().copied().collect(),
        style(None, true),
    );
    fs::write(folder.path().join("pyapi_compat.h"), own).unwrap();
    let source = "#include \"pyapi_compat.h\"\n".to_owned() + EXTENSION;
    fs::write(folder.path().join("m.c"), source).unwrap();
    let include = headers_with_gil(folder.path());
    // `PyWeakref_GetObject` is deprecated: older libraries have nothing else.
    let build = |version: &str| {
        let define = format!("-DPy_LIMITED_API={version}");
        compile(
            folder.path(),
            &include,
            &[&define, "-Wno-deprecated-declarations"],
        );
    };
    build("0x030D0000");
    build("0x030B0000");
    build("0x03090000");
    let mut nm = Command::new("nm");
    let symbols = run(nm
        .args(["-D", "--undefined-only", "m.so"])
        .current_dir(&folder));
    let symbols = String::from_utf8(symbols.stdout).unwrap();
    let newer: Vec<&str> = symbols
        .split_whitespace()
        .filter(|word| COMPAT_FUNCTIONS.contains(word) || word.starts_with("PyCriticalSection"))
        .collect();
    assert_eq!(newer, [""; 0]);
    run(Command::new("python3")
        .args(["-c", SCRIPT])
        .current_dir(&folder));
}

/// One that asks for the limited API.
const LIMITED: &str = include_str!("compat/limited.c");
const TOTAL: &str = "
import m, sys
value = 12345678
def once():
    assert m.total({'a': value, 'b': 2.5, 'c': None}, ['a', 'b']) == (value + 2.5, 1)
    for names in (['a', 'x'], ['c'], [[]]):
        try: m.total({'a': value, 'c': None}, names)
        except (KeyError, TypeError): pass
        else: assert False
for _ in range(3): once()
before = sys.getrefcount(value)
for _ in range(100): once()
assert sys.getrefcount(value) == before
";

#[test]
fn an_extension_for_the_limited_api_stays_one() {
    let (define, code) = LIMITED.split_once('\n').expect("the define has a line");
    let code = format!("#include \"limits.h\"\n{code}");
    let tree = Tree::new(&[("m.c", code.as_bytes()), ("limits.h", define.as_bytes())]);
    let write = ["migrate", "--select", "UG1,UG3", "--allow-no-vcs"];
    let ran = tree.ungil(&write);
    assert_eq!(ran.status, 0, "{ran:?}");
    let changed = [
        "PyList_GetItemRef",
        "PyDict_GetItemRef",
        "Py_BEGIN_CRITICAL_SECTION",
    ];
    for name in changed {
        assert!(tree.text("m.c").contains(name), "{}", tree.text("m.c"));
    }
    let again = tree.ungil(&["diff", "--select", "UG1,UG3"]);
    assert!(!again.text().contains("@@"), "{again:?}");
    // With the GIL: without it, headers of 3.13 refuse the limited API.
    let include = headers_with_gil(tree.path());
    compile(tree.path(), &include, &[]);
    run(Command::new("python3")
        .args(["-c", TOTAL])
        .current_dir(tree.path()));
}

/// A unit in pieces: `cache.c` has no `#include` of its own.
const UNIT: &str = "#include <Python.h>\n#include \"pythoncapi_compat.h\"\n#include <string.h>\n\n\
    #include \"cache.c\"\n\n\
    static struct PyModuleDef def = {PyModuleDef_HEAD_INIT, \"m\", NULL, -1, methods, NULL, NULL, NULL, NULL};\n\
    PyMODINIT_FUNC PyInit_m(void) { return PyModule_Create(&def); }\n";
const PIECE: &str = "static PyObject *
lookup(PyObject *self, PyObject *args)
{
    PyObject *dict, *list, *found;
    (void)self;
    if (!PyArg_ParseTuple(args, \"O!O!\", &PyDict_Type, &dict, &PyList_Type, &list))
        return NULL;
    found = PyList_GetItem(list, 0);
    if (found == NULL)
        return NULL;
    return PyObject_GetItem(dict, found);
}

static PyMethodDef methods[] = {{\"lookup\", lookup, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
";

/// Added once the header is there, and needs another function of it.
const MORE: &str = "
PyObject *
more(PyObject *dict, PyObject *key)
{
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == NULL)
        return NULL;
    return PyObject_Str(value);
}
";

#[test]
fn an_old_copy_is_completed_where_units_include_it() {
    let tree = Tree::new(&[]);
    tree.write(
        "pyproject.toml",
        "[project]\nname = \"m\"\nrequires-python = \">=3.9\"\n",
    );
    tree.write("pythoncapi_compat.h", full_header(&["Py_NewRef"].into()));
    tree.write("m.c", UNIT);
    tree.write("cache.c", PIECE);
    let write = [
        "migrate",
        "--select",
        "UG1",
        "--allow-no-vcs",
        "--allow-dirty",
    ];
    let first = tree.ungil(&write);
    assert_eq!(first.status, 0, "{first:?}");
    assert!(tree.text("cache.c").contains("PyList_GetItemRef"));
    insta::assert_snapshot!(tree.text("m.c").split("\n\n").next().unwrap(), @r#"
    #include <Python.h>
    #include "pythoncapi_compat.h"
    #include "pyapi_compat.h"
    #include <string.h>
    "#);
    let own = tree.text("pyapi_compat.h");
    assert!(own.contains("#include \"pythoncapi_compat.h\"") && !own.contains("Py_NewRef"));
    for python in pythons() {
        build(tree.path(), &python);
    }
    let piece = tree.text("cache.c");
    tree.write("cache.c", piece + MORE);
    let more = tree.ungil(&write);
    assert_eq!(more.status, 0, "{more:?}");
    assert!(tree.text("pyapi_compat.h").contains("PyDict_GetItemRef"));
    for python in pythons() {
        build(tree.path(), &python);
    }
    let second = tree.ungil(&["check", "--select", "UG1"]);
    assert_eq!(second.status, 0, "{second:?}");
}

#[test]
fn the_header_has_only_what_the_chosen_fixes_use() {
    let source = "#include <Python.h>\n
PyObject *first(PyObject *list) { PyObject *item = PyList_GetItem(list, 0); Py_XINCREF(item); return item; }
PyObject *name(void) { static PyObject *x; if (!x) { x = Py_BuildValue(\"[]\"); } return x; }
";
    let tree = Tree::new(&[("m.c", source.as_bytes())]);
    let header = |options: &[&str]| {
        let ran = tree.ungil(&[&["diff"], options].concat());
        let all = ["PyList_GetItemRef", "PyMutex_Lock"].into_iter();
        all.filter(|name| ran.text().contains(&format!("#  define {name}")))
            .collect::<Vec<_>>()
    };
    assert_eq!(header(&[]), ["PyList_GetItemRef"]);
    assert_eq!(
        header(&["--unsafe-fixes"]),
        ["PyList_GetItemRef", "PyMutex_Lock"]
    );
    assert_eq!(header(&["--split-by", "fix"]), ["PyList_GetItemRef"]);
}

#[test]
fn a_part_that_nothing_here_includes() {
    let part = |name: &str| {
        format!(
            "/* A part. */\n\nstatic int {name}(PyObject *l)\n{{\n    PyObject *item = PyList_GetItem(l, 0);\n    \
             return item == NULL ? -1 : PyObject_IsTrue(item);\n}}\n"
        )
    };
    let (header, alone) = (part("first"), part("other"));
    let tree = Tree::new(&[("part.h", header.as_bytes()), ("alone.c", alone.as_bytes())]);
    let ran = tree.ungil(&["diff", "--select", "UG1"]);
    // A header comes behind `Python.h`; who puts the other into what is not known.
    let at_top = " /* A part. */\n \n+#include \"pyapi_compat.h\"\n+\n static";
    assert!(ran.text().contains(at_top), "{}", ran.text());
    assert!(!ran.text().contains("alone.c"), "{}", ran.text());
}

#[test]
fn a_late_include_holds_nothing_up() {
    let source = b"#include \"m.h\"
static int ready;
#define ROW { 0, }
#include <errno.h>

PyObject *first(PyObject *l) { PyObject *item = PyList_GetItem(l, 0); Py_XINCREF(item); return item; }

#include <string.h>

PyObject *last(PyObject *l) { PyObject *item = PyList_GetItem(l, 1); Py_XINCREF(item); return item; }
";
    let header: &[u8] = b"#include <Python.h>\n";
    let tree = Tree::new(&[("m.c", source), ("m.h", header)]);
    let ran = tree.ungil(&[
        "migrate",
        "--select",
        "UG1",
        "--allow-no-vcs",
        "--allow-dirty",
    ]);
    assert_eq!(ran.status, 0, "{ran:?}");
    insta::assert_snapshot!(tree.text("m.c").split("\n\n").next().unwrap(), @r#"
        #include "m.h"
        static int ready;
        #define ROW { 0, }
        #include <errno.h>
        #include "pyapi_compat.h"
        "#);
}

#[test]
fn a_header_that_others_include_wants_a_look() {
    let source = b"#include <Python.h>
static inline PyObject *first(PyObject *list) { return Py_XNewRef(PyList_GetItem(list, 0)); }
PyObject *take(PyObject *list);
" as &[u8];
    let told = |name: &str, setup: &str| {
        let user = format!(
            "#include <Python.h>\n#include \"{name}\"\nPyObject *take(PyObject *l) {{ return first(l); }}\n"
        );
        let files = [
            (name, source),
            ("m.c", user.as_bytes()),
            ("setup.py", setup.as_bytes()),
        ];
        let tree = Tree::new(&files[..if setup.is_empty() { 2 } else { 3 }]);
        let ran = tree.ungil(&["check"]);
        let doubt = format!("pyapi_compat.h` is installed together with `{name}`");
        ran.text().contains(&doubt)
    };
    assert!(told("include/m.h", ""));
    assert!(told("include/m.h", "setup(headers=['include/m.h'])"));
    assert!(!told("include/m.h", "setup(packages=['m'])"));
    assert!(told("m/include/m.h", "setup(packages=['m'])"));
    assert!(!told("src/m.h", ""));
}

/// Reads an item of a list, which a Python before 3.13 cannot do safely.
fn reader(name: &str) -> String {
    format!(
        "PyObject *{name}(PyObject *l)\n{{\n    PyObject *item = PyList_GetItem(l, 0);\n    \
         Py_XINCREF(item);\n    return item;\n}}\n"
    )
}

/// What is to be confirmed of each fix, and the patch of safe fixes.
fn told(files: &[(&str, &str)], options: &[&str]) -> (Vec<String>, String) {
    let files: Vec<_> = files
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    let tree = Tree::new(&files);
    let select = ["--select", "UG1", "--min-python", "3.9"];
    let json = tree.ungil(&[&["check", "--output-format", "json"], &select[..], options].concat());
    let findings: serde_json::Value = serde_json::from_str(json.text()).unwrap();
    let doubts = findings.as_array().unwrap().iter().flat_map(|finding| {
        let doubts = finding["outcome"]["assumptions"].as_array();
        doubts.cloned().unwrap_or_default()
    });
    let doubts = doubts
        .map(|doubt| doubt.as_str().unwrap().to_owned())
        .collect();
    let diff = tree.ungil(&[&["diff"], &select[..], options].concat());
    (doubts, diff.text().to_owned())
}

#[test]
fn a_build_that_takes_the_files_of_the_folder_wants_a_look() {
    let c = "#include <Python.h>\n".to_owned() + &reader("first");
    let own = ("src/own.h", "extern int own;\n");
    // A header, if it is to be one; else the file gets what it uses.
    let beside = |header: Option<(&str, &str)>, name: &str, text: &str| {
        let mut files = vec![("src/m.c", &*c), (name, text)];
        files.extend(header);
        let asked = |how: &str| told(&files, &["--compat", how]);
        let (doubts, patch) = asked("auto");
        assert_eq!(doubts, [""; 0]);
        let doubts = asked("header").0;
        let has_header = patch.contains("new file mode");
        assert_eq!(has_header, doubts.is_empty(), "{patch}");
        doubts
    };
    let with = |name: &str, text: &str| beside(None, name, text);
    let doubts = [
        with(
            "setup.py",
            "import glob\nsetup(depends=glob.glob('src/*.h'))\n",
        ),
        with(
            "setup.py",
            "import os\nfor name in os.listdir('src'):\n    make(name)\n",
        ),
        with(
            "setup.py",
            "setup(packages=['src'], package_data={'src': ['*.h', '*.c']})\n",
        ),
        with(
            "setup.py",
            "options = {'package_data': {'src': ['m.c']}}\nsetup(**options)\n",
        ),
        with("setup.py", "import shutil\nshutil.copytree('src', 'out')\n"),
        with("MANIFEST.in", "include src/a.h\ninclude src/b.h\n"),
        with(
            "src/meson.build",
            "py.install_sources('m.c', subdir: 'm')\n",
        ),
        with(
            "pyproject.toml",
            "[tool.setuptools.package-data]\nsrc = [\"*.c\"]\n",
        ),
        with("MANIFEST.in", "recursive-include src *.c\n"),
        with("setup.py", "setup(sources=['src/m.c'])\n"),
        beside(Some(own), "setup.py", "setup(depends=['src/own.h'])\n"),
    ];
    insta::assert_snapshot!(doubts.map(|doubts| doubts.join("; ")).join("\n"), @r#"
        `setup.py` may also list the new `src/pyapi_compat.h`, which matches `src/*.h`
        `setup.py` may also list the new `src/pyapi_compat.h`, which matches `src/`; the source distribution contains the new `src/pyapi_compat.h` (`setup.py` lists its content)
        `setup.py` may also copy or install the new `src/pyapi_compat.h`, which matches `*.h`; the `#include` of `pyapi_compat.h` also works where `setup.py` copies or installs `src/m.c` (`*.c`)
        the source distribution contains the new `src/pyapi_compat.h` (`setup.py` lists its content); the `#include` of `pyapi_compat.h` also works where `setup.py` copies or installs `src/m.c` (`m.c`)
        `setup.py` may also copy or install the new `src/pyapi_compat.h`, which matches `src`
        you add the new `src/pyapi_compat.h` to `MANIFEST.in`, which lists each header
        the `#include` of `pyapi_compat.h` also works where `src/meson.build` copies or installs `src/m.c` (`m.c`)
        the `#include` of `pyapi_compat.h` also works where `pyproject.toml` copies or installs `src/m.c` (`*.c`)
        the source distribution contains the new `src/pyapi_compat.h` (`MANIFEST.in` lists its content)
        the source distribution contains the new `src/pyapi_compat.h` (`setup.py` lists its content)
        you add the new `src/pyapi_compat.h` to `setup.py`, which lists each header
    "#);
    let with_own = |name: &str, text: &str| beside(Some(own), name, text);
    let none = [
        with_own(
            "setup.py",
            "import glob\nsetup(sources=glob.glob('src/*.c'))\n",
        ),
        with_own("setup.py", "import os\nnames = os.listdir('docs')\n"),
        with_own("setup.py", "setup(package_data={'src': ['*.txt']})\n"),
        with(
            "MANIFEST.in",
            "include src/a.h\nrecursive-include src *.h\n",
        ),
        with_own("MANIFEST.in", "include README\n"),
        with("src/meson.build", "py.install_sources('m.py')\n"),
        with("setup.py", "setup(use_scm_version=True)\n"),
    ];
    assert_eq!(none.concat(), [""; 0]);
}

#[test]
fn a_header_of_a_submodule_that_is_not_here_is_used() {
    let c = "#include <Python.h>\n#if PY_VERSION_HEX < 0x030d0000\n#  include \
             \"vendor/pythoncapi_compat.h\"\n#endif\n"
        .to_owned()
        + &reader("first");
    let other = "#include <Python.h>\n".to_owned() + &reader("other");
    let files = [("src/a.c", &*c), ("src/b.c", &*other)];
    let (doubts, safe) = told(&files, &[]);
    let doubt = "the missing header `vendor/pythoncapi_compat.h` (a submodule?), which `src/a.c` includes, defines all functions that the fixes call";
    assert_eq!(doubts, [doubt, doubt]);
    assert_eq!(safe, "");
    let tree = Tree::new(&files.map(|(name, text)| (name, text.as_bytes())));
    let ran = tree.ungil(&["diff", "--select", "UG1", "--min-python", "3.9"]);
    let asked = format!(
        "2 fixes are correct only if {doubt}; if this is true, run `ungil review --confirm \
         'header-has-all=vendor/pythoncapi_compat.h with src/a.c'`\n"
    );
    assert!(ran.stderr.contains(&asked), "{ran:?}");
    let (_, patch) = told(&files, &["--unsafe-fixes"]);
    let added: Vec<&str> = patch
        .lines()
        .filter(|line| line.starts_with("+#"))
        .collect();
    assert_eq!(added, ["+#include \"vendor/pythoncapi_compat.h\""]);
    assert!(!patch.contains("new file"), "{patch}");
}

#[test]
fn the_header_stands_beside_what_includes_it() {
    let c = |name: &str| {
        "#include <Python.h>\n#include \"../common/util.h\"\n".to_owned() + &reader(name)
    };
    let (one, two) = (c("one"), c("two"));
    let util = "#define UTIL 1\n";
    let patch = |files: &[(&str, &str)]| {
        let (_, patch) = told(files, &[]);
        let shown = patch.lines().filter(|line| {
            line.starts_with("+#include \"") || line.starts_with("+++ ") && line.contains("compat")
        });
        shown.map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let alone = [("src/one/a.c", &*one), ("src/common/util.h", util)];
    assert_eq!(
        patch(&alone),
        [
            "+#include \"pyapi_compat.h\"",
            "+++ b/src/one/pyapi_compat.h"
        ]
    );
    // A folder whose headers all of them include.
    let files = [
        ("src/one/a.c", &*one),
        ("src/two/b.c", &*two),
        ("src/common/util.h", util),
    ];
    assert_eq!(
        patch(&files),
        [
            "+++ b/src/common/pyapi_compat.h",
            "+#include \"../common/pyapi_compat.h\"",
            "+#include \"../common/pyapi_compat.h\"",
        ]
    );
}

#[test]
fn a_header_that_the_user_points_at_is_used() {
    let given = full_header(&["PyList_GetItemRef"].into());
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("pythoncapi_compat.h");
    fs::write(&path, &given).unwrap();
    let more = "PyObject *name(void) { static PyObject *x; if (!x) { x = Py_BuildValue(\"[]\"); } return x; }\n";
    let c = "#include <Python.h>\n".to_owned() + &reader("first") + more;
    let tree = Tree::new(&[("src/m.c", c.as_bytes())]);
    let option = path.display().to_string();
    let write = [
        "migrate",
        "--select",
        "UG1,UG5",
        "--min-python",
        "3.9",
        "--unsafe-fixes",
        "--allow-no-vcs",
        "--compat-header",
        &option,
        "--compat-name",
        "mine.h",
    ];
    let ran = tree.ungil(&write);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(
        ran.stderr
            .contains("New file: `src/pythoncapi_compat.h`, a copy of `/"),
        "{ran:?}"
    );
    assert_eq!(tree.text("src/pythoncapi_compat.h"), given);
    let own = tree.text("src/mine.h");
    assert!(own.contains("#include \"pythoncapi_compat.h\""), "{own}");
    assert!(
        own.contains("mine_compat_PyMutex") && !own.contains("PyList_GetItemRef"),
        "{own}"
    );
    assert!(!own.contains("ungil"), "{own}");
    let again = tree.ungil(&[
        "diff",
        "--select",
        "UG1,UG5",
        "--min-python",
        "3.9",
        "--unsafe-fixes",
    ]);
    assert_eq!(again.text(), "");
}

#[test]
fn a_given_header_that_is_part_of_the_project_stays_where_it_is() {
    let given = full_header(&["PyList_GetItemRef"].into());
    let c = "#include <Python.h>\n".to_owned() + &reader("first");
    let tree = Tree::new(&[
        ("src/m.c", c.as_bytes()),
        ("vendor/py_all.h", given.as_bytes()),
    ]);
    let option = tree.path().join("vendor/py_all.h").display().to_string();
    let ran = tree.ungil(&[
        "diff",
        "--select",
        "UG1",
        "--min-python",
        "3.9",
        "--compat-header",
        &option,
    ]);
    assert!(
        ran.text().contains("+#include \"../vendor/py_all.h\""),
        "{ran:?}"
    );
    let missing = tree.ungil(&["diff", "--compat-header", "no.h"]);
    assert_eq!(missing.status, 2, "{missing:?}");
}

/// Include folders of the Pythons of the machine, oldest first, of the free-threaded one, and of
/// those that are newer.
fn all_headers() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = pythons()
        .iter()
        .map(|python| headers(python).into())
        .collect();
    found.extend(newer_headers());
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let versions = fs::read_dir(home.join(".pyenv/versions"))
        .into_iter()
        .flatten();
    for version in versions.flatten() {
        let include = fs::read_dir(version.path().join("include"))
            .into_iter()
            .flatten();
        found.extend(include.flatten().map(|folder| folder.path()));
    }
    found.retain(|folder| !folder.ends_with("python2.7"));
    found.sort();
    found
}

/// Writes the safe fixes for borrowed references into a tree with these files.
fn migrated(files: &[(&str, &str)]) -> (Tree, String) {
    let bytes = files.iter().map(|(name, text)| (*name, text.as_bytes()));
    let tree = Tree::new(&bytes.collect::<Vec<_>>());
    let select = ["--select", "UG1", "--min-python", "3.6"];
    let ran = tree.ungil(&[&["migrate", "--allow-no-vcs"], &select[..]].concat());
    assert_eq!(ran.status, 0, "{ran:?}");
    let again = tree.ungil(&[&["check"], &select[..]].concat());
    assert_eq!(again.status, 0, "{again:?}");
    (tree, ran.stderr)
}

/// Compiles the tree's `m.c` with the headers of every Python; a warning fails.
fn compiles_everywhere(tree: &Tree) {
    let warnings = "-Wno-cast-function-type";
    for include in all_headers() {
        compile(tree.path(), &include, &[warnings]);
    }
    for include in newer_headers() {
        compile(tree.path(), &include, &[warnings, "-DPy_GIL_DISABLED=1"]);
    }
}

/// What `text` has above the first function that is not `static inline`.
fn head(text: &str) -> &str {
    text.split("\nPyObject *").next().unwrap()
}

const GLOB: &str = "import glob\nsetup(depends=glob.glob('*.h'))\n";

/// A unit of two `.c` files, migrated where a build takes the headers of the folder.
fn unit_in_pieces() -> (Tree, String) {
    let c = |name: &str, more: &str| format!("#include <Python.h>\n{more}\n{}", reader(name));
    let main = c("first", "#include <string.h>\n#include \"b.c\"\n") + MORE;
    // No header, and nothing that brings `Python.h`.
    let main = "#include \"texts.inc\"\n".to_owned() + &main;
    let other = c("other", "").replace("    ", "\t").replace('\n', "\r\n");
    migrated(&[
        ("m.c", &main),
        ("b.c", &other),
        ("texts.inc", "#define TEXT 1\n"),
        ("setup.py", GLOB),
    ])
}

#[test]
fn stand_ins_in_the_file_are_there_once_a_unit() {
    let (tree, said) = unit_in_pieces();
    insta::assert_snapshot!(head(&tree.text("m.c")), @r#"
        #include "texts.inc"
        #include <Python.h>
        #include <string.h>

        #if PY_VERSION_HEX < 0x030D00A4 && !defined(PyList_GetItemRef)
        #  define PyList_GetItemRef compat_PyList_GetItemRef
        static inline PyObject *
        PyList_GetItemRef(PyObject *list, Py_ssize_t index)
        {
            PyObject *item = PyList_GetItem(list, index);
            Py_XINCREF(item);
            return item;
        }
        #endif

        #if PY_VERSION_HEX < 0x030D00A1 && !defined(PyDict_GetItemRef)
        #  define PyDict_GetItemRef compat_PyDict_GetItemRef
        static inline int
        PyDict_GetItemRef(PyObject *dict, PyObject *key, PyObject **result)
        {
            int pending = PyErr_Occurred() != NULL;
            *result = PyDict_GetItemWithError(dict, key);
            if (*result != NULL) {
                Py_INCREF(*result);
                return 1;
            }
            return !pending && PyErr_Occurred() ? -1 : 0;
        }
        #endif
        #include "b.c"
    "#);
    insta::assert_snapshot!(head(&tree.text("b.c")).replace("\r\n", "^\n"), @"
    #include <Python.h>^
    ^
    #if PY_VERSION_HEX < 0x030D00A4 && !defined(PyList_GetItemRef)^
    #  define PyList_GetItemRef compat_PyList_GetItemRef^
    static inline PyObject *^
    PyList_GetItemRef(PyObject *list, Py_ssize_t index)^
    {^
    	PyObject *item = PyList_GetItem(list, index);^
    	Py_XINCREF(item);^
    	return item;^
    }^
    #endif^
    ");
    let told = said.lines().find(|line| line.contains("newer Pythons"));
    assert_eq!(
        told,
        Some(
            "Functions of newer Pythons that the changes call are defined in 2 files that call them, not in a new header, which would need a confirmation first: `setup.py` may also list the new `pyapi_compat.h`, which matches `*.h`"
        )
    );
    assert!(!tree.path().join("pyapi_compat.h").exists());
    compiles_everywhere(&tree);
}

/// A package's own compatibility header, under a name of its own.
const PORT: &str = "#ifndef PORT_H\n#define PORT_H\n#include <Python.h>\n\n\
    #if PY_VERSION_HEX < 0x03090000\n\
    #define Py_IS_TYPE(o, t) (Py_TYPE(o) == (t))\n#endif\n\n#endif\n";

#[test]
fn a_compatibility_header_under_another_name_gets_them() {
    let c = "#include \"port.h\"\n".to_owned() + &reader("first");
    let files = [("m.c", &*c), ("port.h", PORT), ("setup.py", GLOB)];
    let (tree, said) = migrated(&files);
    assert!(!tree.text("m.c").contains("#if"), "{}", tree.text("m.c"));
    insta::assert_snapshot!(tree.text("port.h"), @r#"
    #ifndef PORT_H
    #define PORT_H
    #include <Python.h>

    #if PY_VERSION_HEX < 0x030D00A4 && !defined(PyList_GetItemRef)
    #  define PyList_GetItemRef port_compat_PyList_GetItemRef
    static inline PyObject *
    PyList_GetItemRef(PyObject *list, Py_ssize_t index)
    {
        PyObject *item = PyList_GetItem(list, index);
        Py_XINCREF(item);
        return item;
    }
    #endif

    #if PY_VERSION_HEX < 0x03090000
    #define Py_IS_TYPE(o, t) (Py_TYPE(o) == (t))
    #endif

    #endif
    "#);
    assert!(
        said.contains(
            "Functions of newer Pythons that the changes call are added to `port.h`, which already defines such functions"
        ),
        "{said}"
    );
    compiles_everywhere(&tree);
    // So does what a later change needs.
    let (port, later) = (tree.text("port.h"), c.clone() + CHOICE);
    let (tree, _) = migrated(&[("m.c", &later), ("port.h", &port), ("setup.py", GLOB)]);
    assert!(
        tree.text("port.h")
            .contains("define Py_NewRef port_compat_Py_NewRef")
    );
    assert!(!tree.text("m.c").contains("pyapi"), "{}", tree.text("m.c"));
    compiles_everywhere(&tree);
    // Other packages include it, or it says nothing of versions: a header of its own.
    let installed = PORT.replace("PORT_H", "H");
    let elsewhere = c.replace("port.h", "include/port.h");
    let (_, patch) = told(&[("m.c", &*elsewhere), ("include/port.h", &installed)], &[]);
    assert!(patch.contains("+++ b/pyapi_compat.h"), "{patch}");
    let plain = PORT.replace("PY_VERSION_HEX < 0x03090000", "1");
    let (_, patch) = told(&[("m.c", &*c), ("port.h", &plain)], &[]);
    assert!(patch.contains("+++ b/pyapi_compat.h"), "{patch}");
}

/// The item, or `None`, which then is a reference of its own as well.
const CHOICE: &str = "PyObject *choice(PyObject *l)
{
    PyObject *v;
    if (PyList_Size(l) > 0) {
        v = PyList_GetItem(l, 0);
        if (v == NULL)
            return NULL;
    }
    else {
        v = Py_None;
    }
    return PyObject_Str(v);
}
";

/// How packages get `Py_NewRef` on Pythons before 3.10.
const OWN: [&str; 4] = [
    "#if PY_VERSION_HEX < 0x030A00A3\nstatic inline PyObject *\nPy_NewRef(PyObject *o)\n{\n    Py_INCREF(o);\n    \
     return o;\n}\n#endif\n",
    "#ifndef Py_NewRef\n#define Py_NewRef(o) (Py_INCREF(o), (o))\n#endif\n",
    // As an earlier run writes it, and for the limited API.
    "#if PY_VERSION_HEX < 0x030A00A3 && !defined(Py_NewRef)\n\
     #define Py_NewRef(o) (Py_INCREF(o), (o))\n#endif\n",
    "#if (PY_VERSION_HEX < 0x030A00A3 \\\n \
     || (defined(Py_LIMITED_API) && Py_LIMITED_API+0 < 0x030A0000)) \\\n && !defined(Py_NewRef)\n\
     #define Py_NewRef(o) (Py_INCREF(o), (o))\n#endif\n",
];

#[test]
fn what_a_package_defines_itself_is_used() {
    let c = |own: &str| format!("#include <Python.h>\n\n{own}\n{CHOICE}");
    for own in OWN {
        // Another file gets the stand-in by a header, which this one must not include.
        let other = "#include <Python.h>\n".to_owned() + &CHOICE.replace("choice", "other");
        let (tree, _) = migrated(&[("m.c", &c(own)), ("other.c", &other)]);
        assert!(tree.text("m.c").contains("v = Py_NewRef(Py_None)"));
        assert!(!tree.text("m.c").contains("pyapi"), "{}", tree.text("m.c"));
        assert!(tree.text("other.c").contains("#include \"pyapi_compat.h\""));
        compiles_everywhere(&tree);
        fs::rename(tree.path().join("other.c"), tree.path().join("m.c")).unwrap();
        compiles_everywhere(&tree);
        // In a header that is read before.
        let used = "#include \"own.h\"\n".to_owned() + CHOICE;
        let header = format!("#include <Python.h>\n{own}");
        let (tree, _) = migrated(&[("m.c", &used), ("own.h", &header)]);
        assert!(!tree.text("own.h").contains("compat_Py_NewRef"));
        compiles_everywhere(&tree);
    }
    let below = format!("#include <Python.h>\n\n{CHOICE}\n{}", OWN[0]);
    let not_for_all = [
        c(&OWN[0].replace("0x030A00A3", "0x03090000")),
        c(&format!("#if 0\n{}#endif\n", OWN[1])),
        c(&format!("#ifdef MINE\n{}#endif\n", OWN[1])),
        c(&OWN[2].replace("&& !", "&& defined(MINE) && !")),
        c(&OWN[3].replace("0x030A00A3", "0x03090000")),
    ];
    for text in not_for_all.iter().chain([&below]) {
        let (doubts, _) = told(&[("m.c", text)], &[]);
        assert_eq!(
            doubts,
            [
                "`m.c` defines its own `Py_NewRef`, and that definition is above this use on every Python that does not have the function"
            ],
            "{text}"
        );
    }
}
