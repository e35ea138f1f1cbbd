//! How expressions are spelt, as numbers: those with the same words have the same numbers.

use rustc_hash::FxHashMap;

use super::super::changed::Changed;
use crate::ast::TokenRange;
use crate::source::FileSet;

/// Names a word of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WordId(u32);

/// The words of an expression.
pub(super) type Spelling<'s> = &'s [WordId];

/// The word of each token of a function.
pub(super) struct Spellings(Vec<WordId>);

impl Spellings {
    pub(super) fn new(changed: Changed<'_>, files: &FileSet) -> Self {
        let tokens = &changed.item.tokens;
        let count = u32::try_from(tokens.tokens.len()).expect("items are indexed by u32");
        let mut words: FxHashMap<&[u8], WordId> = FxHashMap::default();
        let word = |at: u32| {
            let next = WordId(u32::try_from(words.len()).expect("no more words than tokens"));
            *words.entry(tokens.text(files, at)).or_insert(next)
        };
        Self((0..count).map(word).collect())
    }

    pub(super) fn of(&self, range: TokenRange) -> Spelling<'_> {
        &self.0[range.start as usize..range.end as usize]
    }
}
