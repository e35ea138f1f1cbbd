//! Writes changed files: all of them, or none.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use super::interrupt::Interrupt;
use crate::diff::{FileChange, FileMode};

/// What the names of files begin with that are prepared beside their place.
pub(super) const TEMPORARY: &str = ".ungil-";

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    /// The file is not what was analysed.
    #[error("`{}` has changed during the analysis; nothing was written, run `ungil` again", .0.display())]
    Changed(PathBuf),
    /// The system refused; files written before have their old content again.
    #[error("cannot write `{}`: {error}; nothing was changed", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The system refused twice: to write a file, and to bring another back.
    #[error("cannot write `{}`, nor restore the old `{}`: {error}", path.display(), lost.display())]
    Lost {
        /// The file that could not be written.
        path: PathBuf,
        /// The file that holds its new content although the transaction failed.
        lost: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Ctrl-C was pressed.
    #[error("interrupted; nothing was written")]
    Interrupted,
}

/// Writes all `changes`, whose paths are relative to `root`.
///
/// Each file is prepared beside its place before the first one is put there, so that a full disk
/// or a missing permission is met before anything has changed. The caller holds `interrupt` off, so
/// that Ctrl-C does not come between two files.
pub(super) fn write_all(
    root: &Path,
    changes: &[FileChange<'_>],
    interrupt: &Interrupt,
) -> Result<(), WriteError> {
    let prepared = changes
        .iter()
        .map(|change| prepare(root, change))
        .collect::<Result<Vec<_>, _>>()?;
    if interrupt.is_requested() {
        return Err(WriteError::Interrupted);
    }
    for (index, (target, content)) in prepared.into_iter().enumerate() {
        if let Err(error) = content.persist(&target) {
            return Err(take_back(root, &changes[..index], target, error.error));
        }
    }
    Ok(())
}

/// The place of the file, behind symbolic links, and its new content in a file beside it.
fn prepare(root: &Path, change: &FileChange<'_>) -> Result<(PathBuf, TempPath), WriteError> {
    let path = root.join(change.path);
    let fails = |error| WriteError::Io {
        path: path.clone(),
        error,
    };
    let Some(old) = change.old else {
        if path.exists() {
            return Err(WriteError::Changed(path));
        }
        let content = beside(&path, change.new, None, change.mode).map_err(fails)?;
        return Ok((path, content));
    };
    let target = fs::canonicalize(&path).map_err(fails)?;
    if fs::read(&target).map_err(fails)? != old {
        return Err(WriteError::Changed(path));
    }
    let permissions = fs::metadata(&target).map_err(fails)?.permissions();
    if permissions.readonly() {
        return Err(fails(io::Error::from(io::ErrorKind::PermissionDenied)));
    }
    let content = beside(&target, change.new, Some(permissions), change.mode).map_err(fails)?;
    Ok((target, content))
}

fn beside(
    target: &Path,
    bytes: &[u8],
    permissions: Option<fs::Permissions>,
    mode: FileMode,
) -> io::Result<TempPath> {
    let folder = target.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::with_prefix_in(TEMPORARY, folder)?;
    file.write_all(bytes)?;
    if let Some(permissions) = permissions.or_else(|| permissions_of(mode)) {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    Ok(file.into_temp_path())
}

#[cfg(unix)]
fn permissions_of(mode: FileMode) -> Option<fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(fs::Permissions::from_mode(match mode {
        FileMode::Regular => 0o644,
        FileMode::Executable => 0o755,
    }))
}

#[cfg(not(unix))]
fn permissions_of(_: FileMode) -> Option<fs::Permissions> {
    None
}

/// Brings back the old content of files that were written before `path` failed.
fn take_back(
    root: &Path,
    written: &[FileChange<'_>],
    path: PathBuf,
    error: io::Error,
) -> WriteError {
    for change in written {
        let target = root.join(change.path);
        let result = match change.old {
            Some(old) => fs::write(&target, old),
            None => fs::remove_file(&target),
        };
        if let Err(error) = result {
            return WriteError::Lost {
                path,
                lost: target,
                error,
            };
        }
    }
    WriteError::Io { path, error }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::path::Path;
    use std::{fs, io};

    use super::{WriteError, take_back, write_all};
    use crate::cli::interrupt::Interrupt;
    use crate::diff::{FileChange, FileMode};

    fn change<'a>(path: &'a str, old: Option<&'a [u8]>, new: &'a [u8]) -> FileChange<'a> {
        FileChange {
            path: Path::new(path),
            old,
            new,
            mode: FileMode::Regular,
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<_> = entries.map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }

    #[test]
    fn bytes_and_mode_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.c");
        fs::write(&path, b"\xe9\r\n").unwrap();
        set_mode(&path, 0o750);
        let changes = [
            change("m.c", Some(b"\xe9\r\n"), b"\xff"),
            change("n.h", None, b"new"),
        ];
        write_all(folder.path(), &changes, &Interrupt::default()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"\xff");
        assert_eq!(fs::read(folder.path().join("n.h")).unwrap(), b"new");
        assert_eq!(
            (mode(&path), mode(&folder.path().join("n.h"))),
            (0o750, 0o644)
        );
        assert_eq!(names(folder.path()), ["m.c", "n.h"]);
    }

    #[test]
    fn a_file_that_changed_meanwhile_stops_all() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.c"), "a").unwrap();
        fs::write(folder.path().join("b.c"), "other").unwrap();
        let changes = [
            change("a.c", Some(b"a"), b"A"),
            change("b.c", Some(b"b"), b"B"),
        ];
        let error = write_all(folder.path(), &changes, &Interrupt::default()).unwrap_err();
        assert!(matches!(error, WriteError::Changed(_)), "{error}");
        assert_eq!(fs::read(folder.path().join("a.c")).unwrap(), b"a");
        assert_eq!(names(folder.path()), ["a.c", "b.c"]);
    }

    #[test]
    fn a_folder_that_is_missing_is_met_before_anything_changes() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.c"), "a").unwrap();
        let changes = [
            change("a.c", Some(b"a"), b"A"),
            change("no/n.h", None, b"y"),
        ];
        let error = write_all(folder.path(), &changes, &Interrupt::default()).unwrap_err();
        assert!(matches!(error, WriteError::Io { .. }), "{error}");
        assert_eq!(fs::read(folder.path().join("a.c")).unwrap(), b"a");
        assert_eq!(names(folder.path()), ["a.c"]);
    }

    #[test]
    fn a_failure_takes_written_files_back() {
        let folder = tempfile::tempdir().unwrap();
        let changes = [change("a.c", Some(b"a"), b"A"), change("n.h", None, b"new")];
        for change in &changes {
            fs::write(folder.path().join(change.path), change.new).unwrap();
        }
        let failed = folder.path().join("b.c");
        let error = take_back(
            folder.path(),
            &changes,
            failed,
            io::Error::other("disk full"),
        );
        assert!(
            error
                .to_string()
                .ends_with("disk full; nothing was changed"),
            "{error}"
        );
        assert_eq!(fs::read(folder.path().join("a.c")).unwrap(), b"a");
        assert_eq!(names(folder.path()), ["a.c"]);
    }

    #[test]
    fn an_interrupt_before_the_first_file_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.c"), "a").unwrap();
        let interrupt = Interrupt::default();
        interrupt.press();
        let changes = [change("a.c", Some(b"a"), b"A")];
        let error = write_all(folder.path(), &changes, &interrupt).unwrap_err();
        assert!(matches!(error, WriteError::Interrupted));
        assert_eq!(fs::read(folder.path().join("a.c")).unwrap(), b"a");
        assert_eq!(names(folder.path()), ["a.c"]);
    }

    #[test]
    fn symbolic_links_stay() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("real.c"), "a").unwrap();
        std::os::unix::fs::symlink("real.c", folder.path().join("link.c")).unwrap();
        let changes = [change("link.c", Some(b"a"), b"A")];
        write_all(folder.path(), &changes, &Interrupt::default()).unwrap();
        assert!(folder.path().join("link.c").is_symlink());
        assert_eq!(fs::read(folder.path().join("real.c")).unwrap(), b"A");
    }

    fn mode(path: &Path) -> u32 {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}
