//! What the function has taken out of a place, and has yet to release or to put back, where a new
//! exit leaves.
//!
//! ```c
//! old = self->state;
//! self->state = NULL;
//! item = PyList_GetItemRef(list, 0);
//! if (item == NULL)
//!     return NULL;                              /* nobody else knows `old` */
//! self->state = PyNumber_Long(item);
//! Py_XDECREF(old);
//! ```

use super::View;
use super::acts::{Act, is_outside};
use super::telling::{frees, is_release};
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId, StmtKind};
use crate::capi;
use crate::cfg::{Point, Terminator, reaches};
use crate::ownership::summary::Param;

impl View<'_> {
    /// The write by which something was lost to its place before `exit` leaves, which the function
    /// ends or hands on only behind that.
    pub(super) fn taken_out(&self, exit: &Exit) -> Option<&Act> {
        let tree = self.tree;
        let mut found = tree.stores().filter_map(|(local, value)| {
            let place = tree.without_casts(value);
            let is_pointer = tree.local(local).ty.pointee().is_some();
            let is_one = is_pointer && is_outside(tree, place);
            let (held, ends) = (self.held(local, value)?, self.given_up(local));
            let is_lost = |write: &Act| {
                let is_kept = |end: &Point| reaches(self.cfg, exit.start, *end, &[exit.from]);
                reaches(self.cfg, held.next(), write.point, &ends)
                    && reaches(self.cfg, write.point.next(), exit.from, &ends)
                    && ends
                        .iter()
                        .any(|&end| reaches(self.cfg, exit.from, end, &[exit.start, held]))
                    && !ends.iter().any(is_kept)
            };
            let sets_it = |write: &Act| {
                let set = tree.changed(write.expr);
                write.writes && set.is_some_and(|it| self.spelling(it) == self.spelling(place))
            };
            let mut writes = self.acts.iter().filter(|act| is_one && sets_it(act));
            writes.find(|write| is_lost(write))
        });
        found.next()
    }

    /// Where a variable gets this value.
    fn held(&self, local: LocalId, value: ExprId) -> Option<Point> {
        let stores = self.tree.expr_ids().filter(|&expr| {
            matches!(self.tree.expr(expr).kind, ExprKind::Assign { op: None, lhs, rhs }
                if rhs == value && self.tree.as_local(lhs) == Some(local))
        });
        stores.chain([value]).find_map(|it| self.cfg.store(it))
    }

    /// Where what a variable holds is released, stored or returned.
    fn given_up(&self, local: LocalId) -> Vec<Point> {
        let tree = self.tree;
        let is_it = |value: ExprId| tree.as_local(tree.without_casts(value)) == Some(local);
        let given = self
            .acts
            .iter()
            .filter(|act| match &tree.expr(act.expr).kind {
                ExprKind::Assign { rhs, .. } => is_it(*rhs),
                ExprKind::Call { args, .. } => {
                    let name = tree.called(act.expr).unwrap_or_default();
                    let mut args = args.iter().enumerate();
                    args.any(|(at, &arg)| is_it(arg) && self.takes_over(name, at))
                }
                _ => false,
            });
        let returned = self.cfg.iter().filter_map(|(block, content)| {
            let Terminator::Return(_, stmt) = content.terminator else {
                return None;
            };
            let index = content.instrs.len();
            matches!(tree.stmt(stmt).kind, StmtKind::Return(Some(value)) if is_it(value))
                .then_some(Point { block, index })
        });
        given.map(|act| act.point).chain(returned).collect()
    }

    /// Whether a function releases an argument, or takes it over.
    fn takes_over(&self, name: &str, at: usize) -> bool {
        let of_python = capi::effects(name).is_some_and(|it| it.steals(at).is_some());
        let is_own = self.changed.original.callees.param(name, at);
        is_release(name) || of_python || matches!(is_own, Some(Param::Taken(_))) || frees(name)
    }
}
