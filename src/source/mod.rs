//! Bytes and places: the files of a run, spans in them, lines.

mod lines;
mod span;

pub use lines::{LineIndex, LineNumber, Position};
pub use span::{ByteOffset, ByteSpan};

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashSet;

/// Index of a file in the run's [`FileSet`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

impl FileId {
    /// Index into a vector with one entry a file.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The largest file that is read, in bytes; larger ones are counted and reported.
///
/// Offsets are 32 bits wide, and no hand-written C file comes near this.
pub const MAX_FILE_BYTES: usize = 256 << 20;

/// One file of the tree: its bytes as they stand on disk and where its lines begin.
#[derive(Debug)]
pub struct SourceFile {
    path: PathBuf,
    bytes: Vec<u8>,
    lines: OnceLock<LineIndex>,
}

impl SourceFile {
    /// Wraps the bytes of the file at `path` (relative to the root of the run, with `/`).
    #[must_use]
    pub fn new(path: PathBuf, bytes: Vec<u8>) -> Self {
        debug_assert!(bytes.len() <= MAX_FILE_BYTES);
        Self {
            path,
            bytes,
            lines: OnceLock::new(),
        }
    }

    /// Path relative to the root of the run.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes under `span`.
    ///
    /// # Panics
    /// If `span` does not lie inside the file.
    #[must_use]
    pub fn slice(&self, span: ByteSpan) -> &[u8] {
        &self.bytes[span.range()]
    }

    /// The text under `span`, foreign bytes replaced; for messages only.
    #[must_use]
    pub fn text(&self, span: ByteSpan) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.slice(span))
    }

    /// Where the lines begin; computed at the first call.
    #[must_use]
    pub fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.bytes))
    }

    /// Line and column of `offset`, both from 1.
    #[must_use]
    pub fn position(&self, offset: ByteOffset) -> Position {
        self.lines().position(offset)
    }
}

/// All files of a run. Files are never removed, so a [`FileId`] stays valid. Clones share the
/// files.
#[derive(Debug, Clone, Default)]
pub struct FileSet {
    files: Vec<Arc<SourceFile>>,
}

impl FileSet {
    /// Adds a file and gives its id.
    pub fn add(&mut self, file: SourceFile) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).expect("fewer files than 2^32"));
        self.files.push(Arc::new(file));
        id
    }

    /// The file with this id.
    #[must_use]
    pub fn get(&self, id: FileId) -> &SourceFile {
        &self.files[id.index()]
    }

    /// Puts other bytes in place of those of `id`.
    pub fn replace(&mut self, id: FileId, bytes: Vec<u8>) {
        let path = self.files[id.index()].path().to_path_buf();
        self.files[id.index()] = Arc::new(SourceFile::new(path, bytes));
    }

    /// All files with their ids, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files
            .iter()
            .map(AsRef::as_ref)
            .enumerate()
            .map(|(i, file)| {
                (
                    FileId(u32::try_from(i).expect("fewer files than 2^32")),
                    file,
                )
            })
    }

    /// The files that have other bytes in `other`; `None` if those are other files.
    #[must_use]
    pub fn changed_in(&self, other: &Self) -> Option<FxHashSet<FileId>> {
        let is_same_file = |(own, its): (&Arc<SourceFile>, &Arc<SourceFile>)| own.path == its.path;
        let mut pairs = self.files.iter().zip(&other.files);
        if self.len() != other.len() || !pairs.all(is_same_file) {
            return None;
        }
        let is_changed = |own: &Arc<SourceFile>, its: &Arc<SourceFile>| {
            !Arc::ptr_eq(own, its) && own.bytes != its.bytes
        };
        let pairs = (0..).map(FileId).zip(self.files.iter().zip(&other.files));
        let changed = pairs.filter(|(_, (own, its))| is_changed(own, its));
        Some(changed.map(|(id, _)| id).collect())
    }

    /// How many files there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is no file.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}
