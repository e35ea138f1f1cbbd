use insta::assert_snapshot;

use crate::build::{BuildFile, BuildKind, Content};
use crate::diff::{FileChange, FileMode, patch};
use crate::edit::{EditSet, FixId, apply};
use crate::preprocess::VersionRange;
use crate::program::testing::with_program;
use crate::rule::{BuildCx, Finding, Outcome, PackageCx};
use crate::source::FileSet;
use crate::transforms::ALL;

const RANGE: VersionRange = VersionRange {
    min: 0x0309_0000,
    max: 0x030F_00F0,
};

/// What the rules about build files say of a package whose modules are declared, and the patch of
/// all fixes.
fn run(texts: &[(&str, &str)]) -> String {
    let (said, result) = once(texts);
    let again: Vec<(&str, &str)> = texts
        .iter()
        .zip(&result)
        .map(|((path, _), text)| (*path, text.as_str()))
        .collect();
    let (_, twice) = once(&again);
    assert_eq!(twice, result, "a second run changes more");
    let changes = texts
        .iter()
        .zip(&result)
        .map(|((path, old), new)| FileChange {
            path: path.as_ref(),
            old: Some(old.as_bytes()),
            new: new.as_bytes(),
            mode: FileMode::Regular,
        });
    let changes: Vec<FileChange<'_>> = changes.collect();
    let diff = String::from_utf8(patch(&changes, 1)).unwrap();
    let hunks = diff.lines().filter(|line| !line.starts_with("diff --git"));
    let hunks: Vec<&str> = hunks
        .filter(|line| {
            !["index", "--- ", "+++ "]
                .iter()
                .any(|head| line.starts_with(head))
        })
        .collect();
    said + &hunks.join("\n")
}

fn once(texts: &[(&str, &str)]) -> (String, Vec<String>) {
    with_program(texts, |program| {
        let cx = PackageCx::new(program, RANGE);
        let files = build_files(program.files);
        let cx = BuildCx {
            files: &files,
            package: &cx,
            is_declared: true,
        };
        let mut findings = Vec::new();
        for rule in ALL {
            rule.check.build(&cx, &mut findings);
        }
        let said = findings.iter().map(|finding| tell(program.files, finding));
        let fixes = findings
            .iter()
            .filter_map(|finding| match &finding.outcome {
                Outcome::Fix(fix) => Some(fix),
                Outcome::Safe(_) | Outcome::Manual(_) => None,
            });
        let (edits, conflicts) = EditSet::merge((0..).map(FixId).zip(fixes));
        assert_eq!(conflicts, []);
        let result = program.files.iter().take(texts.len()).map(|(id, file)| {
            String::from_utf8(apply(file.bytes(), edits.edits(id)).bytes).unwrap()
        });
        let result: Vec<String> = result.collect();
        let changed = texts
            .iter()
            .zip(&result)
            .filter(|((_, old), new)| old != new);
        for ((path, _), text) in changed {
            let file = crate::source::SourceFile::new(path.into(), text.clone().into_bytes());
            if let Some(kind) = BuildKind::of_name(path.as_ref()) {
                let content = BuildFile::new(crate::source::FileId(0), kind, &file).content;
                assert!(!matches!(content, Content::Broken(_)), "{text}");
            }
        }
        (said.collect(), result)
    })
}

fn build_files(files: &FileSet) -> Vec<BuildFile<'_>> {
    let files = files.iter().filter_map(|(id, file)| {
        let kind = BuildKind::of_name(file.path())?;
        Some(BuildFile::new(id, kind, file))
    });
    files.collect()
}

