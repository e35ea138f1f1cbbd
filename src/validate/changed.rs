//! A function of the result, and what it was before.

use std::collections::BTreeSet;
use std::path::Path;

use super::original::Original;
use super::proof::{beside, borrowed_seeds, changed_span, is_inserted, original_span, span_of};
use crate::ast::{ExprId, Function};
use crate::cfg::Source;
use crate::edit::Applied;
use crate::ownership::track::{Seed, Trouble};
use crate::program::ProgramItem;
use crate::source::{ByteOffset, ByteSpan};

/// A function of the result.
#[derive(Clone, Copy)]
pub(super) struct Changed<'a> {
    pub(super) original: &'a Original<'a>,
    pub(super) item: &'a ProgramItem,
    pub(super) function: &'a Function,
    pub(super) applied: &'a Applied,
    /// Functions of the package that give new references since.
    pub(super) handing: &'a BTreeSet<String>,
}

impl<'a> Changed<'a> {
    /// The path of its file.
    pub(super) fn path(&self) -> &'a Path {
        let (file, _) = self.item.place;
        self.original.program.files.get(file).path()
    }

    /// What it was, in each configuration.
    pub(super) fn befores(
        &self,
    ) -> impl Iterator<Item = (&'a ProgramItem, &'a Function)> + use<'a> {
        let (file, place) = self.item.place;
        let span = original_span(self.applied, place);
        self.original.functions_within(file, span)
    }

    /// The lookups of what it was that lend their results.
    pub(super) fn borrowed_before(&self, before: &Function) -> Vec<Seed> {
        borrowed_seeds(before, self.handing)
    }

    /// The call that made a reference, in the original.
    pub(super) fn call_of(&self, seed: &Seed) -> Option<ByteSpan> {
        let span = span_of(self.item, self.function, seed)?;
        Some(changed_span(self.applied, span))
    }

    /// The call in the original in whose place another one stands.
    pub(super) fn place_of(&self, call: ExprId) -> Option<ByteSpan> {
        let range = self.function.tree.expr(call).range;
        let (_, span) = self.item.tokens.file_span(range)?;
        Some(changed_span(self.applied, span))
    }

    /// Where the macro that makes a call was written by the edits; `None` if it was there before.
    pub(super) fn new_macro(self, call: ExprId) -> Option<ByteOffset> {
        let first = self.function.tree.expr(call).range.start as usize;
        let made = self.item.tokens.tokens.get(first)?.expansion?;
        let (file, used) = self.item.tokens.root(made).call;
        let is_new =
            file == self.item.place.0 && self.applied.map.to_original(used.start()).is_none();
        is_new.then_some(used.start())
    }

    /// The place of a new section that ends where what it locks is gone: it came too late.
    pub(super) fn ended_late(self, trouble: &Trouble) -> Option<ByteSpan> {
        let Some(Source::Expr(end)) = trouble.at else {
            return None;
        };
        let name = self.function.tree.called(end)?;
        let is_end = name.starts_with("PyCriticalSection");
        let place = self.new_macro(end).filter(|_| is_end)?;
        Some(beside(self.applied, place))
    }

    /// Whether the edits brought in the text of a token.
    pub(super) fn is_inserted(&self, token: u32) -> bool {
        is_inserted(self.item, self.applied, token)
    }
}
