//! Tests for `NULL` right behind a call.

use super::NullCheck;
use super::create::is_declaration;
use super::symbols::designation;
use crate::ast::{BinaryOp, ExprId, ExprKind, StmtId, StmtKind, Tree, UnaryOp};

/// What the statement `stmt` says of `target` being `NULL`.
pub(super) fn check(tree: &Tree, stmt: StmtId, target: &str) -> NullCheck {
    let inner = unwrap_do(tree, stmt);
    let StmtKind::If {
        cond,
        then,
        otherwise,
    } = tree.stmt(inner).kind
    else {
        return NullCheck::None;
    };
    let test = Test { tree, target };
    if otherwise.is_none() && leaves(tree, then, 0) && test.holds_if(cond, true, 0) {
        return NullCheck::Leaves(stmt);
    }
    match &tree.stmt(then).kind {
        StmtKind::Block(stmts) if test.holds_if(cond, false, 0) => {
            let first = stmts.iter().find(|&&stmt| !is_declaration(tree, stmt));
            first.map_or(NullCheck::None, |&first| NullCheck::Inside(first))
        }
        _ => NullCheck::None,
    }
}

/// The `if` of `do { if (…) … } while (0)`.
fn unwrap_do(tree: &Tree, stmt: StmtId) -> StmtId {
    match &tree.stmt(stmt).kind {
        StmtKind::DoWhile { body, .. } => match &tree.stmt(*body).kind {
            StmtKind::Block(stmts) if stmts.len() == 1 => stmts[0],
            _ => stmt,
        },
        _ => stmt,
    }
}

/// Whether control never comes out behind `stmt`.
fn leaves(tree: &Tree, stmt: StmtId, depth: u32) -> bool {
    match &tree.stmt(stmt).kind {
        _ if depth > 16 => false,
        StmtKind::Return(_) | StmtKind::Goto(_) => true,
        StmtKind::Block(stmts) => {
            let last = stmts
                .iter()
                .rfind(|&&stmt| !matches!(tree.stmt(stmt).kind, StmtKind::Null));
            last.is_some_and(|&last| leaves(tree, last, depth + 1))
        }
        StmtKind::DoWhile { body, .. } => leaves(tree, *body, depth + 1),
        StmtKind::Expr(expr) => match &tree.expr(*expr).kind {
            ExprKind::Call { callee, .. } => tree
                .callee_name(*callee)
                .is_some_and(|name| matches!(name, "Py_FatalError" | "abort" | "exit")),
            _ => false,
        },
        _ => false,
    }
}

/// A condition about one variable.
struct Test<'t> {
    tree: &'t Tree,
    target: &'t str,
}

impl Test<'_> {
    /// With `null`: whether the condition is true whenever the target is `NULL`. Without: whether
    /// the target is not `NULL` whenever the condition is true.
    fn holds_if(&self, cond: ExprId, null: bool, depth: u32) -> bool {
        let inner = |expr: ExprId| depth < 16 && self.holds_if(expr, null, depth + 1);
        match &self.tree.expr(cond).kind {
            ExprKind::Unary {
                op: UnaryOp::Not,
                operand,
            } => null && self.is_target(*operand),
            ExprKind::Binary {
                op: BinaryOp::Equals,
                lhs,
                rhs,
            } => null && self.is_pair(*lhs, *rhs),
            ExprKind::Binary {
                op: BinaryOp::NotEquals,
                lhs,
                rhs,
            } => !null && self.is_pair(*lhs, *rhs),
            // `!m || !n` is true whenever one side is; `m && n` is false whenever one side is.
            ExprKind::Binary {
                op: BinaryOp::LogicalOr,
                lhs,
                rhs,
            } if null => inner(*lhs) || inner(*rhs),
            ExprKind::Binary {
                op: BinaryOp::LogicalAnd,
                lhs,
                rhs,
            } if !null => inner(*lhs) || inner(*rhs),
            // unlikely(m == NULL)
            ExprKind::Call { callee, args } => {
                let name = self.tree.callee_name(*callee).unwrap_or_default();
                let is_hint =
                    name.to_ascii_lowercase().contains("likely") || name == "__builtin_expect";
                is_hint && args.first().is_some_and(|&arg| inner(arg))
            }
            _ => !null && self.is_target(cond),
        }
    }

    fn is_pair(&self, lhs: ExprId, rhs: ExprId) -> bool {
        (self.is_target(lhs) && self.tree.is_null(rhs))
            || (self.tree.is_null(lhs) && self.is_target(rhs))
    }

    fn is_target(&self, expr: ExprId) -> bool {
        let expr = self.tree.without_casts(expr);
        let place = match self.tree.expr(expr).kind {
            ExprKind::Assign { lhs, rhs, .. } => return self.is_target(lhs) || self.is_target(rhs),
            _ => expr,
        };
        designation(self.tree, place).is_some_and(|name| name == self.target)
    }
}
