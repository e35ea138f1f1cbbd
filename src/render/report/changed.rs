//! What a fix changes, as a patch and side by side.

use serde::Serialize;

use super::super::View;
use crate::diff::{DEFAULT_CONTEXT, FileChange, blocks, patch};
use crate::edit::{Fix, apply};
use crate::source::FileId;

#[derive(Serialize)]
pub(super) struct DiffLine {
    text: String,
}

impl DiffLine {
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// A file with old and new lines beside each other.
#[derive(Serialize)]
pub(super) struct FileDiff {
    path: String,
    hunks: Vec<Hunk>,
}

#[derive(Serialize)]
struct Hunk {
    blocks: Vec<Pair>,
}

/// Lines that are the same on both sides, or lines and what takes their place.
#[derive(Serialize)]
struct Pair {
    is_same: bool,
    old: Vec<Numbered>,
    new: Vec<Numbered>,
}

#[derive(Serialize)]
struct Numbered {
    number: usize,
    text: String,
}

/// The files of a fix, applied by itself.
pub(super) struct Changed<'a> {
    view: View<'a>,
    files: Vec<(FileId, Vec<u8>)>,
}

impl<'a> Changed<'a> {
    pub(super) fn new(view: View<'a>, fix: &Fix) -> Self {
        let by_file = fix.edits.chunk_by(|one, other| one.file == other.file);
        let files = by_file.map(|edits| {
            let file = edits[0].file;
            let old = view.package.files.get(file).bytes();
            (file, apply(old, edits).bytes)
        });
        Self {
            view,
            files: files.collect(),
        }
    }

    fn changes(&self) -> Vec<FileChange<'_>> {
        let package = self.view.package;
        let files = self.files.iter();
        files
            .map(|(file, new)| FileChange {
                path: package.files.get(*file).path(),
                old: Some(package.files.get(*file).bytes()),
                new,
                mode: package.info(*file).mode,
            })
            .collect()
    }

    /// The lines of the patch, without what only programs read.
    pub(super) fn patch(&self) -> Vec<DiffLine> {
        let patch = patch(&self.changes(), DEFAULT_CONTEXT);
        let text = String::from_utf8_lossy(&patch);
        let lines = text.lines();
        lines
            .filter(|line| !line.starts_with("diff --git ") && !line.starts_with("index "))
            .map(|line| DiffLine {
                text: line.to_owned(),
            })
            .collect()
    }

    /// The same side by side.
    pub(super) fn files(&self) -> Vec<FileDiff> {
        let numbered = |first: usize, lines: Vec<String>| {
            let lines = lines.into_iter().zip(first..);
            lines
                .map(|(text, number)| Numbered { number, text })
                .collect()
        };
        let changes = self.changes();
        let files = self.files.iter().zip(&changes);
        files
            .map(|((file, _), change)| FileDiff {
                path: self.view.root_path(*file),
                hunks: blocks(change, DEFAULT_CONTEXT)
                    .into_iter()
                    .map(|blocks| Hunk {
                        blocks: blocks
                            .into_iter()
                            .map(|block| Pair {
                                is_same: block.is_same,
                                old: numbered(block.first.0, block.old),
                                new: numbered(block.first.1, block.new),
                            })
                            .collect(),
                    })
                    .collect(),
            })
            .collect()
    }
}