fn tell(files: &FileSet, finding: &Finding) -> String {
    let file = files.get(finding.file);
    let line = file.position(finding.span.start()).line.0;
    let text = file.text(finding.span);
    let (how, what) = match &finding.outcome {
        Outcome::Fix(fix) if fix.assumptions.is_empty() => ("safe", fix.title.clone()),
        Outcome::Fix(fix) => {
            let asked = fix.assumptions.iter().map(ToString::to_string);
            ("review", asked.collect::<Vec<_>>().join("; "))
        }
        Outcome::Safe(reason) => ("fine", reason.clone()),
        Outcome::Manual(advice) => ("manual", advice.clone()),
    };
    let (code, message) = (finding.rule.code, &finding.message);
    format!("{line}: {code} `{text}` {message}\n  {how}: {what}\n")
}

fn setup(text: &str) -> String {
    run(&[("setup.py", text)])
}

#[test]
fn an_option_gets_the_condition_and_its_import() {
    assert_snapshot!(setup("\
from setuptools import Extension, setup

setup(ext_modules=[Extension('m', ['m.c'], py_limited_api=True)])
"), @"
    3: UG801 `py_limited_api=True` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      safe: request the limited API only on builds with the GIL
    @@ -1,3 +1,4 @@
    +import sysconfig
     from setuptools import Extension, setup
     
    -setup(ext_modules=[Extension('m', ['m.c'], py_limited_api=True)])
    +setup(ext_modules=[Extension('m', ['m.c'], py_limited_api=not sysconfig.get_config_var('Py_GIL_DISABLED'))])
    ");
}

#[test]
fn several_places_share_a_variable() {
    assert_snapshot!(setup("\
import os
import sys

from setuptools import Extension, setup

macros = [(\"DEBUG\", \"1\"), (\"Py_LIMITED_API\", \"0x03090000\")]

setup(
    ext_modules=[
        Extension(
            \"m\",
            [\"m.c\"],
            define_macros=macros,
            py_limited_api=True,
        )
    ],
    options={\"bdist_wheel\": {\"py_limited_api\": \"cp39\"}},
)
"), @r#"
    6: UG801 `"Py_LIMITED_API"` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      safe: request the limited API only on builds with the GIL
    @@ -2,2 +2,3 @@ import os
     import sys
    +import sysconfig
     
    @@ -5,3 +6,5 @@ from setuptools import Extension, setup
     
    -macros = [("DEBUG", "1"), ("Py_LIMITED_API", "0x03090000")]
    +py_gil_disabled = sysconfig.get_config_var("Py_GIL_DISABLED")
    +
    +macros = [("DEBUG", "1"), *([("Py_LIMITED_API", "0x03090000")] if not py_gil_disabled else [])]
     
    @@ -13,6 +16,6 @@ setup(
                 define_macros=macros,
    -            py_limited_api=True,
    +            py_limited_api=not py_gil_disabled,
             )
         ],
    -    options={"bdist_wheel": {"py_limited_api": "cp39"}},
    +    options={"bdist_wheel": {"py_limited_api": False if py_gil_disabled else "cp39"}},
     )
    "#);
}

#[test]
fn a_variable_changes_where_it_is_set() {
    assert_snapshot!(setup("\
import sys
import sysconfig

abi3 = (
    sys.platform != \"win32\"
    and sys.version_info >= (3, 9)
)
macros = []
if abi3:
    macros.append((\"Py_LIMITED_API\", \"0x03090000\"))
ext = Extension(\"m\", [\"m.c\"], define_macros=macros, py_limited_api=abi3)
"), @r#"
    10: UG801 `"Py_LIMITED_API"` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      safe: request the limited API only on builds with the GIL
    @@ -6,2 +6,3 @@ abi3 = (
         and sys.version_info >= (3, 9)
    +    and not sysconfig.get_config_var("Py_GIL_DISABLED")
     )
    "#);
}

#[test]
fn lists_of_one_and_statements() {
    assert_snapshot!(setup("\
import sysconfig
cflags = []
if debug:
    cflags += [\"-Wp,-DPy_LIMITED_API=0x03060000\"]
"), @r#"
    4: UG801 `"-Wp,-DPy_LIMITED_API=0x03060000"` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      safe: request the limited API only on builds with the GIL
    @@ -3,2 +3,3 @@ cflags = []
     if debug:
    -    cflags += ["-Wp,-DPy_LIMITED_API=0x03060000"]
    +    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
    +        cflags += ["-Wp,-DPy_LIMITED_API=0x03060000"]
    "#);
    assert_snapshot!(setup("\
import sysconfig
if new:
    macros.append((\"Py_LIMITED_API\",
                   \"0x03060000\"))
"), @r#"
    3: UG801 `"Py_LIMITED_API"` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      safe: request the limited API only on builds with the GIL
    @@ -2,3 +2,4 @@ import sysconfig
     if new:
    -    macros.append(("Py_LIMITED_API",
    -                   "0x03060000"))
    +    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
    +        macros.append(("Py_LIMITED_API",
    +                       "0x03060000"))
    "#);
    assert_snapshot!(setup("\
import sysconfig
flags = base + [\"-DPy_LIMITED_API\"]
"), @r#"
    2: UG801 `"-DPy_LIMITED_API"` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      safe: request the limited API only on builds with the GIL
    @@ -1,2 +1,2 @@
     import sysconfig
    -flags = base + ["-DPy_LIMITED_API"]
    +flags = base + (["-DPy_LIMITED_API"] if not sysconfig.get_config_var("Py_GIL_DISABLED") else [])
    "#);
}

#[test]
fn what_depends_on_the_build_is_left() {
    assert_snapshot!(setup("\
import sysconfig
gil_disabled = sysconfig.get_config_var(\"Py_GIL_DISABLED\")
options = {}
use = False
if not gil_disabled:
    use = True
    options[\"bdist_wheel\"] = {\"py_limited_api\": \"cp313\"}
setup(ext_modules=[
    Extension(\"a\", [\"a.c\"], py_limited_api=not gil_disabled),
    Extension(\"b\", [\"b.c\"], py_limited_api=use),
    Extension(\"c\", [\"c.c\"], py_limited_api=False),
])
"), @"");
}

#[test]
fn places_that_cannot_be_changed_leave_the_whole_file() {
    assert_snapshot!(setup("\
import sysconfig
def make(limited):
    return Extension(\"a\", [\"a.c\"], py_limited_api=limited)
b = Extension(\"b\", [\"b.c\"], py_limited_api=True)
"), @r#"
    3: UG801 `py_limited_api=limited` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      manual: the variable in line 3 cannot be changed safely; request it only if `sysconfig.get_config_var("Py_GIL_DISABLED")` is not true
    "#);
    assert_snapshot!(setup("\
import os
os.environ[\"CFLAGS\"] = \"-O2 -DPy_LIMITED_API=0x03060000\"
"), @r#"
    2: UG801 `"-O2 -DPy_LIMITED_API=0x03060000"` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      manual: the way it is written here in line 2 cannot be changed safely; request it only if `sysconfig.get_config_var("Py_GIL_DISABLED")` is not true
    "#);
    assert_snapshot!(setup("\
setup(py_limited_api=True
"), @"
    1: UG801 `` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      manual: check this by hand (only the name was found here, because line 1 is not valid Python)
    ");
}

#[test]
fn imports_keep_their_order() {
    let text = "\
\"\"\"Setup.\"\"\"
from __future__ import print_function
from distutils.core import setup
setup(options={'bdist_wheel': {'py_limited_api': tag or None}})
";
    assert_snapshot!(setup(text), @"
    4: UG801 `'py_limited_api': tag or None` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      safe: request the limited API only on builds with the GIL
    @@ -2,3 +2,4 @@
     from __future__ import print_function
    +import sysconfig
     from distutils.core import setup
    -setup(options={'bdist_wheel': {'py_limited_api': tag or None}})
    +setup(options={'bdist_wheel': {'py_limited_api': False if sysconfig.get_config_var('Py_GIL_DISABLED') else tag or None}})
    ");
}

#[test]
fn line_ends_are_kept() {
    let text = "import os\r\nimport zlib\r\nsetup(py_limited_api=True)\r\n";
    let (_, result) = once(&[("setup.py", text)]);
    assert_eq!(
        result[0],
        "import os\r\nimport sysconfig\r\nimport zlib\r\n\
         setup(py_limited_api=not sysconfig.get_config_var(\"Py_GIL_DISABLED\"))\r\n"
    );
}

#[test]
fn other_build_systems_get_advice() {
    assert_snapshot!(run(&[
        ("setup.cfg", "[bdist_wheel]\n# py_limited_api = cp38\npy_limited_api = cp39\n"),
        ("pyproject.toml", "[tool.meson-python]\nlimited-api = true\n"),
        ("meson.build", "py.extension_module('m', 'm.c', limited_api: '3.9')\n"),
        ("CMakeLists.txt", "python_add_library(m MODULE USE_SABI 3.9 m.c)\n"),
        ("a/CMakeLists.txt", "if(NOT Python_FREE_THREADED)\n  set(S USE_SABI 3.9)\nendif()\n"),
    ]), @r#"
    3: UG801 `py_limited_api` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      manual: move it to `options={"bdist_wheel": …}` of `setup.py`, where it can depend on `sysconfig.get_config_var("Py_GIL_DISABLED")`
    2: UG801 `limited-api` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      manual: build for free-threaded Python with `-Csetup-args=-Dpython.allow_limited_api=false` and without this option; meson-python 0.21 supports `abi3t` of Python 3.15
    1: UG801 `limited_api` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      manual: build for free-threaded Python with `-Dpython.allow_limited_api=false`
    1: UG801 `USE_SABI` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
      manual: leave it out if the interpreter reports `sysconfig.get_config_var("Py_GIL_DISABLED")`
    "#);
}

#[test]
fn cibuildwheel_settings_by_version() {
    let pyproject = "\
[tool.cibuildwheel]
# keep
free-threaded-support = true  # new
enable = [\"pypy\", \"cpython-freethreading\"]
build = \"cp310-* cp313-*\"
skip = [\"*t-*\", \"pp*\"]
manylinux-x86_64-image = \"manylinux2010\"
";
    assert_snapshot!(run(&[("pyproject.toml", pyproject)]), @r#"
    3: UG802 `free-threaded-support` cibuildwheel 3.0 removed the option `free-threaded-support`; it has no effect
      review: wheels are built with cibuildwheel 3.1 or later
    4: UG802 `"cpython-freethreading"` cibuildwheel 4.0 rejects the group `cpython-freethreading`; the build fails
      manual: use cibuildwheel 3.1 or later, which builds `cp314t` without this group, and remove it
    5: UG802 `build` none of these patterns matches free-threaded Python; no wheels are built for it
      manual: add `cp314t-*`, which cibuildwheel supports since 3.1
    6: UG802 `skip` this pattern skips free-threaded Python; no wheels are built for it
      manual: remove the pattern when the package is ported
    7: UG802 `"manylinux2010"` the image `manylinux2010` does not contain Python 3.13; wheels for free-threaded Python cannot be built in it
      manual: use `manylinux2014`, `manylinux_2_28` or a later image for free-threaded Python
    @@ -2,3 +2,2 @@
     # keep
    -free-threaded-support = true  # new
     enable = ["pypy", "cpython-freethreading"]
    "#);
    let workflow = |version: &str| {
        let text = format!("jobs:\n  - uses: pypa/cibuildwheel@v{version}\n");
        let pyproject = "[tool.cibuildwheel]\nenable = [\"cpython-freethreading\"]\n";
        run(&[
            ("pyproject.toml", pyproject),
            (".github/workflows/w.yml", &text),
        ])
    };
    assert_snapshot!(workflow("2.11.4"), @"
    2: UG802 `cibuildwheel` this version of cibuildwheel does not support free-threaded Python; no wheels are built for it
      manual: use cibuildwheel 3.1 or later, which builds `cp314t` by default
    ");
    assert_snapshot!(workflow("2.19.0"), @"
    2: UG802 `cibuildwheel` this version of cibuildwheel builds for free-threaded Python only if asked; no wheels are built for it
      manual: use cibuildwheel 3.1 or later, which builds `cp314t` by default
    ");
    assert_snapshot!(workflow("2.22.0"), @"");
    assert_snapshot!(workflow("4.0.0"), @r#"
    2: UG802 `"cpython-freethreading"` cibuildwheel 4.0 rejects the group `cpython-freethreading`; the build fails
      manual: use cibuildwheel 3.1 or later, which builds `cp314t` without this group, and remove it
    "#);
}

#[test]
fn workflows_build_for_free_threading_somewhere() {
    let workflow = |builds: &str| run(&[(".github/workflows/w.yml", builds)]);
    assert_snapshot!(workflow("env:\n  CIBW_BUILD: \"cp37-* cp38-*\"\n  # CIBW_BUILD: cp314t-*\n"), @"
    2: UG802 `CIBW_BUILD` none of these patterns matches free-threaded Python; no wheels are built for it
      manual: add `cp314t-*`, which cibuildwheel supports since 3.1
    ");
    assert_snapshot!(workflow("env:\n  CIBW_BUILD: cp37-*\nenv:\n  CIBW_BUILD: cp3*\n"), @"");
    assert_snapshot!(workflow("env:\n  CIBW_BUILD: ${{ matrix.build }}\n"), @"");
    assert_snapshot!(workflow("env:\n  CIBW_MANYLINUX_X86_64_IMAGE: manylinux1\n"), @"
    2: UG802 `CIBW_MANYLINUX_X86_64_IMAGE` the image `manylinux1` does not contain Python 3.13; wheels for free-threaded Python cannot be built in it
      manual: use `manylinux2014`, `manylinux_2_28` or a later image for free-threaded Python
    ");
}

#[test]
fn macros_of_the_interpreter_are_not_for_the_package_to_define() {
    assert_snapshot!(setup("\
Extension(\"m\", [\"m.c\"], define_macros=[(\"Py_GIL_DISABLED\", \"1\")])
if sysconfig.get_config_var(\"Py_GIL_DISABLED\"):
    macros.append((\"Py_GIL_DISABLED\", \"1\"))
"), @r#"
    1: UG803 `"Py_GIL_DISABLED"` `Py_GIL_DISABLED` is also defined for Pythons with the GIL; the module then does not match the interpreter
      manual: let setuptools 75.7 or later define it, or define it only if `sysconfig.get_config_var("Py_GIL_DISABLED")` is true
    "#);
    assert_snapshot!(run(&[("pyproject.toml", "\
[build-system]
requires = [\"setuptools>=61,<75\", \"wheel\"]
")]), @r#"
    2: UG803 `"setuptools>=61,<75"` setuptools before 75.7 compiles for Pythons with the GIL on Windows, even when a free-threaded Python runs it
      manual: allow setuptools 75.7 or later
    "#);
}

#[test]
fn binding_generators_have_their_own_switches() {
    assert_snapshot!(run(&[
        ("setup.py", "from Cython.Build import cythonize\nsetup(ext_modules=cythonize(\"m.pyx\"))\n"),
        ("CMakeLists.txt", "nanobind_add_module(a\n  a.cpp)\nnanobind_add_module(b FREE_THREADED b.cpp)\n"),
        ("meson.build", "run_command('python', '-m', 'numpy.f2py')\n"),
        ("a.cpp", "#define PYBIND11_MODULE(n, m)\nPYBIND11_MODULE(a, m) { f(m); }\n"),
        ("b.cpp", "PYBIND11_MODULE(b, m, py::mod_gil_not_used()) { }\n"),
    ]), @"
    2: UG804 `cythonize` modules of Cython do not declare that they run without the GIL; importing them turns the GIL on
      manual: set the directive `freethreading_compatible=True` of Cython 3.1 or later, here or in each `.pyx`, once its code is safe
    1: UG804 `nanobind_add_module` modules of nanobind do not declare that they run without the GIL; importing them turns the GIL on
      manual: add `FREE_THREADED` (nanobind 2.2 or later) once its code is safe
    1: UG804 `f2py` modules of f2py do not declare that they run without the GIL; importing them turns the GIL on
      manual: run f2py of NumPy 2.1 or later with `--freethreading-compatible`, once the Fortran code is safe
    2: UG804 `PYBIND11_MODULE` modules of pybind11 do not declare that they run without the GIL; importing them turns the GIL on
      manual: add the argument `py::mod_gil_not_used()` (pybind11 2.13 or later) once its code is safe
    ");
    assert_snapshot!(setup("\
cythonize(\"m.pyx\", compiler_directives={\"freethreading_compatible\": True})
"), @"");
}

#[test]
fn classifiers_are_added_beside_the_others() {
    assert_snapshot!(run(&[("pyproject.toml", "\
[project]
classifiers = [
  'Programming Language :: Python :: 3',
  'Programming Language :: Python :: 3.13',  # newest
  'Topic :: Software Development'
]
")]), @"
    4: UG805 `'Programming Language :: Python :: 3.13'` the classifiers do not say how well free-threaded Python is supported; users cannot see it on PyPI
      review: the package may be used with free-threaded Python, at least for testing
    @@ -4,2 +4,3 @@ classifiers = [
       'Programming Language :: Python :: 3.13',  # newest
    +  'Programming Language :: Python :: Free Threading :: 1 - Unstable',
       'Topic :: Software Development'
    ");
    assert_snapshot!(setup("\
setup(classifiers=[\"Topic :: X\", \"Programming Language :: Python\"])
"), @r#"
    1: UG805 `"Programming Language :: Python"` the classifiers do not say how well free-threaded Python is supported; users cannot see it on PyPI
      review: the package may be used with free-threaded Python, at least for testing
    @@ -1 +1 @@
    -setup(classifiers=["Topic :: X", "Programming Language :: Python"])
    +setup(classifiers=["Topic :: X", "Programming Language :: Python", "Programming Language :: Python :: Free Threading :: 1 - Unstable"])
    "#);
    assert_snapshot!(setup("\
setup(classifiers=[\"Programming Language :: Python\",
                   \"Programming Language :: Python :: Free Threading :: 3 - Stable\"])
"), @"");
}

#[test]
fn definitions_in_c_are_told_where_nothing_keeps_them_from_a_build_without_the_gil() {
    let header = "#ifndef OWN_H\n#define OWN_H\n#ifndef FULL_API\n#define Py_LIMITED_API 0x03090000\n\
                  #endif\n#endif\n";
    let guarded = "#include <pyconfig.h>\n#ifndef Py_GIL_DISABLED\n#define Py_LIMITED_API 0x03090000\n\
                   #endif\n#ifdef ABI3\n#define Py_LIMITED_API 3\n#endif\n";
    assert_snapshot!(
        run(&[("own.h", header), ("plain.c", "#define Py_LIMITED_API 3\n"), ("guarded.c", guarded)]),
        @r#"
        4: UG801 `Py_LIMITED_API` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
          manual: define it under `#ifndef Py_GIL_DISABLED` after `#include <pyconfig.h>`, or let the build define it if `sysconfig.get_config_var("Py_GIL_DISABLED")` is not true
        1: UG801 `Py_LIMITED_API` this requests the limited API, which free-threaded Python 3.13 and 3.14 reject
          manual: define it under `#ifndef Py_GIL_DISABLED` after `#include <pyconfig.h>`, or let the build define it if `sysconfig.get_config_var("Py_GIL_DISABLED")` is not true
        "#
    );
    let setup = "from setuptools import setup\nsetup(define=[('FULL_API', None)])\n";
    assert_snapshot!(run(&[("own.h", header), ("setup.py", setup)]), @"");
}
