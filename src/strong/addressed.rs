//! Calls that store to variables through their addresses, and read nothing there.
//!
//! ```c
//! if (!PyArg_ParseTuple(v, "Oi", &object, &size))  /* whatever `object` pointed at before is over */
//!     goto error;                                  /* … or not read any more */
//! ```

use super::exits::branch::is_same;
use super::scene::Scene;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, StmtKind, UnaryOp};
use crate::capi::overwrites;
use crate::cfg::{Instr, InstrKind, Liveness, Operand, Outs, Point, Terminator};

/// The liveness of variables where such calls are known; `None` if there are none.
pub(super) fn liveness_with_outs<'a>(scene: &Scene<'a>) -> Option<Liveness<'a>> {
    let exprs = scene.tree.expr_ids();
    let mut all: Vec<Out> = exprs.flat_map(|call| outs(scene, call)).collect();
    let stored = all.iter().map(|out| (out.at, out.local)).collect();
    // A call that fails overwrites nothing: it is one behind whose failure nobody reads the variable.
    // If that holds for each as long as all others overwrite theirs, it holds for all.
    all.retain(|out| out.is_always);
    loop {
        let liveness = Liveness::with_outs(
            scene.cfg,
            scene.tree.locals.len(),
            Outs {
                stored: Clone::clone(&stored),
                overwritten: all.iter().map(|out| (out.at, out.local)).collect(),
            },
        );
        let before = all.len();
        all.retain(|out| out.is_sure || !is_read_on_failure(scene, &liveness, out));
        if all.len() == before {
            return Some(liveness).filter(|_| !stored.is_empty());
        }
    }
}

/// A variable whose address a call gets.
struct Out {
    at: Point,
    local: LocalId,
    /// Whether the call overwrites it wherever it succeeds.
    is_always: bool,
    /// What the call gives where it fails.
    failed: i64,
    /// Whether it does not fail here.
    is_sure: bool,
}

fn outs(scene: &Scene<'_>, call: ExprId) -> Vec<Out> {
    let (Some((name, args)), Some(at)) = (scene.call(call), scene.cfg.call(call)) else {
        return Vec::new();
    };
    let format = |at: usize| scene.tree.as_string(*args.get(at)?);
    let is_bytes = name == "PyBytes_AsStringAndSize";
    let is_sure = is_bytes && args.first().is_some_and(|&it| is_checked(scene, call, it));
    let found = args.iter().enumerate().filter_map(|(arg, &out)| {
        Some(Out {
            at,
            local: scene.tree.as_address(out)?,
            is_always: if is_bytes {
                arg > 0
            } else {
                overwrites(name, arg, format)?
            },
            failed: if is_bytes { -1 } else { 0 },
            is_sure,
        })
    });
    found.collect()
}

/// Whether the variable may be read where the call failed, or the code does not ask for that at once.
fn is_read_on_failure(scene: &Scene<'_>, liveness: &Liveness<'_>, out: &Out) -> bool {
    let block = scene.cfg.block(out.at.block);
    let (
        [
            Instr {
                kind: InstrKind::Call { dst, .. },
                ..
            },
        ],
        Terminator::Branch {
            condition,
            then,
            otherwise,
        },
    ) = (&block.instrs[out.at.index..], &block.terminator)
    else {
        return true;
    };
    let number = match condition.rhs {
        Operand::Int(number) => number,
        Operand::Null => 0,
        _ => return true,
    };
    let target = match condition.comparison.holds(out.failed, number) {
        true => then,
        false => otherwise,
    };
    condition.lhs != Operand::Temp(*dst) || liveness.is_live_into(out.local, *target)
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
            asks_for_bytes(scene, cond, object) && scene.tree.leaves(then)
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
