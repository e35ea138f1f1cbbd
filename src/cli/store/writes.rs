//! The journal of writes: what files held before, so that a write can be taken back.
//!
//! A write is a folder `0001`, `0002`, …: a list of files, and the old and the new bytes of each.
//! It is complete before the first file changes, and has the file `done` once all of them have.
//! So a folder without `done` is a write, or an undo, that was cut off, and both are repaired in
//! the same way: by bringing the old bytes back.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::cli::interrupt::Interrupt;
use crate::cli::talk::listed;
use crate::cli::write::{TEMPORARY, WriteError, write_all};
use crate::diff::{DEFAULT_CONTEXT, FileChange, FileMode, patch};

const LIST: &str = "files.json";
const DONE: &str = "done";
/// Name of what is no write yet, or none any more.
const PART: &str = "part";

/// The folder of all writes.
#[derive(Debug)]
pub(in crate::cli) struct Writes(PathBuf);

/// Why the last write was not taken back.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum UndoError {
    /// There is no write left.
    #[error("there is no write to undo")]
    Nothing,
    /// Files are not as the write left them.
    #[error(
        "nothing was undone, because these files have changed since the write:{}\nthe patch on \
         stdout undoes the write; `git apply --3way` or `patch -p1` can apply the parts that \
         still fit", listed(.files))]
    Changed {
        /// The files.
        files: Vec<PathBuf>,
        /// From the new to the old bytes.
        patch: Vec<u8>,
    },
    /// The files could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The journal could not be read.
    #[error("{0:#}")]
    Journal(#[from] anyhow::Error),
}

/// Files, relative to the root, with what they held before a write; nothing if it made them.
#[derive(Debug)]
pub(in crate::cli) struct Replaced(pub(in crate::cli) Vec<(PathBuf, Vec<u8>)>);

#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    /// Relative to the root.
    path: PathBuf,
    /// The write made the file.
    created: bool,
    executable: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct List {
    /// The folder that paths are relative to; absolute.
    root: PathBuf,
    files: Vec<Listed>,
}

/// One write, read back.
struct Entry {
    folder: PathBuf,
    root: PathBuf,
    files: Vec<Saved>,
}

struct Saved {
    path: PathBuf,
    /// `None` if the write made the file.
    old: Option<Vec<u8>>,
    new: Vec<u8>,
    mode: FileMode,
    /// What the file holds; `None` if there is none.
    current: Option<Vec<u8>>,
}

impl Writes {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Writes all `changes` (relative to `root`) or none, and keeps what undo needs.
    ///
    /// # Errors
    /// What [`write_all`] says, or the system when the journal is written.
    pub(in crate::cli) fn write(
        &self,
        root: &Path,
        changes: &[FileChange<'_>],
        interrupt: &Interrupt,
    ) -> anyhow::Result<()> {
        let _held = interrupt.hold();
        let folder = self
            .save(root, changes)
            .with_context(|| format!("cannot write the journal `{}`", self.0.display()))?;
        let written = write_all(root, changes, interrupt);
        match &written {
            Ok(()) => finish(&folder).context("cannot write the journal")?,
            // Files may hold their new bytes, so undo stays possible.
            Err(WriteError::Lost { .. }) => {}
            Err(_) => remove(&folder).context("cannot clear the journal")?,
        }
        Ok(written?)
    }

    /// Brings back the old bytes of a write or undo that was cut off. Returns the number of files
    /// it brought back, and the files that somebody changed meanwhile and that stay as they are.
    ///
    /// # Errors
    /// What the system says.
    pub(in crate::cli) fn repair(
        &self,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Option<(usize, Vec<PathBuf>)>> {
        let Some(folder) = self.last()?.filter(|folder| !folder.join(DONE).exists()) else {
            return Ok(None);
        };
        let _held = interrupt.hold();
        let entry = Entry::read(folder)?;
        entry.remove_temporary_files();
        let foreign = entry.foreign();
        let brought_back = entry.bring_back(interrupt)?;
        if foreign.is_empty() {
            entry.forget()?;
        } else {
            finish(&entry.folder)?;
        }
        Ok(Some((brought_back, foreign)))
    }

    /// Takes the last write back; returns the files it brought back.
    ///
    /// # Errors
    /// See [`UndoError`]; nothing is changed then.
    pub(in crate::cli) fn undo(&self, interrupt: &Interrupt) -> Result<Vec<PathBuf>, UndoError> {
        let folder = self.last()?.ok_or(UndoError::Nothing)?;
        let entry = Entry::read(folder)?;
        let is_new = |file: &&Saved| file.current.as_ref() == Some(&file.new);
        let changed: Vec<_> = entry.files.iter().filter(|file| !is_new(file)).collect();
        if !changed.is_empty() {
            return Err(UndoError::Changed {
                files: changed.iter().map(|file| file.path.clone()).collect(),
                patch: entry.reverse_patch(),
            });
        }
        let _held = interrupt.hold();
        // From here on a kill leaves what `repair` completes.
        fs::remove_file(entry.folder.join(DONE)).context("cannot write the journal")?;
        if let Err(error) = entry.bring_back(interrupt) {
            finish(&entry.folder).context("cannot write the journal")?;
            return Err(error);
        }
        entry.forget()?;
        Ok(entry.files.into_iter().map(|file| file.path).collect())
    }

    /// Those of `changes` whose old bytes the last write did not put there. That the other files
    /// have uncommitted changes is our own doing, and undo can take them back.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(in crate::cli) fn foreign<'a>(
        &self,
        changes: &[FileChange<'a>],
    ) -> anyhow::Result<Vec<FileChange<'a>>> {
        let Some(folder) = self.last()? else {
            return Ok(changes.to_vec());
        };
        let files = Entry::read(folder)?.files;
        let is_ours = |change: &FileChange<'_>| {
            let mut files = files.iter();
            files.any(|file| file.path == change.path && Some(&file.new[..]) == change.old)
        };
        let foreign = changes.iter().copied().filter(|change| !is_ours(change));
        Ok(foreign.collect())
    }

