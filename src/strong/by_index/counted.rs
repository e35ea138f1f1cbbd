//! Items that get a reference and go somewhere: one read of the sequence for both.
//!
//! ```c
//! Py_INCREF(*items);
//! *to = *items;                    *to = Py_NewRef(PySequence_Fast_GET_ITEM(fast, i));
//! ```

use super::Pointer;
use crate::ast::{ExprId, ExprKind, StmtId, StmtKind};
use crate::strong::exits::branch::is_same;

impl Pointer<'_, '_> {
    /// The statement that takes a reference to what `read` gives, if the next one stores that.
    pub(super) fn counted_next(&self, read: ExprId) -> Option<StmtId> {
        let taker = self.taker(read)?;
        let (stmts, at) = self.scene.siblings(taker)?;
        let stored = self.stored(*stmts.get(at + 1)?)?;
        is_same(self.scene, stored, read).then_some(taker)
    }

    /// Whether the statement in front of the one that stores what `read` gives takes the reference.
    pub(super) fn is_counted_before(&self, read: ExprId) -> bool {
        let scene = self.scene;
        let before = || {
            let stmt = scene.stmt_of(read)?;
            let (stmts, at) = scene.siblings(stmt)?;
            let before = *stmts.get(at.checked_sub(1)?)?;
            let taken = self.taken(before)?;
            let is_it = self.stored(stmt) == Some(read) && self.counted_next(taken) == Some(before);
            is_it.then_some(())
        };
        before().is_some()
    }

    /// The statement `Py_INCREF(read);`.
    fn taker(&self, read: ExprId) -> Option<StmtId> {
        let stmt = self.scene.stmt_of(read)?;
        (self.taken(stmt) == Some(read)).then_some(stmt)
    }

    /// What `stmt` takes a reference to, and does no more.
    fn taken(&self, stmt: StmtId) -> Option<ExprId> {
        let scene = self.scene;
        let StmtKind::Expr(call) = scene.tree.stmt(stmt).kind else {
            return None;
        };
        match scene.call(call) {
            Some(("Py_INCREF", [object])) => Some(scene.tree.without_casts(*object)),
            _ => None,
        }
    }

    /// What the assignment `stmt` stores.
    fn stored(&self, stmt: StmtId) -> Option<ExprId> {
        let scene = self.scene;
        let StmtKind::Expr(assignment) = scene.tree.stmt(stmt).kind else {
            return None;
        };
        match scene.tree.expr(assignment).kind {
            ExprKind::Assign { op: None, rhs, .. } => Some(scene.tree.without_casts(rhs)),
            _ => None,
        }
    }
}
