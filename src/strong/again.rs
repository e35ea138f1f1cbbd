//! Lookups that a statement makes again: what the first one gave serves for all of them.
//!
//! ```c
//! if (!PyLong_Check(PyList_GetItem(l, i)) && !PyFloat_Check(PyList_GetItem(l, i)))
//!
//! item = PyList_GetItemRef(l, i);
//! if (!PyLong_Check(item) && !PyFloat_Check(item))
//! ```
//!
//! Nothing in between may change what is looked up, or where.

use std::collections::BTreeMap;

use super::order::{is_quiet, is_within};
use super::scene::Scene;
use crate::ast::{BinaryOp, ExprId, ExprKind, Parent, UnaryOp};
use crate::capi::replacement;

impl Scene<'_> {
    /// The lookups that repeat an earlier one of their statement, with the first of these.
    pub(super) fn repeats(&self) -> &BTreeMap<ExprId, ExprId> {
        self.repeats.get_or_init(|| repeats(self))
    }

    /// Whether the statement of the lookup `call` makes it again.
    pub(super) fn is_repeated(&self, call: ExprId) -> bool {
        self.repeats().values().any(|first| *first == call)
    }
}

fn repeats(scene: &Scene<'_>) -> BTreeMap<ExprId, ExprId> {
    let calls = scene.tree.calls();
    let calls = calls.filter(|(_, name)| replacement(name).is_some());
    let mut calls: Vec<ExprId> = calls.map(|(call, _)| call).collect();
    calls.sort_by_key(|&call| scene.tree.expr(call).range.start);
    let repeats = calls.iter().enumerate().filter_map(|(at, &call)| {
        let mut before = calls[..at].iter();
        let first = before.find(|&&first| is_repeated(scene, first, call))?;
        Some((call, *first))
    });
    repeats.collect()
}

/// Whether `again`, behind `first` in the same statement, gives the same object.
fn is_repeated(scene: &Scene<'_>, first: ExprId, again: ExprId) -> bool {
    let text = |call| scene.written(call).map(|span| scene.text(span));
    scene.stmt_of(first) == scene.stmt_of(again)
        && text(first).is_some_and(|first| Some(first) == text(again))
        && stays(scene, first, again)
}

/// Whether nothing in the statement of `first` changes what that gives before `again` runs.
fn stays(scene: &Scene<'_>, first: ExprId, again: ExprId) -> bool {
    let stmt = scene.stmt_of(first);
    let exprs = scene.tree.expr_ids();
    let mut before = exprs.filter(|&it| {
        scene.stmt_of(it) == stmt && !is_within(scene, again, it) && !is_later(scene, again, it)
    });
    before.all(|it| {
        let pointed_at = match scene.tree.expr(it).kind {
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => Some(operand),
            _ => None,
        };
        let place = scene.tree.changed(it).or(pointed_at);
        let is_apart = place.is_none_or(|place| is_other_name(scene, place, first));
        let is_call = matches!(scene.tree.expr(it).kind, ExprKind::Call { .. });
        let is_block = matches!(scene.tree.expr(it).kind, ExprKind::Stmt(_));
        is_apart && !is_block && (!is_call || leaves_alone(scene, it))
    })
}

/// Whether `other` runs behind `call`, if it runs at all: `PyTuple_Check(call) && use(other)`.
fn is_later(scene: &Scene<'_>, call: ExprId, other: ExprId) -> bool {
    let mut at = call;
    while let Some(Parent::Expr(outer)) = scene.parent_of_expr(at) {
        let is_first = match scene.tree.expr(outer).kind {
            ExprKind::Binary { op, lhs, .. } => {
                matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) && lhs == at
            }
            ExprKind::Conditional { cond, .. } => cond == at,
            _ => false,
        };
        if is_first && is_within(scene, other, outer) && !is_within(scene, other, at) {
            return true;
        }
        at = outer;
    }
    false
}

/// Whether `place` is a name that does not occur in `lookup`.
fn is_other_name(scene: &Scene<'_>, place: ExprId, lookup: ExprId) -> bool {
    let ExprKind::Name(name) = &scene.tree.expr(place).kind else {
        return false;
    };
    let mut exprs = scene.tree.expr_ids();
    exprs.all(|it| {
        let is_it = matches!(&scene.tree.expr(it).kind, ExprKind::Name(other) if other == name);
        !is_it || !is_within(scene, it, lookup)
    })
}

fn leaves_alone(scene: &Scene<'_>, call: ExprId) -> bool {
    let name = scene.call(call).map(|(name, _)| name);
    name.is_some_and(|name| replacement(name).is_some() || is_quiet(scene, name))
}
