//! The tree on disk: which files there are, what each one is, which Pythons they support.

mod foreign;
mod generated;
mod kind;
mod load;
mod metadata;
mod python;
mod root;
mod sites;
mod unread;
mod walk;

use std::path::PathBuf;

pub(crate) use foreign::{is_word_of, may_include_c, names_function};
pub use generated::{Generator, is_generated};
pub use kind::FileKind;
pub use load::{LoadError, Request, load};
pub use python::PythonRange;
pub use root::{Roots, find_roots};
pub use sites::borrowed_call_sites;
pub use unread::{not_analysed, unread_callers};

use crate::build::BuildKind;
use crate::diff::FileMode;
use crate::source::{FileId, FileSet, SourceFile};

/// All files of one run.
#[derive(Debug, Clone)]
pub struct Package {
    /// Absolute folder that all paths are relative to: the top of the repository, else of the
    /// project.
    pub root: PathBuf,
    /// Every readable file, sorted by path; also those that are only counted.
    pub files: FileSet,
    /// What is known of each file, by [`FileId`].
    pub infos: Vec<FileInfo>,
    /// Files whose content was not taken, sorted by path.
    pub skipped: Vec<Skipped>,
    /// The Python versions the package says it supports.
    pub python: PythonRange,
    /// The package's own copies of `pythoncapi_compat.h`.
    pub compat_headers: Vec<FileId>,
    /// Text of other languages that may name the package's C functions, sorted by path.
    pub foreign: FileSet,
    /// Whether no file was left out on request.
    pub is_whole: bool,
}

/// What is known of a file without looking at its C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo {
    /// What it is.
    pub kind: FileKind,
    /// Whether the user asked for it; others give context to those (headers, callers).
    pub selected: bool,
    /// Its mode on disk.
    pub mode: FileMode,
}

/// A file whose content was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Path relative to the root.
    pub path: PathBuf,
    /// Why.
    pub reason: SkipReason,
}

/// Why the content of a file was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkipReason {
    /// It could not be read; the system's message.
    Unreadable(String),
    /// It is larger than [`crate::source::MAX_FILE_BYTES`]; its length in bytes.
    TooLarge(u64),
    /// It has zero bytes near its beginning, so it is no text.
    Binary,
    /// Its name is not UTF-8, so that no journal could name it.
    Name,
    /// Git tracks it, but it lies in a folder whose name says that it holds products of a build.
    Products,
    /// Git tracks it, but it is a symbolic link to a file that is not read either.
    Link,
}

impl Package {
    /// What is known of `file`.
    #[must_use]
    pub fn info(&self, file: FileId) -> FileInfo {
        self.infos[file.index()]
    }

    /// What is known of `file`; `None` for what the engine added: the model of `<Python.h>`.
    #[must_use]
    pub fn info_of(&self, file: FileId) -> Option<FileInfo> {
        self.infos.get(file.index()).copied()
    }

    /// The build files, in order of their paths.
    pub fn build_files(&self) -> impl Iterator<Item = (FileId, BuildKind)> {
        self.files
            .iter()
            .filter_map(|(id, _)| match self.info(id).kind {
                FileKind::Build(kind) => Some((id, kind)),
                _ => None,
            })
    }

    /// The files whose C is analysed, in order of their paths.
    pub fn analysed(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files
            .iter()
            .filter(|(id, _)| self.info(*id).kind.is_analysed())
    }
}