    /// What the last write replaced.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(in crate::cli) fn replaced(&self) -> anyhow::Result<Option<Replaced>> {
        let Some(folder) = self.last()? else {
            return Ok(None);
        };
        let files = Entry::read(folder)?.files.into_iter();
        let old = files.map(|file| (file.path, file.old.unwrap_or_default()));
        Ok(Some(Replaced(old.collect())))
    }

    /// The folder of the last write.
    fn last(&self) -> anyhow::Result<Option<PathBuf>> {
        let numbers = self.numbers();
        let numbers =
            numbers.with_context(|| format!("cannot read the journal `{}`", self.0.display()))?;
        Ok(numbers
            .into_iter()
            .max()
            .map(|number| self.numbered(number)))
    }

    fn numbers(&self) -> io::Result<Vec<u32>> {
        if !self.0.exists() {
            return Ok(Vec::new());
        }
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            numbers.extend(
                entry?
                    .file_name()
                    .to_str()
                    .and_then(|name| name.parse::<u32>().ok()),
            );
        }
        Ok(numbers)
    }

    fn numbered(&self, number: u32) -> PathBuf {
        self.0.join(format!("{number:04}"))
    }

    fn save(&self, root: &Path, changes: &[FileChange<'_>]) -> io::Result<PathBuf> {
        let number = self.numbers()?.into_iter().max().unwrap_or(0) + 1;
        // The folder gets its name when it is complete.
        let part = self.0.join(PART);
        if part.exists() {
            fs::remove_dir_all(&part)?;
        }
        fs::create_dir_all(&part)?;
        for (at, change) in changes.iter().enumerate() {
            if let Some(old) = change.old {
                save_file(&part.join(format!("{at}.old")), old)?;
            }
            save_file(&part.join(format!("{at}.new")), change.new)?;
        }
        let listed = |change: &FileChange<'_>| Listed {
            path: change.path.to_path_buf(),
            created: change.old.is_none(),
            executable: change.mode == FileMode::Executable,
        };
        let list = List {
            root: root.to_path_buf(),
            files: changes.iter().map(listed).collect(),
        };
        // A path that is no UTF-8 cannot be kept.
        save_file(&part.join(LIST), &serde_json::to_vec(&list)?)?;
        let folder = self.numbered(number);
        fs::rename(&part, &folder)?;
        Ok(folder)
    }
}

