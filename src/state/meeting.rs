//! Whether other threads can be there when code of a package runs.

use std::collections::BTreeSet;

use super::locks::Locks;
use super::phase::{alone, reachable};
use crate::ast::{ExprId, Function};
use crate::program::ItemId;
use crate::rule::PackageCx;

/// When an expression is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// While no other thread can be there: a module is made or taken down.
    Early,
    /// At any time, with a lock held.
    Locked,
    /// At any time.
    Late,
}

/// What is known of the functions of a package.
#[derive(Debug)]
pub struct Meetings<'c, 'a> {
    cx: &'c PackageCx<'a>,
    reachable: Option<BTreeSet<&'c str>>,
    alone: BTreeSet<&'c str>,
    locks: Locks<'c, 'a>,
}

impl<'c, 'a> Meetings<'c, 'a> {
    /// Looks at the package, of which all items must have been parsed.
    #[must_use]
    pub fn new(cx: &'c PackageCx<'a>) -> Self {
        let reachable = reachable(cx);
        let alone = alone(cx, reachable.as_ref());
        Self {
            cx,
            reachable,
            alone,
            locks: Locks::new(cx),
        }
    }

    /// Whether builds without the GIL have the function `id`, and Python can get to it.
    #[must_use]
    pub fn is_met(&self, id: ItemId, function: &Function) -> bool {
        let is_reached = |reached: &BTreeSet<&str>| reached.contains(function.name.as_str());
        !self.cx.item(id).needs_gil && self.reachable.as_ref().is_none_or(is_reached)
    }

    /// When an expression of a function [that is met](Self::is_met) is evaluated.
    #[must_use]
    pub fn phase(&self, id: ItemId, function: &Function, expr: ExprId) -> Phase {
        let name = function.name.as_str();
        if self.alone.contains(name) || name.starts_with("PyInit_") {
            Phase::Early
        } else if self.locks.is_held(id, expr) {
            Phase::Locked
        } else {
            Phase::Late
        }
    }
}
