//! Loops that give back the elements of an array below one that was not made.
//!
//! ```c
//! for (j = 0; j < i; j++)               /* or: while (--i >= 0) */
//!     Py_DECREF(items[j]);
//! ```

use super::{BinaryOp, ExprId, ExprKind, LocalId, StmtId, StmtKind, Tree, UnaryOp};

/// A loop that comes to the elements below an index only.
pub struct Below {
    /// The variable that counts.
    pub index: LocalId,
    /// Names the index that the elements are below.
    pub end: ExprId,
    /// What sets the variable first.
    pub init: Option<StmtId>,
}

impl Below {
    /// `stmt` as such a loop, whatever it does.
    #[must_use]
    pub fn of(tree: &Tree, stmt: StmtId) -> Option<Self> {
        match tree.stmt(stmt).kind {
            StmtKind::For {
                init: Some(init),
                cond: Some(cond),
                step: Some(step),
                ..
            } => Self::up(tree, init, cond, step),
            StmtKind::While { cond, .. } => Self::down(tree, cond),
            _ => None,
        }
    }

    /// `for (j = 0; j < i; j++)`
    fn up(tree: &Tree, init: StmtId, cond: ExprId, step: ExprId) -> Option<Self> {
        let ExprKind::Binary {
            op: BinaryOp::Less,
            lhs,
            rhs,
        } = tree.expr(cond).kind
        else {
            return None;
        };
        let index = tree.as_local(lhs)?;
        let is_it = |place: ExprId| tree.as_local(place) == Some(index);
        let counts = tree.changed(step).is_some_and(is_it);
        let starts = match &tree.stmt(init).kind {
            StmtKind::Expr(expr) => match tree.expr(*expr).kind {
                ExprKind::Assign { op: None, lhs, .. } => is_it(lhs),
                _ => false,
            },
            StmtKind::Decl(decls) => matches!(&decls[..], [decl] if decl.local == index),
            _ => false,
        };
        let is_apart = tree.as_local(rhs)? != index;
        (counts && starts && is_apart).then_some(Self {
            index,
            end: rhs,
            init: Some(init),
        })
    }

    /// `while (--i >= 0)`, `while (i-- > 0)`, `while (i--)`
    fn down(tree: &Tree, cond: ExprId) -> Option<Self> {
        let (counted, first) = match tree.expr(cond).kind {
            ExprKind::Binary { op, lhs, rhs } if tree.is_null(rhs) => match op {
                BinaryOp::GreaterOrEqual => (lhs, UnaryOp::PreDecrement),
                BinaryOp::Greater => (lhs, UnaryOp::PostDecrement),
                _ => return None,
            },
            _ => (cond, UnaryOp::PostDecrement),
        };
        match tree.expr(counted).kind {
            ExprKind::Unary { op, operand } if op == first => Some(Self {
                index: tree.as_local(operand)?,
                end: operand,
                init: None,
            }),
            _ => None,
        }
    }

    /// The array of which `place` is an element that the loop comes to: `items` of `items[j]`.
    #[must_use]
    pub fn array(&self, tree: &Tree, place: ExprId) -> Option<LocalId> {
        let (array, index) = element(tree, place)?;
        (tree.as_local(index) == Some(self.index)).then_some(array)
    }

    /// Whether `place` is the element that the others are below, `items[i]`; `is_same` compares two
    /// expressions.
    #[must_use]
    pub fn is_end(
        &self,
        tree: &Tree,
        place: ExprId,
        is_same: impl Fn(ExprId, ExprId) -> bool,
    ) -> bool {
        let end = element(tree, place);
        end.is_some_and(|(_, index)| is_same(index, self.end))
    }
}

/// The array and the index of an element.
#[must_use]
pub fn element(tree: &Tree, place: ExprId) -> Option<(LocalId, ExprId)> {
    match tree.expr(place).kind {
        ExprKind::Index { base, index } => Some((tree.as_local(base)?, index)),
        _ => None,
    }
}
