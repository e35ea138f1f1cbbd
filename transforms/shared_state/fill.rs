//! What stands in the branch that fills a static pointer.

use crate::ast::{BinaryOp, ExprId, ExprKind, Name, StmtId, StmtKind, Storage, Tree, UnaryOp};
use crate::state::{Variable, root};

/// The branch behind `if (x == NULL)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    /// `x = value;` and nothing else.
    Plain(StmtId),
    /// `x = value;` and a test of what came of it.
    Checked(StmtId),
    /// `if ((x = value) == NULL) return NULL;`
    Tested {
        /// That statement.
        stmt: StmtId,
        /// `x = value`
        assignment: ExprId,
        /// The condition.
        cond: ExprId,
    },
    /// `x = value;` with other assignments: `y = other;`.
    Several(StmtId),
}

impl Fill {
    /// Reads the branch `then`, in which `write` fills `variable`; `None` if it does more.
    pub(super) fn read(
        tree: &Tree,
        then: StmtId,
        write: ExprId,
        variable: &Variable,
    ) -> Option<Self> {
        let is_fill =
            |stmt: StmtId| matches!(tree.stmt(stmt).kind, StmtKind::Expr(expr) if expr == write);
        let stmts = match &tree.stmt(then).kind {
            StmtKind::Block(stmts) => stmts.as_slice(),
            _ => &[then],
        };
        match stmts {
            [fill] if is_fill(*fill) => Some(Self::Plain(*fill)),
            [stmt] => Self::tested(tree, *stmt, write),
            [fill, check] if is_fill(*fill) && is_check(tree, *check, variable) => {
                Some(Self::Checked(*fill))
            }
            all => {
                let fill = all.iter().copied().find(|stmt| is_fill(*stmt))?;
                let assigns = |stmt: &StmtId| is_assignment(tree, *stmt);
                all.iter().all(assigns).then_some(Self::Several(fill))
            }
        }
    }

    fn tested(tree: &Tree, stmt: StmtId, write: ExprId) -> Option<Self> {
        let StmtKind::If {
            cond,
            otherwise: None,
            ..
        } = tree.stmt(stmt).kind
        else {
            return None;
        };
        (tested(tree, cond) == Some(write)).then_some(Self::Tested {
            stmt,
            assignment: write,
            cond,
        })
    }

    /// The statement that holds the assignment.
    pub(super) fn stmt(self) -> StmtId {
        match self {
            Self::Plain(stmt)
            | Self::Checked(stmt)
            | Self::Several(stmt)
            | Self::Tested { stmt, .. } => stmt,
        }
    }
}

/// `if (x == NULL) …`
fn is_check(tree: &Tree, stmt: StmtId, variable: &Variable) -> bool {
    match tree.stmt(stmt).kind {
        StmtKind::If {
            cond,
            otherwise: None,
            ..
        } => is_empty_test(tree, cond, variable),
        _ => false,
    }
}

/// `y = value;` with a variable of file or program scope.
fn is_assignment(tree: &Tree, stmt: StmtId) -> bool {
    let StmtKind::Expr(expr) = tree.stmt(stmt).kind else {
        return false;
    };
    match tree.expr(expr).kind {
        ExprKind::Assign { op: None, lhs, .. } => match &tree.expr(lhs).kind {
            ExprKind::Name(Name::Global(_)) => true,
            ExprKind::Name(Name::Local(local)) => tree.local(*local).storage == Storage::Static,
            _ => false,
        },
        _ => false,
    }
}

/// `x == NULL`, `NULL == x`, `!x`.
pub(super) fn is_empty_test(tree: &Tree, cond: ExprId, variable: &Variable) -> bool {
    tested(tree, cond).is_some_and(|expr| is_variable(tree, expr, variable))
}

/// What a condition finds empty.
pub(super) fn tested(tree: &Tree, cond: ExprId) -> Option<ExprId> {
    match &tree.expr(cond).kind {
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => Some(*operand),
        ExprKind::Binary {
            op: BinaryOp::Equals,
            lhs,
            rhs,
        } => match (tree.is_null(*lhs), tree.is_null(*rhs)) {
            (false, true) => Some(*lhs),
            (true, false) => Some(*rhs),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn is_variable(tree: &Tree, expr: ExprId, variable: &Variable) -> bool {
    match (root(tree, expr), variable.local) {
        (Some((Name::Local(local), _)), Some(own)) => *local == own,
        (Some((Name::Global(name), _)), None) => **name == *variable.name,
        _ => false,
    }
}
