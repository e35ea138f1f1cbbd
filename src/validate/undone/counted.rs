//! What a function has told others of the number of elements that a loop sets, where a new exit leaves
//! that loop and nobody is told.
//!
//! ```c
//! out->count = PyList_GET_SIZE(list);
//! for (i = 0; i < out->count; i++) {
//!     item = PyList_GetItemRef(list, i);
//!     if (item == NULL) {
//!         PyErr_WriteUnraisable(NULL);
//!         return;                               /* the caller reads `count` of them */
//!     }
//!     out->numbers[i] = PyFloat_AS_DOUBLE(item);
//! ```

use super::View;
use super::acts::Act;
use super::spelling::Spelling;
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, StmtId, StmtKind, UnaryOp};
use crate::cfg::reaches;

impl View<'_> {
    /// What tells others of the end of the loop that `exit` leaves early.
    pub(super) fn told_count(&self, exit: &Exit) -> Option<&Act> {
        let around = self.loop_around(exit.test)?;
        let (StmtKind::For {
            cond: Some(cond), ..
        }
        | StmtKind::While { cond, .. }) = self.tree.stmt(around).kind
        else {
            return None;
        };
        let sets_elements = self
            .acts
            .iter()
            .any(|act| self.is_in_loop(act, exit) && self.sets_element(act));
        if !sets_elements || !self.drops_error(exit) {
            return None;
        }
        let done = self.done_from(exit.start, exit.from);
        let mut writes = self.acts.iter().filter(|act| act.writes && act.may_undo);
        writes.find(|act| {
            !self.is_in_loop(act, exit)
                && self.is_bound(act, around, cond)
                && !done.contains(&act.key)
                && reaches(self.cfg, act.point.next(), exit.from, &[])
        })
    }

    /// Whether a write sets an element of what others have: `out->numbers[i] = n`, `*end++ = n`.
    fn sets_element(&self, act: &Act) -> bool {
        let place = self.tree.changed(act.expr).filter(|_| act.may_undo);
        place.is_some_and(|place| {
            matches!(
                self.tree.expr(place).kind,
                ExprKind::Index { .. }
                    | ExprKind::Unary {
                        op: UnaryOp::Deref,
                        ..
                    }
            )
        })
    }

    /// Whether the condition of a loop asks for the place that a write sets, or for what it gets.
    fn is_bound(&self, act: &Act, around: StmtId, cond: ExprId) -> bool {
        let ExprKind::Assign { op: None, lhs, rhs } = self.tree.expr(act.expr).kind else {
            return false;
        };
        let within = self.tree.stmt(around).range;
        let changed = self.tree.exprs_in(within);
        let changed = changed.filter_map(|(expr, _)| self.tree.changed(expr));
        let changed: Vec<Spelling<'_>> = changed.map(|it| self.spelling(it)).collect();
        let mut told = vec![
            self.spelling(lhs),
            self.spelling(self.tree.without_casts(rhs)),
        ];
        told.retain(|place| !changed.contains(place));
        let mut asked = self.tree.exprs_in(self.tree.expr(cond).range);
        asked.any(|(part, it)| {
            !matches!(it.kind, ExprKind::Int(_)) && told.contains(&self.spelling(part))
        })
    }

    /// Whether an exit leaves nothing of the exception for the callers.
    pub(super) fn drops_error(&self, exit: &Exit) -> bool {
        let within = self.tree.stmt(exit.then).range;
        let mut calls = self.tree.calls();
        calls.any(|(call, name)| {
            within.contains(self.tree.expr(call).range)
                && matches!(name, "PyErr_WriteUnraisable" | "PyErr_Clear")
        })
    }
}
