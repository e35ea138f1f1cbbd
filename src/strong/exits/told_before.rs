//! Loops whose end the function has told its caller before: one that leaves early must not keep that
//! to itself.
//!
//! ```c
//! out->count = PyList_GET_SIZE(list);
//! for (i = 0; i < out->count; i++)
//!     out->numbers[i] = PyFloat_AsDouble(PyList_GET_ITEM(list, i));
//! ```

use super::bound::{inside, loop_around, mentions};
use super::branch::is_same;
use super::undone::is_outside;
use crate::ast::{ExprId, ExprKind, Parent, StmtId, StmtKind, TokenRange, UnaryOp};
use crate::strong::scene::Scene;

/// What tells others up to which number the loop around `call` sets elements that they have.
pub(super) fn told_before(scene: &Scene<'_>, call: ExprId) -> Option<StmtId> {
    let (outer, cond, body) = loop_around(scene, call)?;
    let within = scene.tree.stmt(outer).range;
    let asked = |value: ExprId| {
        let mut parts = inside(scene, scene.tree.expr(cond).range);
        let is_plain = matches!(scene.tree.expr(value).kind, ExprKind::Int(_));
        let is_it = |place| is_same(scene, place, value);
        let mut changed = inside(scene, within).filter_map(|(it, _)| scene.tree.changed(it));
        !is_plain && parts.any(|(part, _)| is_it(part)) && !changed.any(is_it)
    };
    let tells = |&expr: &ExprId| {
        let ExprKind::Assign { op: None, lhs, rhs } = scene.tree.expr(expr).kind else {
            return false;
        };
        scene.tree.expr(expr).range.end <= within.start
            && is_outside(scene, lhs)
            && (asked(lhs) || asked(scene.tree.without_casts(rhs)))
    };
    if !fills(scene, body) {
        return None;
    }
    scene.stmt_of(scene.tree.expr_ids().find(tells)?)
}

/// Whether a loop sets elements of an array that others have: `out[i] = x`, `*out++ = x`, and not
/// `*sum += x`.
pub(super) fn fills(scene: &Scene<'_>, body: StmtId) -> bool {
    let within = scene.tree.stmt(body).range;
    let changed = || inside(scene, within).filter_map(|(expr, _)| scene.tree.changed(expr));
    let moves = |pointer: ExprId| match scene.as_local(pointer) {
        Some(_) => changed().any(|place| is_same(scene, place, pointer)),
        None => true,
    };
    let is_one_of_many = |place: ExprId| match scene.tree.expr(place).kind {
        ExprKind::Unary { operand, .. } => moves(operand),
        _ => true,
    };
    changed()
        .any(|place| is_element(scene, place) && !is_own(scene, place) && is_one_of_many(place))
}

/// Whether code after the token `end` returns what a variable holds, stores it for others, or hands it
/// to a call. A field is there for others in any case.
pub(super) fn is_told_after(scene: &Scene<'_>, place: ExprId, end: u32) -> bool {
    if scene.as_local(place).is_none() {
        return true;
    }
    let rest = TokenRange {
        start: end,
        end: scene.tree.stmt(scene.function.body).range.end,
    };
    mentions(scene, place, rest).any(|mention| {
        let mut at = mention;
        loop {
            match scene.parent_of_expr(at) {
                Some(Parent::Expr(outer)) => match scene.tree.expr(outer).kind {
                    ExprKind::Call { .. } => return true,
                    ExprKind::Assign { lhs, .. } if lhs != at => {
                        return is_outside(scene, lhs);
                    }
                    ExprKind::Index { index, .. } if index == at => return false,
                    _ => at = outer,
                },
                Some(Parent::Stmt(stmt)) => {
                    return matches!(scene.tree.stmt(stmt).kind, StmtKind::Return(_));
                }
                None => return false,
            }
        }
    })
}

fn is_element(scene: &Scene<'_>, place: ExprId) -> bool {
    matches!(
        scene.tree.expr(place).kind,
        ExprKind::Index { .. }
            | ExprKind::Unary {
                op: UnaryOp::Deref,
                ..
            }
    )
}

/// Whether a place is an element of an array of the function.
fn is_own(scene: &Scene<'_>, place: ExprId) -> bool {
    match scene.tree.expr(place).kind {
        ExprKind::Index { base, .. } => scene.as_local(base).is_some_and(|local| {
            let variable = scene.tree.local(local);
            !variable.is_param && variable.ty.pointee().is_none()
        }),
        _ => false,
    }
}
