//! Items of a list that are read through a pointer: any change of the list may move them.
//!
//! ```c
//! items = PySequence_Fast_ITEMS(fast);
//! for (i = 0; i < n; i++)
//!     total += PyFloat_AsDouble(items[i]);
//! Py_DECREF(fast);
//! ```
//!
//! No call gives such a pointer and keeps others from changing the list. Those of a tuple stay.

use super::exits::branch::is_same;
use super::item::{WITH_GIL, needs_gil};
use super::scene::{Scene, graph};
use super::snapshot;
use crate::ast::{BinaryOp, ExprId, ExprKind, Init, LocalId, Parent, StmtKind, Storage, UnaryOp};
use crate::capi;
use crate::cfg::Point;
use crate::edit::Fix;
use crate::ownership::summary::Param;
use crate::ownership::track::Callees;
use crate::provenance::Verdict;
use crate::rule::{CallSite, Outcome, PackageCx};

/// The call that gives the pointer.
pub(super) const ITEMS: &str = "PySequence_Fast_ITEMS";

const BY_HAND: &str = "first make a tuple of the list (`PySequence_Tuple`), use the size of the \
                       tuple, and release the tuple after the last use (another thread may change \
                       the list while its items are read through a pointer)";

/// What becomes of `site`, a call of [`ITEMS`].
pub(super) fn outcome(cx: &PackageCx<'_>, site: CallSite) -> Outcome {
    if needs_gil(cx, site) {
        return Outcome::Safe(WITH_GIL.to_owned());
    }
    if let Verdict::Safe(proof) = cx.provenance(site, 0) {
        return Outcome::Safe(proof.sentence);
    }
    match fix(cx, site) {
        Some(fix) => Outcome::Fix(fix),
        None => Outcome::Manual(BY_HAND.to_owned()),
    }
}

fn fix(cx: &PackageCx<'_>, site: CallSite) -> Option<Fix> {
    let function = cx.function(site.item)?;
    let cfg = graph(function);
    let scene = Scene::new(cx, site.item, function, &cfg)?;
    let (_, [sequence]) = scene.call(site.expr)? else {
        return None;
    };
    let sequence = scene.as_local(*sequence)?;
    let items = kept_in(&scene, site.expr)?;
    let uses = Uses {
        scene: &scene,
        ends: releases(&scene, sequence),
    };
    let stays = uses.is_read_only(items);
    snapshot::fix(&scene, site.expr).filter(|_| stays)
}

/// The variable that gets the pointer.
pub(super) fn kept_in(scene: &Scene<'_>, call: ExprId) -> Option<LocalId> {
    let (local, _) = scene.tree.stores().find(|&(_, value)| value == call)?;
    let is_plain = scene.tree.local(local).storage == Storage::None;
    (is_plain && !scene.cfg.address_taken().contains(&local)).then_some(local)
}

/// The points behind the releases of the sequence in `local`.
pub(super) fn releases(scene: &Scene<'_>, local: LocalId) -> Vec<Point> {
    let released = scene
        .tree
        .expr_ids()
        .filter(|&expr| match scene.call(expr) {
            Some(("Py_DECREF" | "Py_XDECREF" | "Py_CLEAR", [object])) => {
                scene.as_local(*object) == Some(local)
            }
            _ => false,
        });
    let points = released.filter_map(|call| scene.cfg.call(call));
    points.map(Point::next).collect()
}

/// What is done with the pointer and with the items.
struct Uses<'s, 'a> {
    scene: &'s Scene<'a>,
    /// Behind the releases of the sequence: nothing is left of the pointer there.
    ends: Vec<Point>,
}

impl Uses<'_, '_> {
    /// Whether nothing is done with the pointer in `local` but reading items, which stay here.
    fn is_read_only(&self, local: LocalId) -> bool {
        let scene = self.scene;
        let is_read = |name: ExprId| match scene.parent_of_expr(name) {
            Some(Parent::Expr(outer)) => match scene.tree.expr(outer).kind {
                ExprKind::Assign { op: None, lhs, rhs } => {
                    lhs == name && (scene.is_null(rhs) || self.is_pointer(rhs))
                }
                ExprKind::Index { base, .. } => base == name && self.stays(outer, &mut Vec::new()),
                ExprKind::Unary {
                    op: UnaryOp::Deref, ..
                } => self.stays(outer, &mut Vec::new()),
                ExprKind::Unary {
                    op: UnaryOp::PostIncrement | UnaryOp::PreIncrement,
                    ..
                } => self.steps_on(outer),
                _ => false,
            },
            _ => false,
        };
        self.is_over(local) && self.names(local).all(is_read)
    }

    /// `items++;`, or `*items++`.
    fn steps_on(&self, step: ExprId) -> bool {
        match self.scene.parent_of_expr(step) {
            Some(Parent::Stmt(_)) => true,
            Some(Parent::Expr(outer)) => match self.scene.tree.expr(outer).kind {
                ExprKind::Unary {
                    op: UnaryOp::Deref, ..
                } => self.stays(outer, &mut Vec::new()),
                ExprKind::Binary {
                    op: BinaryOp::Comma,
                    ..
                } => true,
                _ => false,
            },
            None => false,
        }
    }

