//! Every split of the changes applies in order, and gives what the unsplit patch gives.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use support::tree::Tree;
use support::{run, snapshots};

const SPLITS: [&str; 4] = ["rule", "file", "function", "fix"];

/// Functions with items and dict values, of which the first has both.
const BODY: &str = "static Py_ssize_t
first(PyObject *list, PyObject *dict)
{
    PyObject *item = PyList_GetItem(list, 0);
    if (item == NULL)
        return -1;
    PyObject *value = PyDict_GetItemWithError(dict, item);
    if (value == NULL)
        return -1;
    return PyObject_Size(value);
}

static Py_ssize_t
second(PyObject *list)
{
    PyObject *item = PyList_GetItem(list, 1);
    if (item == NULL)
        return -1;
    return PyObject_Size(item);
}

static Py_ssize_t
third(PyObject *dict, PyObject *key)
{
    PyObject *value = PyDict_GetItemWithError(dict, key);
    if (value == NULL)
        return -1;
    return PyObject_Size(value);
}
";

/// Files in which everything that patches stumble over stands, sharing a header that is to come.
fn odd() -> Tree {
    let plain = format!("#include <Python.h>\n\n{BODY}");
    let latin = [
        &b"/* \xe9t\xe9 \xff */\n#include <Python.h>\n\n"[..],
        BODY.as_bytes(),
    ]
    .concat();
    let crlf = plain.replace('\n', "\r\n");
    let unfinished = plain.trim_end();
    Tree::new(&[
        ("setup.py", b""),
        ("src/plain.c", plain.as_bytes()),
        ("src/latin.c", &latin),
        ("src/crlf.c", crlf.as_bytes()),
        ("src/unfinished.c", unfinished.as_bytes()),
        ("src/unfinished crlf \u{e9}.c", crlf.trim_end().as_bytes()),
    ])
}

fn files(tree: &Tree) -> BTreeMap<PathBuf, Vec<u8>> {
    let read = |name: PathBuf| {
        let bytes = tree.read(name.to_str().unwrap());
        (name, bytes)
    };
    tree.names().into_iter().map(read).collect()
}

/// The tree with the unsplit patch applied.
fn unsplit(tree: Tree) -> BTreeMap<PathBuf, Vec<u8>> {
    let ran = tree.ungil(&["diff", "--unsafe-fixes"]);
    let patch = tempfile::NamedTempFile::new().unwrap();
    fs::write(patch.path(), &ran.stdout).unwrap();
    tree.git(&["apply", patch.path().to_str().unwrap()]);
    files(&tree)
}

/// The patches that `ungil diff` with `options` writes, in order.
fn patches(tree: &Tree, folder: &Path, options: &[&str]) -> Vec<PathBuf> {
    let to = folder.to_str().unwrap();
    let ran = tree.ungil(&[&["diff", "--unsafe-fixes", "-o", to], options].concat());
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let listed: Vec<PathBuf> = ran.text().lines().map(PathBuf::from).collect();
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    assert_eq!(listed, found);
    listed
}

/// Applies each split of the changes of `fresh()` with `apply`, and compares.
fn splits_add_up(fresh: fn() -> Tree, options: &[&str], apply: impl Fn(&Tree, &Path)) {
    let wanted = unsplit(fresh().committed());
    for split in SPLITS {
        let tree = fresh().committed();
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("series");
        let patches = patches(&tree, &to, &[&["--split-by", split], options].concat());
        assert!(patches.len() > 1, "{split}: {patches:?}");
        for patch in &patches {
            apply(&tree, patch);
        }
        assert_eq!(files(&tree), wanted, "{split}");
    }
}

fn git_apply(tree: &Tree, patch: &Path) {
    tree.git(&["apply", patch.to_str().unwrap()]);
}

fn git_am(tree: &Tree, letter: &Path) {
    tree.git(&["am", "--quiet", letter.to_str().unwrap()]);
}

fn patch_p1(tree: &Tree, patch: &Path) {
    let mut command = Command::new("patch");
    command.args(["-p1", "--binary", "--no-backup-if-mismatch", "-s", "-i"]);
    run(command.arg(patch).current_dir(tree.path()));
}

#[test]
fn patches_of_the_example_add_up() {
    splits_add_up(Tree::example, &[], git_apply);
}

#[test]
fn patches_of_odd_files_add_up() {
    splits_add_up(odd, &[], git_apply);
    splits_add_up(odd, &["-U1"], patch_p1);
}

#[test]
fn letters_add_up() {
    splits_add_up(Tree::example, &["--format=mbox"], git_am);
    splits_add_up(odd, &["--format=mbox"], git_am);
}

#[test]
fn a_series_on_the_standard_output_adds_up() {
    let wanted = unsplit(odd().committed());
    for (options, applier) in [
        (&["--split-by=function"][..], "apply"),
        (&["--format=mbox"], "am"),
        (&["--format=mbox", "--split-by=fix"], "am"),
    ] {
        let tree = odd().committed();
        let ran = tree.ungil(&[&["diff", "--unsafe-fixes"], options].concat());
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), &ran.stdout).unwrap();
        tree.git(&[applier, file.path().to_str().unwrap()]);
        assert_eq!(files(&tree), wanted, "{options:?}");
    }
}

#[test]
fn every_step_of_a_series_is_whole() {
    let tree = odd().committed();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("series");
    for letter in patches(&tree, &to, &["--split-by=fix", "--format=mbox"]) {
        git_am(&tree, &letter);
        // What is not understood any more would be a gap.
        let ran = tree.ungil(&["check", "--strict", "--stats-file", "/dev/null"]);
        assert_ne!(ran.status, 3, "{}: {}", letter.display(), ran.stderr);
    }
    assert_eq!(tree.ungil(&["diff", "--unsafe-fixes"]).text(), "");
    let log = tree.git(&["log", "--format=%an %s", "-1"]);
    let log = String::from_utf8(log.stdout).unwrap();
    assert!(log.contains(": make safe without the GIL"), "{log}");
}

