//! Patches are taken by `git apply` and by `patch -p1`, and give the wanted bytes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use ungil::diff::{DEFAULT_CONTEXT, FileChange, FileMode, patch};

/// Writes the old side to an empty folder, applies the patch with `tool`, compares the new side.
fn applies_with(tool: &[&str], changes: &[FileChange<'_>], context: usize) {
    let folder = tempfile::tempdir().unwrap();
    for change in changes {
        let path = folder.path().join(change.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(old) = change.old {
            fs::write(path, old).unwrap();
        }
    }
    let patch_file = folder.path().join("the.patch");
    fs::write(&patch_file, patch(changes, context)).unwrap();
    let output = Command::new(tool[0])
        .args(&tool[1..])
        .current_dir(folder.path())
        .env("GIT_CEILING_DIRECTORIES", folder.path().parent().unwrap())
        .stdin(Stdio::from(fs::File::open(&patch_file).unwrap()))
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&fs::read(&patch_file).unwrap()).into_owned();
    assert!(output.status.success(), "{tool:?}: {output:?}\n{shown}");
    for change in changes {
        let result = fs::read(folder.path().join(change.path)).unwrap();
        assert_eq!(result, change.new, "{tool:?} {:?}\n{shown}", change.path);
    }
}

fn applies(changes: &[FileChange<'_>]) {
    for context in [DEFAULT_CONTEXT, 1] {
        applies_with(&["git", "apply", "-"], changes, context);
        applies_with(
            &["patch", "-p1", "--no-backup-if-mismatch"],
            changes,
            context,
        );
    }
}

fn change<'a>(path: &'a str, old: &'a [u8], new: &'a [u8]) -> FileChange<'a> {
    FileChange {
        path: Path::new(path),
        old: Some(old),
        new,
        mode: FileMode::Regular,
    }
}

#[test]
fn carriage_returns_survive() {
    applies(&[change("m.c", b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nnew\r\nc\r\n")]);
    applies(&[change("mixed.c", b"a\r\nb\nc\rd\n", b"a\r\nb\r\nc\rD\n")]);
}

#[test]
fn files_without_final_newline() {
    applies(&[change("m.c", b"a\nb", b"a\nB")]);
    applies(&[change("m.c", b"a\nb", b"a\nb\n")]);
    applies(&[change("m.c", b"a\nb\n", b"a\nb")]);
}

#[test]
fn bytes_that_are_not_utf8() {
    applies(&[change(
        "m.c",
        b"/* \xe9t\xe9 */\nold\n/* \xff\xfe */\n",
        b"/* \xe9t\xe9 */\n\xe9\n/* \xff\xfe */\n",
    )]);
}

#[test]
fn new_files_beside_changed_ones() {
    let new = FileChange {
        path: Path::new("src/compat.h"),
        old: None,
        new: b"#pragma once\nint x;",
        mode: FileMode::Regular,
    };
    applies(&[change("src/m.c", b"a\n", b"b\n"), new]);
}

#[test]
fn names_with_blanks_and_foreign_letters() {
    let compat = FileChange {
        path: Path::new("new file.h"),
        old: None,
        new: b"x\n",
        mode: FileMode::Regular,
    };
    applies(&[change("a dir/the m.c", b"a\n", b"b\n"), compat]);
    applies(&[
        change("na\u{ef}ve.c", b"a\n", b"b\n"),
        change("q\"uote \\.c", b"a\n", b"b\n"),
    ]);
}

#[test]
fn insertions_at_both_ends_and_to_nothing() {
    applies(&[
        change("m.c", b"b\n", b"a\nb\nc\n"),
        change("gone.c", b"a\nb\n", b"\n"),
    ]);
}

#[test]
fn hunks_stay_apart_in_a_long_file() {
    let old: Vec<u8> = (0..400)
        .flat_map(|i| format!("line {i}\n").into_bytes())
        .collect();
    let text = String::from_utf8(old.clone()).unwrap();
    let new = text
        .replace("line 20\n", "")
        .replace("line 200\n", "x\ny\n")
        .into_bytes();
    applies(&[change("m.c", &old, &new)]);
}
