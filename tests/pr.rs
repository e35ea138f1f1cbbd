//! A pull request as its reviewer gets it: every patch applies with `git am`, compiles, and says why.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::ops::Range;
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
    [
        headers(Path::new("python3")),
        headers(&free_threaded_python()),
    ]
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
        let ran = tree.ungil(&["verify", "python", "--since", "HEAD~1"]);
        assert_eq!(ran.status, 0, "{}: {}", patch.display(), ran.stderr);
    }
    let log = tree.git(&["log", "--reverse", "--format=%an %s"]);
    insta::assert_snapshot!(String::from_utf8(log.stdout).unwrap(), @"
    t all
    Jé M tests: call functions from several threads
    Jé M ci: test with free-threaded Python
    Jé M shop: use API functions instead of fields of objects
    Jé M shop: own list items while they are used
    Jé M shop: own dict values while they are used
    Jé M shop: keep dicts unchanged while loops go over them
    Jé M shop: lock objects while their methods run
    Jé M shop: declare that the GIL is not needed
    ");

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
    insta::assert_snapshot!(extra, @"
    .github/workflows/tests.yml
    python/CHANGELOG.md
    python/tests/test_stress_shop.py
    ");
    let left = migrated.keys().filter(|name| {
        let is_journal = name.starts_with("python/.ungil");
        !series.contains_key(*name) && !is_journal
    });
    let left: Vec<_> = left.map(|name| name.display().to_string()).collect();
    assert_eq!(left, [".github/workflows/tests.yml", "python/CHANGELOG.md"]);
}

#[test]
fn entries_are_written_in_the_style_of_the_files() {
    let tree = shop().committed();
    let folder = tempfile::tempdir().unwrap();
    let (patches, _) = series(&tree, "python", &folder.path().join("pr"));
    for patch in &patches {
        am(&tree, patch);
    }
    let again = tree.ungil(&["pr", "python", "--unsafe-fixes", "-o", "again"]);
    assert!(again.stderr.contains("nothing to propose"), "{again:?}");
    let first = format!("HEAD~{}", patches.len());
    let changes = ["diff", "-U0", &first, "--", ".github", "*.md", "*.toml"];
    let changes = String::from_utf8(tree.git(&changes).stdout).unwrap();
    let lines = changes.lines().filter(|line| {
        line.starts_with(['+', '-']) && !line.starts_with("---") && !line.starts_with("+++")
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    -        python-version: ["3.9", "3.13"]
    +        python-version: ["3.9", "3.13", "3.14t"]
    +- The extension modules can be used with free-threaded Python: they no longer
    +  turn the GIL on.
    +    "Programming Language :: Python :: Free Threading :: 1 - Unstable",
    "#);
}

/// The texts of the commits with these numbers, from 0.
fn messages(numbers: Range<usize>) -> String {
    let tree = shop().committed();
    let folder = tempfile::tempdir().unwrap();
    let (patches, _) = series(&tree, "python", &folder.path().join("pr"));
    for patch in &patches {
        am(&tree, patch);
    }
    let first = format!("HEAD~{}..", patches.len());
    let log = tree.git(&["log", "--reverse", "--format=== %B", &first]);
    let log = String::from_utf8(log.stdout).unwrap();
    let texts: Vec<&str> = log.split("== ").skip(1).collect();
    let texts = texts[numbers].iter().map(|text| format!("== {text}"));
    texts.collect()
}

#[test]
fn tests_and_modern_calls_come_first_and_say_why() {
    insta::assert_snapshot!(messages(0..3), @"
    == tests: call functions from several threads

    Several threads call the functions that the next changes are about, on
    shared objects. Each function runs in processes of its own, with a time
    limit. A test fails if the process dies or hangs, if the results are not
    those of one thread, or if references are lost.

    With the GIL the tests are skipped. Without it, some may fail before the
    last change of this series. Most of the file is what runs the calls, and
    needs only pytest. Arguments are made up: functions that must not be
    called so, and better arguments, go between the marked lines.

    == ci: test with free-threaded Python

    Nothing would show if a later change brings a race, or turns the GIL on
    again. The new entry of the matrix runs the same steps as the others.

    == shop: use API functions instead of fields of objects

    The free-threaded build has no `ob_refcnt`: the count has two parts.
    `Py_SIZE` and `Py_TYPE` read sizes and types atomically there. Another
    thread can replace and free the array of a list at any time.

    The API functions are right on both builds, and compile to the same code
    with the GIL.

    - python/src/shop.c, Basket_dealloc: `ob_type` is used directly; other
      threads may change it during the access

    Assisted-by: ungil (UG702)
    ");
}

#[test]
fn commits_say_what_could_go_wrong_and_why_it_cannot_now() {
    insta::assert_snapshot!(messages(3..6), @"
    == shop: own list items while they are used

    Another thread can replace or remove the item between the call and its
    use. If the list held the last reference, the pointer dangles.

    The function now owns a reference until after the last use, so the
    object lives that long whatever other threads do.

    - python/src/shop.c, first_size: `PyList_GetItem` returns a borrowed
      reference from an argument that Python code passes; another thread can
      free the object

    Assisted-by: ungil (UG101)

    == shop: own dict values while they are used

    Another thread can replace or remove the value between the call and its
    use. If the dict held the last reference, the pointer dangles.

    The function now owns a reference until after the last use, so the
    object lives that long whatever other threads do.

    An error of a lookup that was ignored before is now raised.

    - python/src/shop.c, price: `PyDict_GetItem` returns a borrowed
      reference from an argument that Python code passes; another thread can
      free the object

    Assisted-by: ungil (UG102)

    == shop: keep dicts unchanged while loops go over them

    `PyDict_Next` takes no lock. Another thread may change the dict between
    two calls, or free the borrowed key and value.

    The loop now holds the lock of the dict, or goes over a copy of it. With
    the GIL, a critical section does nothing.

    - python/src/shop.c, total: `prices` is iterated over without its lock;
      another thread may change the dict meanwhile

    Assisted-by: ungil (UG301)
    ");
}

#[test]
fn what_must_be_confirmed_is_in_the_commit() {
    insta::assert_snapshot!(messages(6..8), @"
    == shop: lock objects while their methods run

    Two threads may run methods of one object at the same time. One may
    replace a field and release the old object while the other uses it.

    The methods that use these fields now hold the lock of their object.
    With the GIL, a critical section does nothing.

    - python/src/shop.c: methods of `Basket` use its fields `count`, `last`
      without a lock; another thread may change them meanwhile

    To confirm before this is merged:
    - two threads that call methods of the same `Basket` may wait for each
      other

    Assisted-by: ungil (UG504)

    == shop: declare that the GIL is not needed

    When a free-threaded Python imports such a module, it turns the GIL on
    for the whole process and warns. `PyUnstable_Module_SetGIL` says that
    this is not necessary.

    This change says so. The others of this series come first, because it
    removes the protection of the GIL.

    Users look at the classifier, and so do the lists of ported packages. `2
    - Beta`, `3 - Stable` and `4 - Resilient` promise more, step by step.

    - python/src/shop.c, PyInit_shop: module `shop` does not declare that it
      runs without the GIL; importing it turns the GIL on
    - python/pyproject.toml: the classifiers do not say how well
      free-threaded Python is supported; users cannot see it on PyPI

    To confirm before this is merged:
    - no code uses what it read under the lock of these objects after the
      lock is released, and values that belong together change under one
      hold of the lock: `self->count` in `Basket_put_lock_held` (shop.c:53),
      `self->last` in `Basket_put_lock_held` (shop.c:52)
    - the package may be used with free-threaded Python, at least for
      testing

    Assisted-by: ungil (UG202, UG805)
    ");
}

#[test]
fn the_description_says_what_is_done_and_what_is_open() {
    let tree = shop().committed();
    let folder = tempfile::tempdir().unwrap();
    let (_, rest) = series(&tree, "python", &folder.path().join("pr"));
    insta::assert_snapshot!(fs::read_to_string(&rest[0]).unwrap(), @"
    # Support free-threaded Python

    The patches apply in this order. Each has one purpose, and says what could go wrong before and why it cannot now. The last patch declares that `shop` can run without the GIL; the others are useful without it, and can be merged before you decide about that.

    ## Patches

    | | patch | lines | findings |
    |---|---|---|---|
    | 1 | tests: call functions from several threads | +1007 −0 |  |
    | 2 | ci: test with free-threaded Python | +1 −1 |  |
    | 3 | shop: use API functions instead of fields of objects | +1 −1 | 1 |
    | 4 | shop: own list items while they are used | +13 −1 | 1 |
    | 5 | shop: own dict values while they are used | +22 −2 | 1 |
    | 6 | shop: keep dicts unchanged while loops go over them | +9 −0 | 1 |
    | 7 | shop: lock objects while their methods run | +22 −2 | 1 |
    | 8 | shop: declare that the GIL is not needed | +6 −0 | 2 |

    Behaviour with the GIL changes in one way: an error of a lookup that was ignored before is now raised.

    Functions of newer Pythons that the changes call are defined in 1 file that calls them, not in a new header, which would need a confirmation first: the source distribution contains the new `python/src/pyapi_compat.h` (`python/setup.py` lists its content).

    ## To confirm before this is merged

    The code cannot show whether these are true:

    - [ ] patch 7: two threads that call methods of the same `Basket` may wait for each other
    - [ ] patch 8: no code uses what it read under the lock of these objects after the lock is released, and values that belong together change under one hold of the lock: `self->count` in `Basket_put_lock_held` (shop.c:53), `self->last` in `Basket_put_lock_held` (shop.c:52)
    - [ ] patch 8: the package may be used with free-threaded Python, at least for testing

    ## Still open

    Nothing that was found.

    ## How it was checked

    - 4 changes are proven: the result was parsed again, and every reference that a changed function owns was followed on all of its paths. It is released, returned or passed on exactly once. Behaviour with the GIL is the same, but for the errors named above.
    - 3 changes are proven under the conditions to confirm above.
    - Analysed: 7 of 7 functions.
    - Nothing was compiled or run to write this series. The commands below do that.

    ## How to test

    ```console
    $ git am 0*.patch
    $ python3.14t -m pip install ./python pytest
    $ python3.14t -m pytest python/tests/test_stress_shop.py
    $ python3.14t -W error::RuntimeWarning -m pytest ./python
    ```

    The tests in `python/tests` take some seconds for each function. They are skipped with the GIL.

    ## For the documentation

    A draft for when everything above is confirmed; only you know what you want to promise.

    > **Thread safety.** This package supports free-threaded Python: importing it does not turn the GIL on. Threads may call all functions at the same time, each on objects of its own. Objects of `Basket` may be shared between threads: each method holds a lock of its object. Several calls in a row are not one step; use a lock of your own around them. Other threads may change a list or dict while a function of this package reads it. That does not crash, but whether the function sees the change is not defined.

    ## Audit

    Every place that was looked at, with its verdict.

    <details><summary>Module <code>shop</code>: 6</summary>

    | place | function | rule | what was found | verdict |
    |---|---|---|---|---|
    | python/src/shop.c:14 | `Basket_dealloc` | UG702 | `ob_type` is used directly; other threads may change it during the access | patch 3 |
    | python/src/shop.c:18 |  | UG504 | methods of `Basket` use its fields `count`, `last` without a lock; another thread may change them meanwhile | patch 7, to confirm |
    | python/src/shop.c:57 | `first_size` | UG101 | `PyList_GetItem` returns a borrowed reference from an argument that Python code passes; another thread can free the object | patch 4 |
    | python/src/shop.c:74 | `price` | UG102 | `PyDict_GetItem` returns a borrowed reference from an argument that Python code passes; another thread can free the object | patch 5 |
    | python/src/shop.c:88 | `total` | UG301 | `prices` is iterated over without its lock; another thread may change the dict meanwhile | patch 6 |
    | python/src/shop.c:111 | `PyInit_shop` | UG202 | module `shop` does not declare that it runs without the GIL; importing it turns the GIL on | patch 8, to confirm |

    </details>

    <details><summary>Build files, and what is in no module: 1</summary>

    | place | function | rule | what was found | verdict |
    |---|---|---|---|---|
    | python/pyproject.toml:6 |  | UG805 | the classifiers do not say how well free-threaded Python is supported; users cannot see it on PyPI | patch 8, to confirm |

    </details>
    ");
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
    let files = [
        ("a.c", a.as_str()),
        ("b.c", &b),
        ("c.c", &c),
        ("setup.py", ""),
    ];
    let files = files.map(|(name, text)| (name, text.as_bytes()));
    let tree = Tree::new(&files).committed();
    let folder = tempfile::tempdir().unwrap();
    let (patches, _) = series(&tree, ".", &folder.path().join("pr"));
    let includes = includes();
    for patch in &patches {
        am(&tree, patch);
        compile(&tree, &includes);
    }
    let first = format!("HEAD~{}..", patches.len());
    let options = [
        "log",
        "--reverse",
        "--format=%s",
        "--shortstat",
        &first,
        "--",
        "*.c",
    ];
    let log = tree.git(&options);
    insta::assert_snapshot!(String::from_utf8(log.stdout).unwrap(), @"
    a: own list items while they are used (1 of 3)

     1 file changed, 146 insertions(+), 54 deletions(-)
    a: own list items while they are used (2 of 3)

     1 file changed, 135 insertions(+), 54 deletions(-)
    a: own list items while they are used (3 of 3)

     1 file changed, 30 insertions(+), 12 deletions(-)
    extensions: own list items while they are used

     2 files changed, 122 insertions(+), 40 deletions(-)
    ");
    assert_eq!(tree.ungil(&["diff", "--unsafe-fixes"]).text(), "");
}

fn empty_module(name: &str) -> String {
    format!(
        "#include <Python.h>\n\nstatic struct PyModuleDef def = {{PyModuleDef_HEAD_INIT, .m_name = \
         \"{name}\", .m_size = -1}};\n\nPyMODINIT_FUNC\nPyInit_{name}(void)\n{{\n    return \
         PyModule_Create(&def);\n}}\n"
    )
}

#[test]
fn each_module_is_declared_by_itself_and_the_classifier_comes_with_the_last() {
    let (one, two) = (empty_module("one"), empty_module("two"));
    let files = [
        ("1.c", one.as_str()),
        ("2.c", &two),
        ("pyproject.toml", PROJECT),
    ];
    let tree = Tree::new(&files.map(|(name, text)| (name, text.as_bytes()))).committed();
    let folder = tempfile::tempdir().unwrap();
    let (patches, _) = series(&tree, ".", &folder.path().join("pr"));
    for patch in &patches {
        am(&tree, patch);
    }
    let first = format!("HEAD~{}..", patches.len());
    let log = tree.git(&["log", "--reverse", "--format=%s", "--name-only", &first]);
    insta::assert_snapshot!(String::from_utf8(log.stdout).unwrap(), @"
    one: declare that the GIL is not needed

    1.c
    two: declare that the GIL is not needed

    2.c
    pyproject.toml
    ");
}

#[test]
fn tests_of_others_stay_and_modules_of_one_name_share_a_test() {
    let (one, two) = (
        many("f", 1) + &empty_module("m"),
        many("g", 1) + &empty_module("n"),
    );
    let files = [
        ("a/m.c", one.as_str()),
        ("b/m.c", &one),
        ("n.c", &two),
        ("setup.py", ""),
        ("tests/test_stress_n.py", "import n\n"),
    ];
    let tree = Tree::new(&files.map(|(name, text)| (name, text.as_bytes()))).committed();
    let folder = tempfile::tempdir().unwrap();
    let (patches, rest) = series(&tree, ".", &folder.path().join("pr"));
    for patch in &patches {
        am(&tree, patch);
    }
    let names = |paths: &[PathBuf]| {
        let names = paths.iter().filter_map(|path| path.file_name()?.to_str());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&rest), "pull-request.md stress_n.py");
    let tests: Vec<PathBuf> = tree
        .names()
        .into_iter()
        .filter(|it| it.starts_with("tests"))
        .collect();
    assert_eq!(names(&tests), "test_stress_m.py test_stress_n.py");
    assert_eq!(tree.text("tests/test_stress_n.py"), "import n\n");
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
    insta::assert_snapshot!(refused(&tree.ungil(&again)), @"error: `out` is not empty: choose another folder, or replace an earlier series with `--force`");
    let force = [&again[..], &["--force"]].concat();
    let ran = tree.ungil(&force);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // Without the fixes to review there are fewer patches: none of the first series is left.
    let listed = ran.text().lines().count();
    assert_eq!(
        fs::read_dir(tree.path().join("out")).unwrap().count(),
        listed
    );
    tree.write("out/mine.txt", "");
    insta::assert_snapshot!(refused(&tree.ungil(&force)), @"error: `mine.txt` in `out` is not from an earlier run: choose another folder");
    assert!(tree.path().join("out/mine.txt").exists());
}

#[test]
fn what_is_filled_in_is_kept() {
    let tree = Tree::new(&[
        ("pyproject.toml", PROJECT.as_bytes()),
        ("shop.c", SOURCE.as_bytes()),
    ])
    .committed();
    let to = tree.path().join("out");
    series(&tree, ".", &to);
    let script = fs::read_to_string(to.join("stress_shop.py")).unwrap();
    let filled = script.replace("\nSKIP = set()\n", "\nSKIP = {\"price\"}\n");
    assert!(script != filled, "the script has no `SKIP`");
    fs::write(to.join("stress_shop.py"), &filled).unwrap();
    let ran = tree.ungil(&["pr", ".", "-o", "out", "--force"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let again = fs::read_to_string(to.join("stress_shop.py")).unwrap();
    assert!(
        again.contains("\nSKIP = {\"price\"}\n"),
        "the place was written again"
    );
}

#[test]
fn bad_input_is_refused_or_left_alone() {
    let tree = shop().committed();
    for author in [
        "me",
        "me <>",
        "<a@b>",
        "a <b@c>\nTo: x <y@z>",
        "a <b@c> <d@e>",
    ] {
        let ran = tree.ungil(&["pr", "python", "-o", "out", "--author", author]);
        assert_eq!(ran.status, 2, "{ran:?}");
        assert!(ran.stderr.contains("does not name an author"), "{ran:?}");
    }
    let ran = tree.ungil(&["pr", "python", "-o", "README"]);
    assert!(refused(&ran).contains("`README`"), "{ran:?}");
    assert!(!tree.path().join("out").exists());

    let odd: &[(&str, &[u8])] = &[
        ("setup.py", b"\xff("),
        ("CHANGELOG.md", b"## Unreleased\n- \xff\n"),
        ("CHANGES", b"Unreleased"),
        ("NEWS.rst", b"====\n\n---"),
        (
            ".github/workflows/a.yml",
            b"matrix:\n  python-version: [\n\xff",
        ),
        (
            ".github/workflows/b.yml",
            b"matrix:\n python: ]['3.9', \n- uses: actions/setup-python@",
        ),
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
