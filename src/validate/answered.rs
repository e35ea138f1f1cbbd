//! A new exit is not put in front of an answer that the function has for the same.
//!
//! ```c
//! item = PyList_GetItemRef(list, i);
//! if (item == NULL) {                           /* takes what follows away */
//!     PyErr_Clear();
//!     break;
//! }
//! if (!item)
//!     return fail(error, "no such item");
//! ```

use super::Failure;
use super::changed::Changed;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, StmtId, StmtKind, Tree, UnaryOp};
use crate::source::ByteSpan;

/// The first such exit of a function.
pub(super) fn failure(changed: Changed<'_>) -> Option<(Option<ByteSpan>, Failure)> {
    let tree = &changed.function.tree;
    let is_new = |stmt: StmtId| changed.is_inserted(tree.stmt(stmt).range.start);
    let pair = |pair: &[StmtId]| {
        let (new, old) = (pair[0], pair[1]);
        let local = leaves_for_null(tree, new)?;
        let is_one = leaves_for_null(tree, old) == Some(local);
        (is_one && is_new(new) && !is_new(old)).then_some(local)
    };
    let mut blocks = tree.stmts.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Block(stmts) => Some(stmts),
        _ => None,
    });
    let local = blocks.find_map(|stmts| stmts.windows(2).find_map(pair))?;
    let (variable, function) = (&tree.local(local).name, &changed.function.name);
    let claim = format!(
        "what `{function}` does where `{variable}` is `NULL` need not be done where the item is not \
         there any more"
    );
    Some((None, Failure::Unknown(claim)))
}

/// The variable of which an `if` asks whether it is `NULL`, and leaves if so.
fn leaves_for_null(tree: &Tree, stmt: StmtId) -> Option<LocalId> {
    match tree.stmt(stmt).kind {
        StmtKind::If {
            cond,
            then,
            otherwise: None,
        } if tree.leaves(then) => asked_for_null(tree, cond),
        _ => None,
    }
}

fn asked_for_null(tree: &Tree, cond: ExprId) -> Option<LocalId> {
    let asked = match tree.expr(tree.without_casts(cond)).kind {
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => operand,
        ExprKind::Binary {
            op: BinaryOp::Equals,
            lhs,
            rhs,
        } if tree.is_null(rhs) => lhs,
        ExprKind::Binary {
            op: BinaryOp::Equals,
            lhs,
            rhs,
        } if tree.is_null(lhs) => rhs,
        _ => return None,
    };
    tree.as_local(tree.without_casts(asked))
}
