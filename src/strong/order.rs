//! What runs in a statement before a lookup, which moves in front of the statement.
//!
//! ```c
//! area = PyFloat_AsDouble(PyList_GetItem(l, 0)) * PyFloat_AsDouble(PyList_GetItem(l, 1));
//!
//! item = PyList_GetItemRef(l, 0);
//! item2 = PyList_GetItemRef(l, 1);       /* C leaves open which operand comes first */
//! area = PyFloat_AsDouble(item) * PyFloat_AsDouble(item2);
//! ```

use std::collections::BTreeSet;

use super::reason::Reason;
use super::scene::Scene;
use super::unchanged::may_change;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Parent, StmtId, Storage};
use crate::capi;
use crate::cfg::{Callee, Instr, InstrKind, Source};

/// Whether `call` always runs in `stmt`, and nothing that matters before it: only what is part of
/// it, or of other lookups that move in front of the statement (`moved`).
///
/// # Errors
/// What runs before it.
pub(super) fn runs_first(
    scene: &Scene<'_>,
    stmt: StmtId,
    call: ExprId,
    moved: &BTreeSet<ExprId>,
) -> Result<(), Reason> {
    if scene.tree.stmt(stmt).kind.is_loop() {
        return Err(Reason::LoopCondition);
    }
    let at = scene.cfg.call(call).ok_or(Reason::Unreachable)?;
    let start = scene.cfg.before(stmt).ok_or(Reason::Unreachable)?;
    if start.block != at.block {
        return Err(Reason::NotEvaluatedFirst("a condition".to_owned()));
    }
    let before = &scene.cfg.block(at.block).instrs[start.index..at.index];
    for instr in before {
        let acts = matches!(
            instr.kind,
            InstrKind::Call { .. } | InstrKind::Store { .. } | InstrKind::Asm
        );
        let moves = |part: ExprId| part == call || moved.contains(&part);
        if acts && !is_inside(scene, instr.source, moves) && !is_unordered(scene, instr, call) {
            return Err(Reason::NotEvaluatedFirst("another part".to_owned()));
        }
    }
    Ok(())
}

/// The function of an operand or argument beside `call` that C may run before it, and that may run
/// Python code.
pub(super) fn overtaken<'a>(scene: &Scene<'a>, stmt: StmtId, call: ExprId) -> Option<&'a str> {
    let (start, at) = (scene.cfg.before(stmt)?, scene.cfg.call(call)?);
    let before = scene
        .cfg
        .block(at.block)
        .instrs
        .get(start.index..at.index)?;
    let beside = before.iter().filter(|step| is_unordered(scene, step, call));
    let mut names = beside.filter_map(|step| match &step.kind {
        InstrKind::Call {
            callee: Callee::Named(name),
            ..
        } => Some(&**name),
        _ => None,
    });
    names.find(|name| capi::effects(name).is_some_and(|effects| effects.runs_python))
}

/// Whether C leaves open if the step runs before `call`, and neither sees the other: `out[n++] =
/// call(d)` counts a variable of the function on the other side of the assignment.
fn is_unordered(scene: &Scene<'_>, step: &Instr, call: ExprId) -> bool {
    let is_own = |local: LocalId| {
        let is_static = scene.tree.local(local).storage == Storage::Static;
        !is_static && scene.cfg.addressing(local).next().is_none()
    };
    match (&step.kind, step.source) {
        (InstrKind::Store { place, .. }, source) => {
            is_in_target(scene, source, call) && place.as_local().is_some_and(is_own)
        }
        (InstrKind::Call { callee, .. }, Source::Expr(other)) => {
            let is_quiet = matches!(callee, Callee::Named(name) if is_quiet(scene, name));
            is_quiet && are_beside(scene, other, call)
        }
        _ => false,
    }
}

/// Whether the step is part of what is assigned to, and `call` of the value.
fn is_in_target(scene: &Scene<'_>, step: Source, call: ExprId) -> bool {
    let mut at = call;
    while let Some(Parent::Expr(outer)) = scene.parent_of_expr(at) {
        if let ExprKind::Assign { lhs, rhs, .. } = scene.tree.expr(outer).kind
            && rhs == at
            && is_inside(scene, step, |part| part == lhs)
        {
            return true;
        }
        at = outer;
    }
    false
}

/// Whether the function `name` of the C API does nothing but make an object, or ask one for its
/// value: an `__index__` or `__float__` is taken to leave lists and dicts alone.
pub(super) fn is_quiet(scene: &Scene<'_>, name: &str) -> bool {
    let Some(effects) = capi::effects(name) else {
        return false;
    };
    let leaves_alone = effects.steals.is_empty() && effects.outs.is_empty();
    let is_bound = capi::detaches(name) || capi::attaches(name);
    leaves_alone && !is_bound && (capi::converts(name) || !may_change(scene.cx, name))
}

/// Whether two expressions are parts of operands or arguments between which C knows no order.
fn are_beside(scene: &Scene<'_>, one: ExprId, other: ExprId) -> bool {
    let outer: BTreeSet<ExprId> = around(scene, one).collect();
    let Some(meet) = around(scene, other).find(|it| outer.contains(it)) else {
        return false;
    };
    let is_ordered = match scene.tree.expr(meet).kind {
        ExprKind::Binary { op, .. } => matches!(
            op,
            BinaryOp::LogicalAnd | BinaryOp::LogicalOr | BinaryOp::Comma
        ),
        ExprKind::Call { .. } | ExprKind::Index { .. } | ExprKind::Assign { .. } => false,
        _ => true,
    };
    meet != one && meet != other && !is_ordered
}

/// Whether the step is made by an expression of this kind, or inside of one.
fn is_inside(scene: &Scene<'_>, source: Source, kind: impl Fn(ExprId) -> bool) -> bool {
    match source {
        Source::Expr(expr) => around(scene, expr).any(kind),
        Source::Stmt(_) => false,
    }
}

/// Whether `part` is `whole` or a part of it.
pub(super) fn is_within(scene: &Scene<'_>, part: ExprId, whole: ExprId) -> bool {
    around(scene, part).any(|it| it == whole)
}

/// An expression and those around it, innermost first.
fn around<'s>(scene: &'s Scene<'_>, expr: ExprId) -> impl Iterator<Item = ExprId> + 's {
    std::iter::successors(Some(expr), |&at| match scene.parent_of_expr(at)? {
        Parent::Expr(outer) => Some(outer),
        Parent::Stmt(_) => None,
    })
}
