//! Loops that give back the elements of an array below one that was not made.
//!
//! ```c
//! for (j = 0; j < i; j++)               /* or: while (--i >= 0) */
//!     Py_DECREF(items[j]);
//! ```

use super::branch::is_same;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, StmtId, StmtKind, UnaryOp};
use crate::strong::scene::Scene;

/// A loop that comes to the elements below an index only.
pub(super) struct Below {
    /// The variable that counts.
    pub index: LocalId,
    /// Names the index that the elements are below.
    pub end: ExprId,
    /// What sets the variable first.
    pub init: Option<StmtId>,
}

impl Below {
    /// `stmt` as such a loop, whatever it does.
    pub(super) fn of(scene: &Scene<'_>, stmt: StmtId) -> Option<Self> {
        match scene.tree.stmt(stmt).kind {
            StmtKind::For {
                init: Some(init),
                cond: Some(cond),
                step: Some(step),
                ..
            } => Self::up(scene, init, cond, step),
            StmtKind::While { cond, .. } => Self::down(scene, cond),
            _ => None,
        }
    }

    /// `for (j = 0; j < i; j++)`
    fn up(scene: &Scene<'_>, init: StmtId, cond: ExprId, step: ExprId) -> Option<Self> {
        let ExprKind::Binary {
            op: BinaryOp::Less,
            lhs,
            rhs,
        } = scene.tree.expr(cond).kind
        else {
            return None;
        };
        let index = scene.as_local(lhs)?;
        let is_it = |place: ExprId| scene.as_local(place) == Some(index);
        let counts = scene.tree.changed(step).is_some_and(is_it);
        let starts = match &scene.tree.stmt(init).kind {
            StmtKind::Expr(expr) => match scene.tree.expr(*expr).kind {
                ExprKind::Assign { op: None, lhs, .. } => is_it(lhs),
                _ => false,
            },
            StmtKind::Decl(decls) => matches!(&decls[..], [decl] if decl.local == index),
            _ => false,
        };
        let is_apart = scene.as_local(rhs)? != index;
        (counts && starts && is_apart).then_some(Self {
            index,
            end: rhs,
            init: Some(init),
        })
    }

    /// `while (--i >= 0)`, `while (i-- > 0)`, `while (i--)`
    fn down(scene: &Scene<'_>, cond: ExprId) -> Option<Self> {
        let (counted, first) = match scene.tree.expr(cond).kind {
            ExprKind::Binary { op, lhs, rhs } if scene.is_null(rhs) => match op {
                BinaryOp::GreaterOrEqual => (lhs, UnaryOp::PreDecrement),
                BinaryOp::Greater => (lhs, UnaryOp::PostDecrement),
                _ => return None,
            },
            _ => (cond, UnaryOp::PostDecrement),
        };
        match scene.tree.expr(counted).kind {
            ExprKind::Unary { op, operand } if op == first => Some(Self {
                index: scene.as_local(operand)?,
                end: operand,
                init: None,
            }),
            _ => None,
        }
    }

    /// The array of which `place` is an element that the loop comes to: `items` of `items[j]`.
    pub(super) fn array(&self, scene: &Scene<'_>, place: ExprId) -> Option<LocalId> {
        let (array, index) = element(scene, place)?;
        (scene.as_local(index) == Some(self.index)).then_some(array)
    }

    /// Whether `place` is the element that the others are below: `items[i]`.
    pub(super) fn is_end(&self, scene: &Scene<'_>, place: ExprId) -> bool {
        let end = element(scene, place);
        end.is_some_and(|(_, index)| is_same(scene, index, self.end))
    }
}

/// The array and the index of an element.
pub(super) fn element(scene: &Scene<'_>, place: ExprId) -> Option<(LocalId, ExprId)> {
    match scene.tree.expr(place).kind {
        ExprKind::Index { base, index } => Some((scene.as_local(base)?, index)),
        _ => None,
    }
}
