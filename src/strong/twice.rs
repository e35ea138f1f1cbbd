//! Items that are looked up twice: to take a reference, and to give it away. They are looked up once
//! from then on, with the reference.
//!
//! ```c
//! Py_INCREF(PyList_GET_ITEM(list, i));                        /* goes */
//! PyTuple_SET_ITEM(tuple, i, PyList_GET_ITEM(list, i));
//! ```

use std::collections::BTreeMap;

use super::exits::branch::is_same;
use super::follow::{Decisions, Repair};
use super::plan::Home;
use super::scene::Scene;
use crate::ast::{ExprId, ExprKind, Parent, StmtId, StmtKind};
use crate::capi::{self, Replacement, StealWhen};

/// Where the reference is taken that another lookup of the same item gives away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    /// The call that takes it.
    pub count: ExprId,
    /// The lookup in it.
    pub lookup: ExprId,
}

/// Those of `calls` whose reference is taken in the statement before or behind them.
pub(super) fn counted(
    scene: &Scene<'_>,
    calls: &[(ExprId, &'static Replacement)],
) -> BTreeMap<ExprId, Counted> {
    let is_lookup = |call: ExprId| calls.iter().any(|(other, _)| *other == call);
    let mut found: BTreeMap<ExprId, Counted> = BTreeMap::new();
    for &(call, _) in calls {
        let beside = beside(scene, call).into_iter();
        let mut beside = beside.filter_map(|stmt| taken(scene, stmt));
        let twin = beside.find(|counted| {
            let is_free = found.values().all(|known| known.count != counted.count);
            is_free && is_lookup(counted.lookup) && is_same(scene, call, counted.lookup)
        });
        found.extend(twin.map(|counted| (call, counted)));
    }
    found
}

/// The statements beside `f(lookup);` in which the reference that `f` takes over may be taken: no
/// code runs in between that could put something else in the place of the item.
fn beside(scene: &Scene<'_>, lookup: ExprId) -> Vec<StmtId> {
    let Some((name, stmt)) = given(scene, lookup) else {
        return Vec::new();
    };
    let Some((stmts, at)) = scene.siblings(stmt) else {
        return Vec::new();
    };
    let before = at.checked_sub(1).and_then(|at| stmts.get(at));
    let stores_only = name.ends_with("_SET_ITEM");
    let behind = stmts.get(at + 1).filter(|_| stores_only);
    before.into_iter().chain(behind).copied().collect()
}

/// The function that takes over what `lookup` gives, and the statement that is its call.
fn given<'a>(scene: &Scene<'a>, lookup: ExprId) -> Option<(&'a str, StmtId)> {
    let mut value = lookup;
    loop {
        let Some(Parent::Expr(outer)) = scene.parent_of_expr(value) else {
            return None;
        };
        if let ExprKind::Cast { .. } = scene.tree.expr(outer).kind {
            value = outer;
            continue;
        }
        let (name, args) = scene.call(outer)?;
        let at = args.iter().position(|&arg| arg == value)?;
        let takes = capi::effects(name)?.steals(at) == Some(StealWhen::Always);
        let container = *scene.call(lookup)?.1.first()?;
        let is_other = args
            .first()
            .is_some_and(|&filled| !is_same(scene, filled, container));
        return match scene.parent_of_expr(outer) {
            Some(Parent::Stmt(stmt)) if takes && is_other => Some((name, stmt)),
            _ => None,
        };
    }
}

/// The reference that a statement takes to an item: `Py_INCREF(PyList_GET_ITEM(list, i));`.
fn taken(scene: &Scene<'_>, stmt: StmtId) -> Option<Counted> {
    let StmtKind::Expr(count) = scene.tree.stmt(stmt).kind else {
        return None;
    };
    match scene.call(count) {
        Some(("Py_INCREF" | "Py_XINCREF", [arg])) => Some(Counted {
            count,
            lookup: scene.tree.without_casts(*arg),
        }),
        _ => None,
    }
}

/// The decisions for a home whose reference is given away, with the one that was taken beside it
/// gone; `None` if it is not given away.
pub(super) fn settled(home: &Home, mut decisions: Decisions) -> Option<Decisions> {
    let mut counted = home.lookups.iter().filter_map(|lookup| lookup.counted);
    let Some(counted) = counted.next() else {
        return Some(decisions);
    };
    decisions.removed.insert(counted.count);
    decisions
        .repairs
        .remove(&Repair::Presumed)
        .then_some(decisions)
}
