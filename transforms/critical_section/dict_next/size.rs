//! Whether the size of the dict is asked for outside of the loop.

use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, LocalId, TokenRange, Tree, UnaryOp};
use crate::capi;
use crate::cfg::{
    Base, BlockId, Callee, Instr, InstrKind, Operand, Place, Point, Projection, Source,
};

use super::scope::{Scope, inside};
use super::site::Site;

/// A call that asks how many items the dict has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'t> {
    pub(super) call: ExprId,
    pub(super) name: &'t str,
}

/// What asks outside of the loop how many items the dict has: what is made of that size may be too
/// small once other threads run.
///
/// ```c
/// keys = PyMem_New(char *, PyDict_Size(d));
/// while (PyDict_Next(d, &pos, &k, &v))
///     keys[i++] = text_of(k);
/// ```
pub(super) fn asked_outside<'s>(scope: &'s Scope<'_>, site: &Site) -> Vec<Asked<'s>> {
    let tree = scope.tree();
    let Some(dict) = scope.text(scope.uncast(site.dict)) else {
        return Vec::new();
    };
    let is_of_dict = |of| {
        scope
            .text(scope.uncast(of))
            .is_some_and(|text| text == dict)
    };
    let iteration = scope.range(site.iteration);
    let calls = exprs(tree).filter_map(|(call, kind)| {
        let (name, of) = size_call(tree, kind)?;
        let is_outside = !inside(scope.expr(call).range, iteration);
        (is_outside && is_of_dict(of)).then_some(Asked { call, name })
    });
    calls
        .filter(|asked| meets(scope, asked.call, site.call))
        .filter(|asked| !only_compared(scope, site, asked.call))
        .collect()
}

/// The call that asks for a size, and what it asks.
fn size_call<'t>(tree: &'t Tree, kind: &ExprKind) -> Option<(&'t str, ExprId)> {
    const SIZES: &[&str] = &[
        "PyDict_Size",
        "PyDict_GET_SIZE",
        "PyObject_Size",
        "PyObject_Length",
    ];
    let ExprKind::Call { callee, args } = kind else {
        return None;
    };
    let name = tree.callee_name(*callee)?;
    SIZES
        .contains(&name)
        .then(|| args.first().map(|&of| (name, of)))?
}

/// Whether a path of the function comes to both calls.
fn meets(scope: &Scope<'_>, one: ExprId, other: ExprId) -> bool {
    match (scope.cfg.call(one), scope.cfg.call(other)) {
        (Some(one), Some(other)) => leads(scope, one, other) || leads(scope, other, one),
        _ => true,
    }
}