    fn is_pointer(&self, value: ExprId) -> bool {
        matches!(self.scene.call(value), Some((ITEMS, _)))
    }

    /// Whether `local` is not read once the sequence is released.
    fn is_over(&self, local: LocalId) -> bool {
        let mut ends = self.ends.iter();
        !ends.any(|&end| self.scene.liveness.is_live(local, end))
    }

    fn names(&self, local: LocalId) -> impl Iterator<Item = ExprId> {
        self.scene
            .tree
            .expr_ids()
            .filter(move |&expr| self.scene.as_local(expr) == Some(local))
    }

    /// Whether an item, the value of `expr`, is used while the sequence is there, and neither
    /// stored nor given back without a reference. `seen` are the variables that are looked at by now.
    fn stays(&self, expr: ExprId, seen: &mut Vec<LocalId>) -> bool {
        self.is_counted(expr) || self.is_used_here(expr, seen)
    }

    /// Whether the function takes a reference to what `expr` names: `Py_INCREF(items[i]);`, or
    /// `Py_INCREF(*items);` for `*items++`.
    fn is_counted(&self, expr: ExprId) -> bool {
        let scene = self.scene;
        let pointer = |expr: ExprId| match scene.tree.expr(expr).kind {
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } => Some(operand),
            _ => None,
        };
        let stepped = pointer(expr).and_then(|step| match scene.tree.expr(step).kind {
            ExprKind::Unary {
                op: UnaryOp::PostIncrement,
                operand,
            } => Some(operand),
            _ => None,
        });
        let is_it = |object: ExprId| match (stepped, pointer(object)) {
            (Some(one), Some(other)) => is_same(scene, one, other),
            _ => is_same(scene, object, expr),
        };
        scene.tree.expr_ids().any(|call| match scene.call(call) {
            Some(("Py_INCREF" | "Py_XINCREF", [object])) => {
                is_it(scene.tree.without_casts(*object))
            }
            _ => false,
        })
    }

    fn is_used_here(&self, expr: ExprId, seen: &mut Vec<LocalId>) -> bool {
        let scene = self.scene;
        let outer = match scene.parent_of_expr(expr) {
            Some(Parent::Expr(outer)) => outer,
            Some(Parent::Stmt(stmt)) => {
                return match &scene.tree.stmt(stmt).kind {
                    StmtKind::Return(_) => false,
                    StmtKind::Decl(decls) => {
                        let is_it = |init: &Option<Init>| matches!(init, Some(Init::Expr(value)) if *value == expr);
                        let decl = decls.iter().find(|decl| is_it(&decl.init));
                        decl.is_some_and(|decl| self.stays_in(decl.local, seen))
                    }
                    _ => true,
                };
            }
            None => return false,
        };
        match scene.tree.expr(outer).kind {
            ExprKind::Cast { .. } => self.stays(outer, seen),
            ExprKind::Call { .. } => self.is_only_used(outer, expr, seen),
            ExprKind::Assign { op: None, lhs, rhs } if rhs == expr => {
                let local = scene.as_local(lhs);
                local.is_some_and(|local| self.stays_in(local, seen))
            }
            ExprKind::Conditional { cond, .. } => cond == expr || self.stays(outer, seen),
            ExprKind::Binary { op, .. } => op != BinaryOp::Comma,
            ExprKind::Member { .. } => true,
            ExprKind::Unary { op, .. } => op == UnaryOp::Not,
            _ => false,
        }
    }

    /// Whether an item stays that `local` gets.
    fn stays_in(&self, local: LocalId, seen: &mut Vec<LocalId>) -> bool {
        if seen.contains(&local) {
            return true;
        }
        seen.push(local);
        let scene = self.scene;
        let is_set = |name: ExprId| match scene.parent_of_expr(name) {
            Some(Parent::Expr(outer)) => {
                matches!(scene.tree.expr(outer).kind, ExprKind::Assign { op: None, lhs, .. } if lhs == name)
            }
            _ => false,
        };
        let is_plain = scene.tree.local(local).storage == Storage::None
            && !scene.cfg.address_taken().contains(&local);
        let is_counted = || self.names(local).any(|name| self.is_counted(name));
        let stays = |name| is_set(name) || self.is_used_here(name, seen);
        is_plain && (is_counted() || self.is_over(local) && self.names(local).all(stays))
    }

    /// Whether `call` neither keeps nor takes over its argument `expr`, and what it gives stays as
    /// well if that may be a part of it.
    fn is_only_used(&self, call: ExprId, expr: ExprId, seen: &mut Vec<LocalId>) -> bool {
        let scene = self.scene;
        let Some((name, args)) = scene.call(call) else {
            return false;
        };
        let Some(at) = args.iter().position(|&arg| arg == expr) else {
            return false;
        };
        let summaries = scene.cx.summaries();
        let (is_used, gives_part) = match capi::effects(name) {
            Some(effects) => (
                effects.steals(at).is_none(),
                effects.derived_from.map(usize::from) == Some(at),
            ),
            None => (
                summaries
                    .param(name, at)
                    .is_none_or(|param| param == Param::Used),
                summaries.may_derive(name, at),
            ),
        };
        is_used && (!gives_part || self.stays(call, seen))
    }
}