impl Entry {
    fn read(folder: PathBuf) -> anyhow::Result<Self> {
        let context = || format!("cannot read the journal `{}`", folder.display());
        let list = fs::read(folder.join(LIST)).with_context(context)?;
        let list: List = serde_json::from_slice(&list).with_context(context)?;
        let mut files = Vec::new();
        for (at, file) in list.files.into_iter().enumerate() {
            let bytes = |side| fs::read(folder.join(format!("{at}.{side}"))).with_context(context);
            let old = if file.created {
                None
            } else {
                Some(bytes("old")?)
            };
            files.push(Saved {
                old,
                new: bytes("new")?,
                mode: match file.executable {
                    true => FileMode::Executable,
                    false => FileMode::Regular,
                },
                // A file that cannot be read is none that can be brought back.
                current: fs::read(list.root.join(&file.path)).ok(),
                path: file.path,
            });
        }
        Ok(Self {
            folder,
            root: list.root,
            files,
        })
    }

    /// Files that hold neither their old nor their new bytes.
    fn foreign(&self) -> Vec<PathBuf> {
        let foreign =
            |file: &&Saved| file.current != file.old && file.current.as_ref() != Some(&file.new);
        self.files
            .iter()
            .filter(foreign)
            .map(|file| file.path.clone())
            .collect()
    }

    /// Gives all files that hold their new bytes the old ones again; returns how many.
    fn bring_back(&self, interrupt: &Interrupt) -> Result<usize, UndoError> {
        let is_new = |file: &&Saved| file.current.as_ref() == Some(&file.new);
        let files: Vec<_> = self.files.iter().filter(is_new).collect();
        let changes: Vec<_> = files
            .iter()
            .filter_map(|file| {
                Some(FileChange {
                    path: &file.path,
                    old: Some(&file.new),
                    new: file.old.as_ref()?,
                    mode: file.mode,
                })
            })
            .collect();
        write_all(&self.root, &changes, interrupt)?;
        for file in files.iter().filter(|file| file.old.is_none()) {
            let path = self.root.join(&file.path);
            fs::remove_file(&path)
                .with_context(|| format!("cannot remove `{}`", path.display()))?;
        }
        Ok(files.len())
    }

    /// What turns the new bytes into the old ones. Files that the write made are left out: there
    /// is nothing to merge in them.
    fn reverse_patch(&self) -> Vec<u8> {
        let changes: Vec<_> = self
            .files
            .iter()
            .filter_map(|file| {
                Some(FileChange {
                    path: &file.path,
                    old: Some(&file.new),
                    new: file.old.as_ref()?,
                    mode: file.mode,
                })
            })
            .collect();
        patch(&changes, DEFAULT_CONTEXT)
    }

    /// Removes what a killed write left beside its files.
    fn remove_temporary_files(&self) {
        let folders = self.files.iter().filter_map(|file| {
            let target = self.root.join(&file.path);
            // Behind a symbolic link, as when it was written.
            fs::canonicalize(&target)
                .unwrap_or(target)
                .parent()
                .map(Path::to_path_buf)
        });
        for folder in folders {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry
                    .file_name()
                    .as_encoded_bytes()
                    .starts_with(TEMPORARY.as_bytes())
                {
                    // It does no harm if it stays.
                    let _ = fs::remove_file(entry.path());
                }
            }
        }
    }

    fn forget(&self) -> anyhow::Result<()> {
        remove(&self.folder).with_context(|| format!("cannot remove `{}`", self.folder.display()))
    }
}

/// Removes the folder of a write; a kill on the way leaves what is no write any more.
fn remove(folder: &Path) -> io::Result<()> {
    let part = folder.with_file_name(PART);
    if part.exists() {
        fs::remove_dir_all(&part)?;
    }
    fs::rename(folder, &part)?;
    fs::remove_dir_all(part)
}

fn finish(folder: &Path) -> io::Result<()> {
    save_file(&folder.join(DONE), b"")
}