/// Whether a path leads from one point to another.
pub(super) fn leads(scope: &Scope<'_>, from: Point, to: Point) -> bool {
    if from.block == to.block && from.index <= to.index {
        return true;
    }
    let mut seen: BTreeSet<BlockId> = BTreeSet::new();
    let mut open = vec![from.block];
    while let Some(block) = open.pop() {
        for &next in &scope.cfg.block(block).successors {
            if next == to.block {
                return true;
            }
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}

/// Whether the size is only compared: with 0, or in a function whose loop fills nothing.
///
/// ```c
/// given = PyDict_Size(kwds);
/// while (used != given && PyDict_Next(kwds, &pos, &key, NULL))
///     complain_about(key);
/// ```
fn only_compared(scope: &Scope<'_>, site: &Site, call: ExprId) -> bool {
    let (with_zero, with_variables) = compared(scope);
    if with_zero.contains(&call) {
        return true;
    }
    let is_test = |expr: ExprId| with_zero.contains(&expr) || with_variables.contains(&expr);
    let is_tested = is_test(call)
        || kept_in(scope, call).is_some_and(|local| {
            let assigned = exprs(scope.tree()).filter_map(|(_, kind)| match kind {
                ExprKind::Assign { op: None, lhs, .. } => Some(*lhs),
                _ => None,
            });
            let assigned: BTreeSet<ExprId> = assigned.collect();
            let mut named = exprs(scope.tree()).filter(|&(id, _)| scope.local(id) == Some(local));
            named.all(|(id, _)| is_test(id) || assigned.contains(&id))
        });
    is_tested && fills_nothing(scope, site)
}

/// The number that keeps the result of `call`: `n = PyDict_Size(d);`.
fn kept_in(scope: &Scope<'_>, call: ExprId) -> Option<LocalId> {
    let is_call = |value| scope.uncast(value) == call;
    let local = exprs(scope.tree()).find_map(|(_, kind)| match kind {
        ExprKind::Assign { op: None, lhs, rhs } if is_call(*rhs) => scope.local(*lhs),
        _ => None,
    });
    local.filter(|&local| scope.tree().local(local).ty.is_number())
}

/// What is compared with 0 or less, and what with variables: nothing is made of `PyDict_Size(d) > 0`.
fn compared(scope: &Scope<'_>) -> (BTreeSet<ExprId>, BTreeSet<ExprId>) {
    let is_zero = |side: ExprId| match scope.expr(scope.uncast(side)).kind {
        ExprKind::Int(value) => value == Some(0),
        // `-1`
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        } => matches!(scope.expr(operand).kind, ExprKind::Int(_)),
        _ => false,
    };
    let (mut with_zero, mut with_variables) = (BTreeSet::new(), BTreeSet::new());
    for (_, kind) in exprs(scope.tree()) {
        let ExprKind::Binary { op, lhs, rhs } = kind else {
            continue;
        };
        if op.is_comparison() {
            for (one, other) in [(*lhs, *rhs), (*rhs, *lhs)] {
                with_zero.extend(is_zero(other).then(|| scope.uncast(one)));
                let is_variable = scope.local(other).is_some();
                with_variables.extend(is_variable.then(|| scope.uncast(one)));
            }
        }
    }
    (with_zero, with_variables)
}

/// Whether the loop writes nothing whose place counts with the items: `keys[i++] = key;`.
fn fills_nothing(scope: &Scope<'_>, site: &Site) -> bool {
    let range = scope.range(site.iteration);
    let is_written = |local| scope.is_written(local, range, Some(site.call));
    let steady = |pointer: &Operand| {
        let mut loads = scope.steps_in(range).filter_map(|step| match &step.kind {
            InstrKind::Load { dst, place } if *pointer == Operand::Temp(*dst) => Some(place),
            _ => None,
        });
        let place = loads.next().and_then(Place::as_local);
        place.is_some_and(|local| !is_written(local))
    };
    let is_one_place = |place: &Place| {
        let is_field = |part: &Projection| matches!(part, Projection::Field(_));
        let is_steady = match &place.base {
            Base::Local(_) | Base::Global(_) => true,
            Base::Deref(pointer) => steady(pointer),
            Base::Unnamed(_) => false,
        };
        is_steady && place.path.iter().all(is_field)
    };
    scope.steps_in(range).all(|step| match &step.kind {
        InstrKind::Store { place, .. } => is_one_place(place),
        InstrKind::Call { callee, .. } => {
            step.source == Source::Expr(site.call) || counts_nothing(scope, callee, step, range)
        }
        _ => true,
    })
}

/// Whether a function of the C API gets no number that changes in the loop.
fn counts_nothing(scope: &Scope<'_>, callee: &Callee, step: &Instr, range: TokenRange) -> bool {
    let (Callee::Named(name), Source::Expr(call)) = (callee, step.source) else {
        return false;
    };
    let changes = |local: LocalId| {
        scope.tree().local(local).ty.is_number() && scope.is_written(local, range, None)
    };
    let args = match &scope.expr(call).kind {
        ExprKind::Call { args, .. } => args.iter(),
        _ => return false,
    };
    let locals = (0..).map(LocalId).take(scope.tree().locals.len());
    let mut changing = locals.filter(|&local| changes(local));
    capi::effects(name).is_some()
        && !changing.any(|local| args.clone().any(|&arg| scope.mentions(arg, local)))
}

fn exprs(tree: &Tree) -> impl Iterator<Item = (ExprId, &ExprKind)> {
    (0u32..)
        .map(ExprId)
        .zip(tree.exprs.iter().map(|expr| &expr.kind))
}
