//! Text that only builds with the GIL compile.

use std::collections::BTreeMap;

use super::Program;
use crate::preprocess::Place;
use crate::source::{ByteOffset, FileId};

/// The branches of all `#if`s that were read, with whether only builds with the GIL read them.
#[derive(Debug, Default)]
pub struct WithGil {
    branches: BTreeMap<(FileId, u32), bool>,
}

impl WithGil {
    /// Adds what one translation unit says.
    pub(super) fn add(&mut self, branches: &BTreeMap<(FileId, u32), bool>) {
        for (&branch, &needs_gil) in branches {
            *self.branches.entry(branch).or_insert(true) &= needs_gil;
        }
    }
}

impl Program<'_> {
    /// Whether only builds with the GIL compile what stands at `at` of `file`.
    #[must_use]
    pub fn needs_gil(&self, file: FileId, at: ByteOffset) -> bool {
        let branch = self.index[file.index()].branch_at(at);
        branch.is_some_and(|branch| self.with_gil.branches.get(&(file, branch)) == Some(&true))
    }

    /// Whether only builds with the GIL compile a place: the text, or the macro that makes it, or
    /// its use.
    #[must_use]
    pub fn place_needs_gil(&self, place: &Place) -> bool {
        match place {
            Place::File(file, span) | Place::Argument { file, span, .. } => {
                self.needs_gil(*file, span.start())
            }
            Place::Macro {
                definition, call, ..
            } => {
                let mut places = definition.iter().chain([call]);
                places.any(|(file, span)| self.needs_gil(*file, span.start()))
            }
        }
    }
}