fn save_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::{DONE, UndoError, Writes};
    use crate::cli::interrupt::Interrupt;
    use crate::diff::{FileChange, FileMode};

    fn changes() -> [FileChange<'static>; 3] {
        let change = |path: &'static str, old, new| FileChange {
            path: Path::new(path),
            old,
            new,
            mode: FileMode::Regular,
        };
        [
            change("a.c", Some(&b"a\xe9\n"[..]), &b"A\xe9\n"[..]),
            change("b.c", Some(b"b\n"), b"B\n"),
            change("n.h", None, b"new\n"),
        ]
    }

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new() -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            for change in changes() {
                if let Some(old) = change.old {
                    fs::write(tree.0.path().join(change.path), old).unwrap();
                }
            }
            tree
        }

        fn writes(&self) -> Writes {
            Writes::new(self.0.path().join(".ungil/writes"))
        }

        fn write(&self) {
            self.writes()
                .write(self.0.path(), &changes(), &Interrupt::default())
                .unwrap();
        }

        fn holds(&self, side: impl Fn(&FileChange<'static>) -> Option<&'static [u8]>) -> bool {
            changes().iter().all(|change| {
                fs::read(self.0.path().join(change.path)).ok().as_deref() == side(change)
            })
        }
    }

    #[test]
    fn a_write_is_taken_back_byte_for_byte() {
        let tree = Tree::new();
        tree.write();
        assert!(tree.holds(|change| Some(change.new)));
        let again = |path: &'static str, old| FileChange {
            path: Path::new(path),
            old,
            new: b"",
            mode: FileMode::Regular,
        };
        let again = [
            again("a.c", Some(&b"A\xe9\n"[..])),
            again("b.c", Some(b"else")),
            again("other.h", None),
        ];
        let foreign = tree.writes().foreign(&again).unwrap();
        let foreign: Vec<_> = foreign.iter().map(|change| change.path).collect();
        assert_eq!(foreign, [Path::new("b.c"), Path::new("other.h")]);
        let files = tree.writes().undo(&Interrupt::default()).unwrap();
        assert_eq!(files, ["a.c", "b.c", "n.h"].map(PathBuf::from));
        assert!(tree.holds(|change| change.old));
        let error = tree.writes().undo(&Interrupt::default()).unwrap_err();
        assert!(matches!(error, UndoError::Nothing));
    }

    #[test]
    fn a_file_that_was_edited_since_stops_undo_and_the_reverse_patch_is_given() {
        let tree = Tree::new();
        tree.write();
        fs::write(tree.0.path().join("b.c"), "mine\n").unwrap();
        let error = tree.writes().undo(&Interrupt::default()).unwrap_err();
        let UndoError::Changed { files, patch } = error else {
            panic!("{error}")
        };
        assert_eq!(files, [Path::new("b.c")]);
        let patch = String::from_utf8_lossy(&patch);
        assert!(
            patch.contains("--- a/b.c\n+++ b/b.c\n@@ -1 +1 @@\n-B\n+b\n"),
            "{patch}"
        );
        assert_eq!(fs::read(tree.0.path().join("a.c")).unwrap(), b"A\xe9\n");
        // Later, when the file is as it was, undo works.
        fs::write(tree.0.path().join("b.c"), "B\n").unwrap();
        tree.writes().undo(&Interrupt::default()).unwrap();
        assert!(tree.holds(|change| change.old));
    }

    #[test]
    fn a_write_or_undo_cut_off_between_any_two_files_is_repaired() {
        for written in 0..=changes().len() {
            let tree = Tree::new();
            tree.write();
            fs::remove_file(tree.0.path().join(".ungil/writes/0001").join(DONE)).unwrap();
            for change in &changes()[written..] {
                let path = tree.0.path().join(change.path);
                match change.old {
                    Some(old) => fs::write(path, old).unwrap(),
                    None => fs::remove_file(path).unwrap(),
                }
            }
            fs::write(tree.0.path().join(".ungil-x1y2z3"), "left over").unwrap();
            let repaired = tree.writes().repair(&Interrupt::default()).unwrap();
            assert_eq!(repaired, Some((written, vec![])));
            assert!(tree.holds(|change| change.old));
            assert!(!tree.0.path().join(".ungil-x1y2z3").exists());
            assert_eq!(tree.writes().repair(&Interrupt::default()).unwrap(), None);
        }
    }

    #[test]
    fn a_write_that_fails_leaves_no_entry() {
        let tree = Tree::new();
        fs::write(tree.0.path().join("b.c"), "other").unwrap();
        let result = tree
            .writes()
            .write(tree.0.path(), &changes(), &Interrupt::default());
        assert!(result.is_err());
        let error = tree.writes().undo(&Interrupt::default()).unwrap_err();
        assert!(matches!(error, UndoError::Nothing));
    }
}