#[test]
fn a_letter_says_why() {
    let tree = Tree::example().committed();
    tree.git(&["config", "user.name", "J\u{e9} M"]);
    tree.git(&["config", "user.email", "j@example.invalid"]);
    let ran = tree.ungil(&["diff", "--unsafe-fixes", "--format=mbox"]);
    let letters: Vec<&str> = ran.text().split("\nFrom 0000").collect();
    snapshots::settings("cli").bind(|| {
        insta::assert_snapshot!(
            "letter_of_first_patch",
            letters[0].split("diff --git").next().unwrap()
        )
    });
    let last = letters.last().unwrap();
    snapshots::settings("cli").bind(|| {
        insta::assert_snapshot!(
            "letter_of_last_patch",
            last.split("diff --git").next().unwrap()
        )
    });
}

#[test]
fn a_folder_with_something_in_it_is_refused() {
    let tree = Tree::example().committed();
    tree.write("series/0001-old.patch", "");
    let ran = tree.ungil(&["diff", "--split-by=rule", "-o", "series"]);
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr.contains("`series` is not empty"),
        "{}",
        ran.stderr
    );
    let ran = tree.ungil(&["diff", "-o", "other"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("needs `--split-by`"), "{}", ran.stderr);
    assert!(!tree.path().join("other").exists());
}

#[test]
fn the_stat_is_that_of_git() {
    let tree = odd().committed();
    let mut command = tree.command(&["diff", "--unsafe-fixes", "--stat"]);
    let ours = command.env("COLUMNS", "80").output().unwrap();
    let ours = String::from_utf8(ours.stdout).unwrap();
    let patch = tempfile::NamedTempFile::new().unwrap();
    let text = tree.ungil(&["diff", "--unsafe-fixes"]).stdout;
    fs::write(patch.path(), text).unwrap();
    let git = tree.git(&["apply", "--numstat", patch.path().to_str().unwrap()]);
    let git = String::from_utf8(git.stdout).unwrap();
    let mut sums = (0, 0);
    for (line, numbers) in ours.lines().zip(git.lines()) {
        let [added, gone, name] = numbers.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{numbers}")
        };
        let (added, gone): (usize, usize) = (added.parse().unwrap(), gone.parse().unwrap());
        let (path, counts) = line.split_once('|').unwrap();
        assert_eq!(path.trim(), name);
        let total = counts.split_whitespace().next().unwrap();
        assert_eq!(total.parse::<usize>().unwrap(), added + gone);
        sums = (sums.0 + added, sums.1 + gone);
    }
    let last = format!("{} insertions(+), {} deletions(-)", sums.0, sums.1);
    assert!(ours.trim_end().ends_with(&last), "{ours}");
    assert!(
        ours.lines().all(|line| line.chars().count() <= 80),
        "{ours}"
    );
}

#[test]
fn old_and_new_stand_beside_each_other() {
    let text = "#include <Python.h>\n\nstatic Py_ssize_t\nf(PyObject *list)\n{\n\tPyObject *item = \
                PyList_GetItem(list, 0);\n\treturn PyObject_Size(item);\n}\n";
    let tree = Tree::new(&[("m.c", text.as_bytes())]);
    let mut command = tree.command(&["diff", "--side-by-side", "--min-python=3.13", "-U1"]);
    let output = command.env("COLUMNS", "80").output().unwrap();
    let view = String::from_utf8(output.stdout).unwrap();
    assert!(
        view.lines().all(|line| line.chars().count() <= 80),
        "{view}"
    );
    snapshots::settings("cli").bind(|| insta::assert_snapshot!("diff_side_by_side", view));
}

/// What `ungil` with `arguments` shows at a terminal.
fn at_a_terminal(tree: &Tree, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let size = PtySize {
        rows: 24,
        cols: 80,
        pixel_width: 0,
        pixel_height: 0,
    };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_ungil"));
    command.args(arguments);
    command.cwd(tree.path());
    for variable in ["UNGIL_PAGER", "GIT_PAGER", "PAGER", "NO_COLOR", "COLUMNS"] {
        command.env_remove(variable);
    }
    command.env("TERM", "xterm");
    for (name, value) in variables {
        command.env(name, value);
    }
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut shown = Vec::new();
    // The end of a terminal without programs is an error on some systems.
    let _ = pair
        .master
        .try_clone_reader()
        .unwrap()
        .read_to_end(&mut shown);
    child.wait().unwrap();
    String::from_utf8_lossy(&shown).into_owned()
}

#[test]
fn a_terminal_gets_colours_and_the_pager_of_git() {
    let tree = Tree::example().committed();
    let pager = ("GIT_PAGER", "sed s/^/PAGED:/");
    let shown = at_a_terminal(&tree, &["diff"], &[pager, ("PAGER", "false")]);
    assert!(shown.contains("PAGED:\u{1b}[1mdiff --git"), "{shown}");
    assert!(shown.contains("\u{1b}[7m"), "no word is marked: {shown}");
    let shown = at_a_terminal(&tree, &["diff", "--no-pager"], &[pager, ("NO_COLOR", "1")]);
    assert!(!shown.contains("PAGED:"), "{shown}");
    assert!(!shown.contains("\u{1b}[1m"), "{shown}");
    assert!(shown.contains("\n+"), "{shown}");
    // What is piped is never paged.
    let mut command = tree.command(&["diff"]);
    let output = command.env(pager.0, pager.1).output().unwrap();
    assert!(output.stdout.starts_with(b"diff --git"));
}
