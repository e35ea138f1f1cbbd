//! Whether a list may have slots that are not filled yet, and the function knows: a strong function
//! must not read such a slot.
//!
//! ```c
//! self->seen = PyList_New(4);
//! …
//! item = PyList_GET_ITEM(self->seen, i);
//! if (item == NULL)                                   /* nothing there yet */
//!     item = make(self, i);
//! ```

use crate::capi::{self, OnNull};
use crate::cfg::{Operand, Point, Terminator};
use crate::program::CallSite;

use super::Cx;
use super::flow::{Flow, Origin};
use super::traced::{MAX_DEPTH, Question, Value};

/// Whether a value is a list that was made with slots, not all of which are known to be filled.
struct HasGaps;

impl Question for HasGaps {
    fn of_value(&self, _: &Cx<'_>, value: Value<'_, '_>, _: u32) -> Option<bool> {
        let Value { flow, operand, at } = value;
        let origins = flow.origins(operand);
        let mut made = origins.iter().filter_map(|origin| match origin {
            Origin::Call(made) => Some(*made),
            _ => None,
        });
        made.any(|made| flow.is_left_empty(made, at))
            .then_some(true)
    }

    fn of_store(&self, _: Value<'_, '_>) -> bool {
        false
    }
}

impl Cx<'_> {
    /// Whether the first argument of the call `site` may be a list with slots that are not filled,
    /// and the function goes on with what it finds in one.
    #[must_use]
    pub fn may_have_gaps(&self, site: CallSite) -> bool {
        let is_minded = self.flow(site.item).is_some_and(|flow| {
            let lookup = flow.cfg.call(site.expr);
            lookup.is_some_and(|lookup| flow.takes_nothing(lookup))
        });
        is_minded && self.may_be(&HasGaps, site, 0)
    }

    /// Whether the list that the call at `made` gives may have such slots when the step at `site`
    /// runs.
    pub(super) fn has_gaps(&self, flow: &Flow<'_>, made: Point, site: Point) -> bool {
        flow.is_left_empty(made, site)
            || flow
                .call(made)
                .and_then(|(name, _)| name)
                .is_some_and(|name| self.result_may_be(&HasGaps, name, MAX_DEPTH))
    }
}

impl Flow<'_> {
    /// Whether the call at `made` makes a list with slots of which one may be empty at `site`.
    fn is_left_empty(&self, made: Point, site: Point) -> bool {
        let name = self.call(made).and_then(|(name, _)| name);
        name == Some("PyList_New")
            && !self.is_filled(made, site)
            && !self.is_filled_by_loop(made, site)
    }

    /// Whether the function tests what the call `lookup` gives for `NULL`, gives it to a call that
    /// takes `NULL`, or returns it.
    fn takes_nothing(&self, lookup: Point) -> bool {
        let is_it = |operand: &Operand| self.origins(operand).contains(&Origin::Call(lookup));
        let mut ends = self.cfg.iter().map(|(_, block)| &block.terminator);
        let takes = |end: &Terminator| match end {
            Terminator::Branch { condition, .. } => {
                condition.rhs.is_zero() && is_it(&condition.lhs)
            }
            Terminator::Return(Some(value), _) => is_it(value),
            _ => false,
        };
        let gives = |(at, _)| {
            let (Some(name), args) = self.call(at)? else {
                return None;
            };
            let arg = args.iter().position(is_it)?;
            let on_null = capi::on_null(name, arg);
            Some(matches!(on_null, Some(OnNull::Takes | OnNull::Gives)))
        };
        ends.any(takes) || self.instrs().any(|it| gives(it) == Some(true))
    }
}
