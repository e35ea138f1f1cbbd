//! What a function still does after a new exit of which nobody learns.
//!
//! ```c
//! item = PyList_GetItemRef(list, 0);
//! if (item == NULL) {
//!     PyErr_WriteUnraisable(NULL);
//!     return;                                   /* the caller goes on as if the file were closed */
//! }
//! …
//! fclose(log);
//! log = NULL;
//! ```

use std::iter;

use super::View;
use super::acts::{Act, clears_errno, roots, sets_errno};
use super::owed::Change;
use super::ways::Exit;
use crate::ast::{ExprId, LocalId, StmtKind};
use crate::cfg::{Reach, reaches};
use crate::program::Lasting;

impl View<'_> {
    /// What the function does for others after `exit`, and not where it takes it, if its callers are
    /// not told of that.
    pub(super) fn skipped_silently(&self, exit: &Exit) -> Option<&Act> {
        if !self.drops_error(exit) {
            return None;
        }
        let made = self.made_of(exit.tested(self.tree), None);
        let taken = Reach::new(self.cfg, exit.start, &[exit.from]);
        let changes = self.all_changes();
        let mut skipped = changes.iter().filter(|it| {
            self.goes_on_to(exit, it.act.point)
                && !taken.contains(it.act.point)
                && self.is_for_others(it, exit)
                && !self.depends_on_item(it.act, exit, &made)
                && !self.skips_as_well(it.act, exit)
        });
        skipped.next().map(|it| it.act)
    }

    /// Whether there is nothing to be done without the item: `act` works on it, or on what is `made` of
    /// it, or stands under a test of that.
    fn depends_on_item(&self, act: &Act, exit: &Exit, made: &[LocalId]) -> bool {
        let speaks = |expr: ExprId| roots(self.tree, expr).iter().any(|it| made.contains(it));
        let mut outer = iter::successors(Some(act.stmt), |&at| self.nesting.around(at));
        speaks(act.expr)
            || act.writes && self.is_computed_from_result(act, exit)
            || outer.any(|stmt| match self.tree.stmt(stmt).kind {
                StmtKind::If { cond, .. } | StmtKind::While { cond, .. } => speaks(cond),
                _ => false,
            })
    }

    /// Whether others see what the function changes.
    fn is_for_others(&self, change: &Change<'_>, exit: &Exit) -> bool {
        let Change { act, lasting } = change;
        if clears_errno(self.tree, act.expr) || sets_errno(self.tree, act.expr) {
            return false;
        }
        match act.writes {
            true => self.sets_outside(act, lasting),
            false => lasting.iter().any(Lasting::is_seen) && self.stays(change, exit),
        }
    }

    /// Whether an exit that the function had leaves `act` out, and does not ask about what that works
    /// on: `if (log == NULL) return;` says nothing of an open file.
    fn skips_as_well(&self, act: &Act, exit: &Exit) -> bool {
        self.old.iter().any(|old| {
            self.leaves_without(old, act, exit)
                && !self.asks_about(old, act)
                && (reaches(self.cfg, old.from, exit.from, &[])
                    || reaches(self.cfg, exit.from, old.from, &[]))
        })
    }

    /// Whether the test of `old` names a place that `act` works on.
    fn asks_about(&self, old: &Exit, act: &Act) -> bool {
        let StmtKind::If { cond, .. } = self.tree.stmt(old.test).kind else {
            return true;
        };
        let place = self.tree.changed(act.expr);
        let places = || act.places.iter().copied().chain(place);
        let mut parts = self.tree.exprs_in(self.tree.expr(cond).range);
        parts.any(|(part, _)| places().any(|it| self.spelling(it) == self.spelling(part)))
    }
}
