//! Variables that a call overwrites for sure, through their addresses.
//!
//! ```c
//! if (!PyBytes_Check(v))
//!     goto error;
//! PyBytes_AsStringAndSize(v, &text, &size);       /* whatever `text` pointed at before is over */
//! ```

use super::exits::branch::is_same;
use super::exits::error_value::is_minus_one;
use super::scene::Scene;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, StmtId, StmtKind, UnaryOp};
use crate::cfg::Overwrites;

/// All of them. A call that fails overwrites nothing: it is one whose outcome is asked for, or that
/// does not fail here.
pub(super) fn overwritten(scene: &Scene<'_>) -> Overwrites {
    let exprs = (0u32..).zip(&scene.tree.exprs).map(|(at, _)| ExprId(at));
    let mut overwrites = Overwrites::new();
    for call in exprs {
        if let Some(("PyBytes_AsStringAndSize", [object, outs @ ..])) = scene.call(call)
            && let Some(at) = scene.cfg.call(call)
            && (is_asked(scene, call) || is_checked(scene, call, *object))
        {
            let locals = outs.iter().filter_map(|&out| addressed(scene, out));
            overwrites.extend(locals.map(|local| (at, local)));
        }
    }
    overwrites
}

fn addressed(scene: &Scene<'_>, arg: ExprId) -> Option<LocalId> {
    match scene.tree.expr(arg).kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => scene.as_local(operand),
        _ => None,
    }
}

/// Whether the code leaves right behind `call` where that fails.
fn is_asked(scene: &Scene<'_>, call: ExprId) -> bool {
    let stmt = scene.stmt_of(call).map(|stmt| &scene.tree.stmt(stmt).kind);
    match stmt {
        Some(StmtKind::If { cond, then, .. }) => {
            asks_for_failure(scene, *cond, call) && leaves(scene, *then)
        }
        _ => false,
    }
}

/// Whether `cond` holds wherever `call`, a part of it, gives -1.
fn asks_for_failure(scene: &Scene<'_>, cond: ExprId, call: ExprId) -> bool {
    match scene.tree.expr(cond).kind {
        ExprKind::Binary { op, lhs, rhs } => match op {
            BinaryOp::LogicalOr => {
                asks_for_failure(scene, lhs, call) || asks_for_failure(scene, rhs, call)
            }
            BinaryOp::Less | BinaryOp::NotEquals => lhs == call && scene.is_null(rhs),
            BinaryOp::Equals => {
                let is_error = |value| is_minus_one(scene, value);
                (lhs == call && is_error(rhs)) || (rhs == call && is_error(lhs))
            }
            _ => false,
        },
        _ => cond == call,
    }
}

/// Whether the block of `call` is left before it where `object` is no `bytes`.
fn is_checked(scene: &Scene<'_>, call: ExprId, object: ExprId) -> bool {
    let stmt = scene.stmt_of(call);
    let Some((stmts, at)) = stmt.and_then(|stmt| scene.siblings(stmt)) else {
        return false;
    };
    let Some(local) = scene.as_local(object) else {
        return false;
    };
    let before = stmts[..at].iter().rev();
    let mut since = before.take_while(|&&stmt| !scene.sets(local, scene.tree.stmt(stmt).range));
    since.any(|&stmt| match scene.tree.stmt(stmt).kind {
        StmtKind::If { cond, then, .. } => {
            asks_for_bytes(scene, cond, object) && leaves(scene, then)
        }
        _ => false,
    })
}

/// Whether `cond` holds wherever `object` is no `bytes`.
fn asks_for_bytes(scene: &Scene<'_>, cond: ExprId, object: ExprId) -> bool {
    match scene.tree.expr(cond).kind {
        ExprKind::Binary {
            op: BinaryOp::LogicalOr,
            lhs,
            rhs,
        } => asks_for_bytes(scene, lhs, object) || asks_for_bytes(scene, rhs, object),
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => match scene.call(operand) {
            Some(("PyBytes_Check" | "PyBytes_CheckExact", [arg])) => is_same(scene, *arg, object),
            _ => false,
        },
        _ => false,
    }
}

/// Whether `branch` ends in a jump.
fn leaves(scene: &Scene<'_>, branch: StmtId) -> bool {
    match &scene.tree.stmt(branch).kind {
        StmtKind::Block(stmts) => stmts.last().is_some_and(|&last| leaves(scene, last)),
        StmtKind::Return(_) | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue => true,
        _ => false,
    }
}
