//! What the text of a function says, in whatever context it is called.

use std::cell::OnceCell;

use rustc_hash::FxHashSet;

use super::guards::{Helpers, Locked, Paths, not_read};
use super::released::released;
use super::settled::Settled;
use super::shape::pointed;
use crate::ast::{ExprId, Function, LocalId, Parents};
use crate::rule::ItemId;

/// Facts about one function, found once for all its contexts.
pub(super) struct Text<'a> {
    function: &'a Function,
    /// Which calls gave locals what they hold.
    pub(super) settled: Settled,
    /// The locks that it takes itself.
    pub(super) locked: Locked,
    pub(super) paths: Paths<'a>,
    /// Locals to which others point: `char **end = &text;`.
    pub(super) pointed: FxHashSet<LocalId>,
    parents: OnceCell<Parents>,
    released: OnceCell<Vec<ExprId>>,
    not_read: OnceCell<FxHashSet<ExprId>>,
}

impl<'a> Text<'a> {
    pub(super) fn new(helpers: &Helpers<'_, '_>, item: ItemId, function: &'a Function) -> Self {
        Self {
            function,
            settled: Settled::new(function),
            locked: Locked::new(helpers, item, function),
            paths: Paths::new(function),
            pointed: pointed(&function.tree),
            parents: OnceCell::new(),
            released: OnceCell::new(),
            not_read: OnceCell::new(),
        }
    }

    pub(super) fn parents(&self) -> &Parents {
        self.parents.get_or_init(|| Parents::new(self.function))
    }

    /// See [`released`].
    pub(super) fn released(&self) -> &[ExprId] {
        self.released.get_or_init(|| released(self.function))
    }

    /// See [`not_read`].
    pub(super) fn not_read(&self) -> &FxHashSet<ExprId> {
        self.not_read.get_or_init(|| not_read(&self.function.tree))
    }
}
