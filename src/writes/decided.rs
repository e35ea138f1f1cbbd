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
//! to may be several. A value that is more than shown decides something, here or in the caller, and may
//! be another one by then:
//!
//! ```c
//! if (atomic_load(&exports) > 0) { …; return NULL; }
//! munmap(self->data, self->n);                  /* somebody has exported it since */
//! ```

use std::rc::Rc;

use crate::ast::{ExprId, ExprKind, Parent};
use crate::capi;

use super::Why;
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
                    // if (atomic_fetch_add(&n, 1) > 8) atomic_store(&n, 0);
                    Atomic::Update => {
                        let outer = known.parents().of_expr(other);
                        is_same && is_store && matches!(outer, Some(Parent::Expr(_)))
                    }
                }
            })
        });
        if is_used {
            self.leave_write(cell, at, self.text(cell));
        }
    }

    /// Names a read of an atomic place which is not just shown.
    pub(super) fn check_atomic_read(&mut self, at: ExprId) {
        let Some((Atomic::Read, cell)) = self.atomic(at) else {
            return;
        };
        let is_shared = self.place(cell).memory.points.is_open();
        // What a helper gives, its caller may count on.
        let is_shown = !self.walk.is_helper(self.function) && self.is_shown_only(at);
        if is_shared && !is_shown && !self.is_compared(cell) {
            self.walk
                .leave(self.item, at, self.text(cell), Why::Decides);
        }
    }

    /// Whether a number becomes an object or a text, and nothing else: `PyLong_FromLong(hits)`.
    fn is_shown_only(&self, mut at: ExprId) -> bool {
        let tree = self.tree();
        loop {
            let Some(Parent::Expr(outer)) = self.known.parents().of_expr(at) else {
                return false;
            };
            match &tree.expr(outer).kind {
                ExprKind::Cast { .. } => at = outer,
                ExprKind::Call { args, .. } if args.contains(&at) => {
                    return tree.called(outer).is_some_and(capi::shows_number);
                }
                _ => return false,
            }
        }
    }

    /// Whether the function exchanges the place only if it is as it was read.
    fn is_compared(&self, cell: ExprId) -> bool {
        let tree = self.tree();
        let place = self.known.paths.place(cell);
        let mut calls = tree.calls();
        place.is_some()
            && calls.any(|(call, name)| {
                let args = tree.call(call).map_or(&[][..], |(_, args)| args);
                let exchanged = args.first().and_then(|&arg| self.addressed(arg));
                capi::compares_atomically(name)
                    && exchanged.is_some_and(|it| self.known.paths.place(it) == place)
            })
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
