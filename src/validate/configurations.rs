//! Which configuration of a function of the result was which one before.

use std::collections::BTreeMap;

use super::variants::{Change, Variant};
use crate::preprocess::Spelling;
use crate::program::{Program, ProgramItem};
use crate::source::{ByteOffset, ByteSpan, FileId};

impl Change<'_> {
    /// Whether two variants are the same configuration before and after: all tokens that the
    /// change leaves alone are in both or in neither.
    pub(super) fn is_same(&self, old: Variant<'_>, new: Variant<'_>) -> bool {
        let map = &self.applied.map;
        let before = tokens(old.0, self.file);
        let after = tokens(new.0, self.file);
        let stays = |program: &Program<'_>, at: ByteOffset| {
            let tokens = program.index[self.file.index()].tokens();
            let found = tokens.binary_search_by_key(&at, |token| token.span.start());
            found.is_ok()
        };
        let kept = before.iter().filter_map(|at| map.to_new(*at));
        let mut kept = kept.filter(|at| stays(self.result, *at));
        let came = |at: &&ByteOffset| {
            let from = map.to_original(**at);
            from.is_some_and(|from| stays(self.original.program, from))
        };
        let mut left = after.iter().filter(came);
        loop {
            match (kept.next(), left.next()) {
                (Some(one), Some(other)) if one == *other => {}
                (None, None) => return self.has_same_macros(old.0, new.0),
                _ => return false,
            }
        }
    }

    /// Whether the macros that both use are the same ones: a branch elsewhere may define another.
    ///
    /// ```c
    /// #ifdef PASE
    /// #define IS_SHORT 0
    /// #else
    /// #define IS_SHORT 1
    /// #endif
    /// ```
    fn has_same_macros(&self, old: &ProgramItem, new: &ProgramItem) -> bool {
        let map = &self.applied.map;
        let moved = |(file, span): (FileId, ByteSpan)| match file == self.file {
            true => Some((file, map.to_new(span.start())?)),
            false => Some((file, span.start())),
        };
        let before = old.tokens.expansions.iter().filter_map(|expansion| {
            let call = moved(expansion.call)?;
            Some((
                (call, &expansion.name),
                expansion.definition.and_then(moved),
            ))
        });
        let before: BTreeMap<_, _> = before.collect();
        new.tokens.expansions.iter().all(|expansion| {
            let start = |(file, span): (FileId, ByteSpan)| (file, span.start());
            let key = (start(expansion.call), &expansion.name);
            let definition = expansion.definition.map(start);
            match (before.get(&key), definition) {
                (Some(Some(before)), Some(definition)) => *before == definition,
                _ => true,
            }
        })
    }
}

/// The tokens of an item that stand in `file` as they are, by where they begin.
pub(super) fn tokens(item: &ProgramItem, file: FileId) -> Vec<ByteOffset> {
    let tokens = &item.tokens.tokens;
    let own = tokens.iter().filter(|token| token.expansion.is_none());
    let places = own.filter_map(|token| match token.spelling {
        Spelling::File(of, span) if of == file => Some(span.start()),
        Spelling::File(..) | Spelling::Synthetic(_) => None,
    });
    places.collect()
}
