//! What is kept between runs: the folder `.ungil` of a project.

mod journal;
mod writes;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::package::Roots;

pub(super) use journal::Journal;
pub(super) use writes::{Replaced, UndoError, Writes};

/// Name of the folder.
const FOLDER: &str = ".ungil";
/// Name of the journal of decisions in it.
const JOURNAL: &str = "review.jsonl";
/// Names of files that mark the top of a project besides the folder itself.
const PROJECT_FILES: [&str; 3] = ["pyproject.toml", "setup.py", "setup.cfg"];

/// Another process, of this number, holds the folder.
#[derive(Debug, thiserror::Error)]
#[error("another `ungil` (process {0}) is working on this project; wait for it or end it")]
struct Held(String);

/// The folder, held by this process alone.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    /// The system gives the lock back when the process ends, however it ends.
    _lock: File,
}

impl Store {
    /// Opens the folder of a project, and makes it where there is none.
    ///
    /// # Errors
    /// If another process holds it, or the system refuses.
    pub(super) fn open(roots: &Roots) -> anyhow::Result<Self> {
        let folder = Self::folder(roots);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder `{}`", folder.display()))?;
        let ignore = folder.join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n")
                .with_context(|| format!("cannot write `{}`", ignore.display()))?;
        }
        Self::lock(folder)
    }

    /// Opens the folder of a project if it is there and no other process holds it.
    ///
    /// # Errors
    /// If the system refuses.
    pub(super) fn open_free(roots: &Roots) -> anyhow::Result<Option<Self>> {
        let folder = Self::folder(roots);
        match folder.is_dir() {
            true => Self::lock(folder)
                .map(Some)
                .or_else(|error| match error.is::<Held>() {
                    true => Ok(None),
                    false => Err(error),
                }),
            false => Ok(None),
        }
    }

    /// Where the journal of decisions of a project is, if there is one.
    pub(super) fn journal_of(roots: &Roots) -> PathBuf {
        Self::folder(roots).join(JOURNAL)
    }

    fn folder(roots: &Roots) -> PathBuf {
        let is_marked = PROJECT_FILES
            .iter()
            .any(|name| roots.project.join(name).is_file());
        let top = if is_marked {
            &roots.project
        } else {
            roots.base()
        };
        top.join(FOLDER)
    }

    /// Opens the nearest folder at or above `start`, which is absolute; `None` if there is none.
    ///
    /// # Errors
    /// If another process holds it, or the system refuses.
    pub(super) fn find(start: &Path) -> anyhow::Result<Option<Self>> {
        let found = start
            .ancestors()
            .map(|folder| folder.join(FOLDER))
            .find(|f| f.is_dir());
        found.map(Self::lock).transpose()
    }

    fn lock(folder: PathBuf) -> anyhow::Result<Self> {
        let path = folder.join("lock");
        let context = || format!("cannot lock `{}`", path.display());
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(context)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                // Without a number the message is still right.
                let _ = file.read_to_string(&mut pid);
                return Err(Held(pid.trim().to_owned()).into());
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(context),
        }
        let write_pid = |file: &mut File| -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        write_pid(&mut file).with_context(context)?;
        Ok(Self {
            folder,
            _lock: file,
        })
    }

    /// The journal of writes.
    pub(super) fn writes(&self) -> Writes {
        Writes::new(self.folder.join("writes"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Store;
    use crate::package::find_roots;

    #[test]
    fn git_does_not_see_the_folder_and_a_second_process_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let roots = find_roots(&[folder.path().to_path_buf()]);
        let store = Store::open(&roots).unwrap();
        let ignore = fs::read_to_string(folder.path().join(".ungil/.gitignore")).unwrap();
        assert_eq!(ignore, "*\n");
        // A lock belongs to the open file, so that this process can stand for another one.
        let error = Store::open(&roots).unwrap_err().to_string();
        let pid = std::process::id();
        assert!(error.contains(&format!("(process {pid})")), "{error}");
        drop(store);
        assert!(Store::open(&roots).is_ok());
    }

    #[test]
    fn the_folder_is_at_the_top_of_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("src/deep");
        fs::create_dir_all(&deep).unwrap();
        fs::write(folder.path().join("setup.py"), "").unwrap();
        assert!(Store::find(&deep).unwrap().is_none());
        drop(Store::open(&find_roots(std::slice::from_ref(&deep))).unwrap());
        assert!(folder.path().join(".ungil/lock").is_file());
        assert!(Store::find(&deep).unwrap().is_some());
    }
}
