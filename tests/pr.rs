//! A pull request as its reviewer gets it: every patch applies with `git am`, compiles, and says why.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::tree::{Ran, Tree};
use support::{free_threaded_python, headers, run};

const SOURCE: &str = include_str!("pr/shop.c");

const SETUP: &str = "from setuptools import Extension, setup

setup(ext_modules=[Extension('shop', ['src/shop.c'], depends=['src/price.h'])])
";

const PROJECT: &str = "[project]
name = \"shop\"
version = \"1.0\"
requires-python = \">=3.9\"
classifiers = [
    \"Programming Language :: Python :: 3\",
]
";

const WORKFLOW: &str = "on: [push]
jobs:
  test:
    strategy:
      matrix:
        python-version: [\"3.9\", \"3.13\"]
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: ${{ matrix.python-version }}
      - run: python -m pip install . pytest
      - run: python -m pytest
";

const CHANGELOG: &str = "# Changes

## Unreleased

- Prices may be negative.

## 1.0

- First.
";

/// A project below the top of its repository.
fn shop() -> Tree {
    Tree::new(&[
        ("README", b"Shops.\n"),
        (".github/workflows/tests.yml", WORKFLOW.as_bytes()),
        ("python/pyproject.toml", PROJECT.as_bytes()),
        ("python/setup.py", SETUP.as_bytes()),
        ("python/CHANGELOG.md", CHANGELOG.as_bytes()),
        ("python/src/shop.c", SOURCE.as_bytes()),
        ("python/tests/test_shop.py", b"import shop\n"),
    ])
}

const AUTHOR: &str = "J\u{e9} M <j@example.invalid>";

/// Runs `ungil pr` on the project `path` of `tree`; the patches that it lists, in order, and what it
/// wrote beside.
fn series(tree: &Tree, path: &str, to: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let to = to.to_str().unwrap();
    let options = ["pr", path, "--unsafe-fixes", "--author", AUTHOR, "-o", to];
    let ran = tree.ungil(&options);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let listed: Vec<PathBuf> = ran.text().lines().map(PathBuf::from).collect();
    let mut found: Vec<PathBuf> = fs::read_dir(to)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    assert_eq!(listed, found);
    let is_patch = |path: &PathBuf| path.extension().unwrap() == "patch";
    listed.into_iter().partition(is_patch)
}

fn am(tree: &Tree, patch: &Path) {
    tree.git(&["am", "--quiet", patch.to_str().unwrap()]);
}

/// Compiles every C file of `tree` for the ordinary and the free-threaded Python.
fn compile(tree: &Tree, includes: &[String]) {
    for name in tree.names() {
        if name.extension().is_some_and(|it| it == "c") {
            for include in includes {
                let mut gcc = Command::new("gcc");
                gcc.args(["-fsyntax-only", "-Wall", "-Werror", "-isystem", include]);
                gcc.arg("-Wno-deprecated-declarations").arg(&name);
                run(gcc.current_dir(tree.path()));
            }
        }
    }
}

fn files(tree: &Tree) -> BTreeMap<PathBuf, Vec<u8>> {
    let read = |name: PathBuf| (name.clone(), tree.read(name.to_str().unwrap()));
    tree.names().into_iter().map(read).collect()
}

fn includes() -> [String; 2] {
    [headers(Path::new("python3")), headers(&free_threaded_python())]
}

#[test]
fn each_patch_applies_and_compiles_and_all_are_what_migrate_writes() {
    let tree = shop().committed();
    let folder = tempfile::tempdir().unwrap();
    let (patches, rest) = series(&tree, "python", &folder.path().join("pr"));
    assert_eq!(rest.len(), 1);
    let includes = includes();
    compile(&tree, &includes);
    for patch in &patches {
        am(&tree, patch);
        compile(&tree, &includes);
    }
    let log = tree.git(&["log", "--reverse", "--format=%an %s"]);
    insta::assert_snapshot!(String::from_utf8(log.stdout).unwrap(), @"");

    let migrated = shop().committed();
    let options = ["migrate", "python", "--unsafe-fixes", "--build-files"];
    migrated.ungil(&options);
    let (mut series, migrated) = (files(&tree), files(&migrated));
    let mut extra = String::new();
    series.retain(|name, bytes| {
        let is_same = migrated.get(name).is_some_and(|it| it == bytes);
        if !is_same {
            writeln!(extra, "{}", name.display()).unwrap();
        }
        is_same
    });
    insta::assert_snapshot!(extra, @"");
    let left = migrated.keys().filter(|name| !series.contains_key(*name));
    let left: Vec<_> = left.map(|name| name.display().to_string()).collect();
    assert_eq!(left, [".github/workflows/tests.yml", "python/CHANGELOG.md"]);

    let changes = ["diff", "-U0", "HEAD~7", "--", ".github", "*.md", "*.toml"];
    let changes = String::from_utf8(tree.git(&changes).stdout).unwrap();
    let lines = changes.lines().filter(|line| {
        line.starts_with(['+', '-']) && !line.starts_with("---") && !line.starts_with("+++")
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"");
}

#[test]
fn commits_say_what_could_go_wrong_and_why_it_cannot_now() {
    let tree = shop().committed();
    let folder = tempfile::tempdir().unwrap();
    let (patches, _) = series(&tree, "python", &folder.path().join("pr"));
    for patch in &patches {
        am(&tree, patch);
    }
    let log = tree.git(&["log", "--reverse", "--format=== %B", "HEAD~7.."]);
    insta::assert_snapshot!(String::from_utf8(log.stdout).unwrap(), @"");
}

#[test]
fn the_description_says_what_is_done_and_what_is_open() {
    let tree = shop().committed();
    let folder = tempfile::tempdir().unwrap();
    let (_, rest) = series(&tree, "python", &folder.path().join("pr"));
    insta::assert_snapshot!(fs::read_to_string(&rest[0]).unwrap(), @"");
}

/// Functions that each use items of a list.
fn many(name: &str, count: usize) -> String {
    let mut text = "#include <Python.h>\n\n".to_owned();
    for at in 0..count {
        write!(
            text,
            "Py_ssize_t\n{name}_{at}(PyObject *list)\n{{\n    PyObject *item = \
             PyList_GetItem(list, {at});\n    if (item == NULL)\n        return -1;\n    return \
             PyObject_Size(item);\n}}\n\n"
        )
        .unwrap();
    }
    text
}

#[test]
fn long_patches_are_split_by_file_and_then_by_function() {
    let (a, b, c) = (many("a", 60), many("b", 10), many("c", 10));
    let files = [("a.c", a.as_str()), ("b.c", &b), ("c.c", &c), ("setup.py", "")];
    let files = files.map(|(name, text)| (name, text.as_bytes()));
    let tree = Tree::new(&files).committed();
    let folder = tempfile::tempdir().unwrap();
    let (patches, _) = series(&tree, ".", &folder.path().join("pr"));
    let includes = includes();
    for patch in &patches {
        am(&tree, patch);
        compile(&tree, &includes);
    }
    let log = tree.git(&["log", "--reverse", "--format=%s", "--shortstat", "HEAD~3..", "--", "*.c"]);
    insta::assert_snapshot!(String::from_utf8(log.stdout).unwrap(), @"");
    assert_eq!(tree.ungil(&["diff", "--unsafe-fixes"]).text(), "");
}

#[test]
fn without_git_paths_are_those_of_the_project() {
    let tree = shop();
    let (patches, _) = series(&tree, "python", &tree.path().join("pr"));
    let text = fs::read_to_string(patches.last().unwrap()).unwrap();
    assert!(text.contains("\n+++ b/src/shop.c\n"), "{text}");
    for patch in &patches {
        let mut apply = Command::new("patch");
        apply.args(["-p1", "-s", "-i"]).arg(patch);
        run(apply.current_dir(tree.path().join("python")));
    }
}

/// The last line of what a refused run says.
fn refused(ran: &Ran) -> &str {
    assert_eq!(ran.status, 2, "{ran:?}");
    ran.stderr.trim_end().lines().last().unwrap()
}

#[test]
fn what_is_in_the_folder_is_not_lost() {
    let tree = shop().committed();
    series(&tree, "python", &tree.path().join("out"));
    let again = ["pr", "python", "-o", "out"];
    insta::assert_snapshot!(refused(&tree.ungil(&again)), @"");
    let force = [&again[..], &["--force"]].concat();
    let ran = tree.ungil(&force);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // Without the fixes to review there are fewer patches: none of the first series is left.
    let listed = ran.text().lines().count();
    assert_eq!(fs::read_dir(tree.path().join("out")).unwrap().count(), listed);
    tree.write("out/mine.txt", "");
    insta::assert_snapshot!(refused(&tree.ungil(&force)), @"");
    assert!(tree.path().join("out/mine.txt").exists());
}

#[test]
fn bad_input_is_refused_or_left_alone() {
    let tree = shop().committed();
    for author in ["me", "me <>", "<a@b>", "a <b@c>\nTo: x <y@z>", "a <b@c> <d@e>"] {
        let ran = tree.ungil(&["pr", "python", "-o", "out", "--author", author]);
        insta::allow_duplicates! {
            assert!(refused(&ran).contains("name an author") || author.contains('\n'), "{ran:?}");
        }
    }
    let ran = tree.ungil(&["pr", "python", "-o", "README"]);
    assert!(refused(&ran).contains("`README`"), "{ran:?}");
    assert!(!tree.path().join("out").exists());

    let odd: &[(&str, &[u8])] = &[
        ("setup.py", b"\xff("),
        ("CHANGELOG.md", b"## Unreleased\n- \xff\n"),
        ("CHANGES", b"Unreleased"),
        ("NEWS.rst", b"====\n\n---"),
        (".github/workflows/a.yml", b"matrix:\n  python-version: [\n\xff"),
        (".github/workflows/b.yml", b"matrix:\n python: ]['3.9', \n- uses: actions/setup-python@"),
        ("tests/test_stress_shop.py/x", b""),
        ("shop.c", SOURCE.as_bytes()),
    ];
    let tree = Tree::new(odd);
    let ran = tree.ungil(&["pr", ".", "-o", "out", "--unsafe-fixes"]);
    assert!(matches!(ran.status, 0 | 2), "{}", ran.stderr);

    let nothing = Tree::new(&[("m.c", b"int f(void);\n")]);
    let ran = nothing.ungil(&["pr", ".", "-o", "out"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing to propose"), "{}", ran.stderr);
    assert!(!nothing.path().join("out").exists());
}
