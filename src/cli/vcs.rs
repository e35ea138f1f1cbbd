//! Refuses to write over work that git could not bring back.

use std::path::{Path, PathBuf};

use super::git;
use super::talk::listed;

/// Why nothing is written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// The tree is in no repository.
    #[error(
        "this is not a git repository, so the changes could not be undone with git; use \
         `--allow-no-vcs` to write anyway"
    )]
    NoVcs,
    /// Files that would change have changes that are not committed.
    #[error("these files have uncommitted changes:{}\ncommit or stash them, or use \
             `--allow-dirty` to write anyway", listed(.0))]
    Dirty(Vec<PathBuf>),
    /// Git did not answer.
    #[error("cannot ask git for uncommitted changes ({0}); use `--allow-dirty` to write anyway")]
    Git(String),
}

/// Checks that git could bring back each of `paths` (relative to the repository).
pub(super) fn check_clean(repository: Option<&Path>, paths: &[&Path]) -> Result<(), Refusal> {
    let repository = repository.ok_or(Refusal::NoVcs)?;
    let changed = uncommitted(repository)?;
    // Sorted, because `paths` are.
    let is_dirty = |path: &&&Path| {
        changed
            .iter()
            .any(|entry| *entry == **path || is_untracked_folder(entry, path))
    };
    let dirty: Vec<_> = paths
        .iter()
        .filter(is_dirty)
        .map(|path| path.to_path_buf())
        .collect();
    if dirty.is_empty() {
        Ok(())
    } else {
        Err(Refusal::Dirty(dirty))
    }
}

/// Git names a folder without tracked files once, with a `/` at its end.
fn is_untracked_folder(entry: &Path, path: &Path) -> bool {
    entry.as_os_str().as_encoded_bytes().ends_with(b"/") && path.starts_with(entry)
}

/// Paths with changes that are not committed, relative to `repository`.
fn uncommitted(repository: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let arguments = [
        "status",
        "--porcelain=v2",
        "-z",
        "--ignored=matching",
        "--untracked-files=normal",
    ];
    let output = git::output(repository, arguments).map_err(Refusal::Git)?;
    Ok(parse_status(&output))
}

/// Paths of `git status --porcelain=v2 -z`.
fn parse_status(output: &[u8]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut entries = output.split(|&byte| byte == 0);
    while let Some(entry) = entries.next() {
        // Fields before the path, by the kind of entry.
        let fields = match entry.first() {
            Some(b'1') => 8,
            Some(b'2') => {
                // The old name of a renamed file is an entry of its own.
                entries.next();
                9
            }
            Some(b'u') => 10,
            Some(b'?' | b'!') => 1,
            _ => continue,
        };
        if let Some(path) = entry.splitn(fields + 1, |&byte| byte == b' ').nth(fields) {
            paths.push(git::path(path));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::{Refusal, check_clean, parse_status};

    fn git(folder: &Path, arguments: &[&str]) {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
        let output = Command::new("git")
            .args(identity)
            .args(arguments)
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    #[test]
    fn only_files_that_would_change_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        git(top, &["init", "-q"]);
        for name in ["clean.c", "dirty.c", "with blank.c"] {
            fs::write(top.join(name), "a\n").unwrap();
        }
        fs::write(top.join(".gitignore"), "ignored.c\n").unwrap();
        git(top, &["add", "."]);
        git(top, &["commit", "-qm", "all"]);
        for name in ["dirty.c", "with blank.c", "new.c", "ignored.c"] {
            fs::write(top.join(name), "b\n").unwrap();
        }
        fs::create_dir(top.join("folder")).unwrap();
        fs::write(top.join("folder/new.c"), "").unwrap();

        let check = |name: &str| check_clean(Some(top), &[Path::new(name)]);
        assert!(check("clean.c").is_ok());
        for name in [
            "dirty.c",
            "with blank.c",
            "new.c",
            "ignored.c",
            "folder/new.c",
        ] {
            let Err(Refusal::Dirty(paths)) = check(name) else {
                panic!("{name} is dirty")
            };
            assert_eq!(paths, [Path::new(name)]);
        }
    }

    #[test]
    fn a_tree_without_repository_is_refused() {
        assert!(matches!(
            check_clean(None, &[Path::new("m.c")]),
            Err(Refusal::NoVcs)
        ));
    }

    #[test]
    fn renamed_files_have_two_names() {
        let output = b"2 R. N... 100644 100644 100644 1 2 R100 new name.c\0old.c\0? x.c\0";
        assert_eq!(
            parse_status(output),
            [PathBuf::from("new name.c"), PathBuf::from("x.c")]
        );
    }
}
