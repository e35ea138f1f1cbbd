//! Atomic places that are written where the function has asked for them, or for another one, before:
//! each step is atomic, and what they come to together is not.
//!
//! ```c
//! if (n > atomic_load(&peak))
//!     atomic_store(&peak, n);                   /* another thread's may have been higher */
//!
//! atomic_store(&first, from);
//! atomic_store(&last, to);                      /* another thread sees one of them only */
//! ```
//!
//! What is exchanged only if it is still as it was read takes that into account. Counts that are added
//! to may be several.

use std::rc::Rc;

use crate::ast::{ExprId, ExprKind, Parent};
use crate::capi;

use super::body::Body;

/// How an atomic place is used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Atomic {
    Read,
    Store,
    /// Read and written in one, be it only if it is as it was read.
    Update,
}

impl Body<'_, '_, '_> {
    /// Names the write `at` of the atomic `cell` if the function has used an atomic place before, or
    /// may have where it comes by again.
    pub(super) fn check_decided(&mut self, at: ExprId, cell: ExprId) {
        let known = Rc::clone(&self.known);
        let tree = self.tree();
        let own = tree.expr(at).range;
        let place = known.paths.place(cell);
        let compares = tree.called(at).is_some_and(capi::compares_atomically);
        let is_store = matches!(self.atomic(at), Some((Atomic::Store, _)));
        let loops = tree.stmts.iter().filter(|stmt| stmt.kind.is_loop());
        let around: Vec<_> = loops
            .map(|stmt| stmt.range)
            .filter(|range| range.contains(own))
            .collect();
        let is_used = tree.expr_ids().any(|other| {
            let range = tree.expr(other).range;
            let is_before = range.start < own.start || around.iter().any(|all| all.contains(range));
            let used = self
                .atomic(other)
                .filter(|_| is_before && !own.contains(range));
            used.is_some_and(|(how, used)| {
                let is_same = place.is_none() || known.paths.place(used) == place;
                match how {
                    Atomic::Read => is_same && !compares,
                    Atomic::Store => !is_same && is_store,
                    Atomic::Update => false,
                }
            })
        });
        if is_used {
            self.leave_write(cell, at, self.text(cell));
        }
    }

    /// How an expression uses an atomic place, and which.
    fn atomic(&self, expr: ExprId) -> Option<(Atomic, ExprId)> {
        let tree = self.tree();
        match &tree.expr(expr).kind {
            ExprKind::Assign { op, lhs, .. } if self.is_atomic(*lhs) => {
                let how = if op.is_none() {
                    Atomic::Store
                } else {
                    Atomic::Update
                };
                Some((how, *lhs))
            }
            ExprKind::Unary { op, operand } if op.is_step() && self.is_atomic(*operand) => {
                Some((Atomic::Update, *operand))
            }
            ExprKind::Call { args, .. } => {
                let name = tree.called(expr).filter(|name| capi::is_atomic(name))?;
                let place = self.addressed(*args.first()?)?;
                let how = match () {
                    () if capi::stores_atomically(name) => Atomic::Store,
                    () if capi::sets_atomically(name) => Atomic::Update,
                    () => Atomic::Read,
                };
                Some((how, place))
            }
            ExprKind::Name(_) | ExprKind::Member { .. } if self.is_atomic(expr) => {
                let is_read = !self.known.not_read().contains(&expr) && !self.is_stepped(expr);
                is_read.then_some((Atomic::Read, expr))
            }
            _ => None,
        }
    }

    /// Whether an expression is what `x++` or `x += 1` changes.
    fn is_stepped(&self, expr: ExprId) -> bool {
        match self.known.parents().of_expr(expr) {
            Some(Parent::Expr(parent)) => self.tree().changed(parent) == Some(expr),
            _ => false,
        }
    }
}
