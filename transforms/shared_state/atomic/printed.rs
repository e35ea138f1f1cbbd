//! Tests that only decide whether something is printed for whoever looks for a defect.
//!
//! ```c
//! if (verbose)
//!     fprintf(stderr, "%s: %d\\n", name, n);
//! ```
//!
//! Nothing else depends on them, however often the variable changes meanwhile.

use super::uses::Use;
use crate::ast::{ExprId, ExprKind, Name, StmtKind, TokenRange, Tree};
use crate::capi::{compares_text, prints_errors};
use crate::rule::PackageCx;

/// Whether the read is a part of such a test.
pub(super) fn is_printed(cx: &PackageCx<'_>, it: &Use) -> bool {
    let Some(tree) = cx.tree(it.item) else {
        return false;
    };
    let read = tree.expr(it.name).range;
    tree.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::If {
            cond,
            then,
            otherwise: None,
        } => {
            let cond = tree.expr(*cond).range;
            cond.contains(read)
                && only_computes(tree, cond)
                && only_prints(tree, tree.stmt(*then).range)
        }
        _ => false,
    })
}

/// Whether nothing in `range` changes anything.
fn only_computes(tree: &Tree, range: TokenRange) -> bool {
    let mut parts = tree.exprs_in(range);
    parts.all(|(_, expr)| match &expr.kind {
        ExprKind::Assign { .. } | ExprKind::Stmt(_) => false,
        ExprKind::Unary { op, .. } => !op.is_step(),
        ExprKind::Call { callee, .. } => tree.callee_name(*callee).is_some_and(compares_text),
        _ => true,
    })
}

/// Whether all that the statements in `range` do is to print.
fn only_prints(tree: &Tree, range: TokenRange) -> bool {
    let mut stmts = tree.stmts.iter().filter(|it| range.contains(it.range));
    let goes_on = stmts.all(|it| {
        matches!(
            it.kind,
            StmtKind::Null
                | StmtKind::Expr(_)
                | StmtKind::Decl(_)
                | StmtKind::Block(_)
                | StmtKind::If { .. }
                | StmtKind::For { .. }
        )
    });
    let is_own = |place: ExprId| {
        tree.as_local(place).is_some_and(|local| {
            let local = tree.local(local);
            local.is_automatic() && range.contains(local.name_range) && !local.is_param
        })
    };
    let mut parts = tree.exprs_in(range);
    goes_on
        && parts.all(|(_, expr)| match &expr.kind {
            ExprKind::Assign { lhs, .. } => is_own(*lhs),
            ExprKind::Unary { op, operand } if op.is_step() => is_own(*operand),
            ExprKind::Stmt(_) => false,
            ExprKind::Call { callee, args } => {
                let name = tree.callee_name(*callee);
                name.is_some_and(|name| compares_text(name) || prints(tree, name, args))
            }
            _ => true,
        })
}

fn prints(tree: &Tree, name: &str, args: &[ExprId]) -> bool {
    let is_stderr = |at: usize| {
        args.get(at).is_some_and(|&arg| {
            matches!(&tree.expr(arg).kind, ExprKind::Name(Name::Global(name)) if &**name == "stderr")
        })
    };
    prints_errors(name).is_some_and(|stream| stream.is_none_or(is_stderr))
}
