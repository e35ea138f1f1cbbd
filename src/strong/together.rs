//! Which variables change together: one fix holds what depends on one another.

use std::collections::{BTreeMap, BTreeSet};

use super::emit::declarations::busy_behind;
use super::follow::Strong;
use super::follow::slots::{Slot, Slots};
use super::plan::Planned;
use super::releases::follow;
use super::scene::Scene;
use super::shape::Shape;
use super::twice::settled;
use crate::ast::{ExprId, StmtId, StmtKind};

/// Puts homes together whose changes depend on each other or touch the same statement.
pub(super) fn group(
    scene: &Scene<'_>,
    slots: &Slots,
    planned: Vec<Planned>,
    strong: &BTreeSet<ExprId>,
) -> Vec<Vec<Planned>> {
    let count = planned.len();
    let touched: Vec<BTreeSet<StmtId>> = planned.iter().map(|home| touched(scene, home)).collect();
    let mut of: Vec<usize> = (0..count).collect();
    for left in 0..count {
        for right in 0..count {
            let apart = left == right || of[left] == of[right];
            let together = || {
                !touched[left].is_disjoint(&touched[right])
                    || depends(scene, slots, &planned, (left, right), strong)
            };
            if !apart && together() {
                let (from, to) = (of[right], of[left]);
                of.iter_mut()
                    .filter(|at| **at == from)
                    .for_each(|at| *at = to);
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<Planned>> = BTreeMap::new();
    for (at, planned) in of.into_iter().zip(planned) {
        groups.entry(at).or_default().push(planned);
    }
    groups.into_values().collect()
}

/// Whether the decisions for the home `left` would be others if `right` stayed as it is.
fn depends(
    scene: &Scene<'_>,
    slots: &Slots,
    planned: &[Planned],
    (left, right): (usize, usize),
    strong: &BTreeSet<ExprId>,
) -> bool {
    let (left, right) = (&planned[left], &planned[right]);
    let calls = right.home.calls();
    if !calls.iter().any(|call| left.needs.contains(call)) {
        return false;
    }
    let others = strong.iter().copied().filter(|call| !calls.contains(call));
    let without: BTreeSet<ExprId> = others.collect();
    let homes = planned.iter().map(|planned| &planned.home);
    let strong = Strong::new(&without, homes);
    let decisions = follow(scene, slots, &left.home, &strong);
    let decisions = decisions.map(|decisions| settled(&left.home, decisions));
    !matches!(decisions, Ok(Some(decisions)) if decisions == left.decisions)
}

/// Statements that the change of one home edits, or puts something beside.
fn touched(scene: &Scene<'_>, planned: &Planned) -> BTreeSet<StmtId> {
    let releases = planned.decisions.releases.keys();
    let releases = releases.flat_map(|&slot| match slot {
        Slot::After(stmt) => ends_with(scene, stmt),
        Slot::Before(stmt) | Slot::Else(stmt) | Slot::Inside(stmt) | Slot::InReturn(stmt) => {
            vec![stmt]
        }
    });
    let lookups = planned.home.lookups.iter().map(|lookup| lookup.call);
    let exprs = planned.decisions.removed.iter().copied();
    let exprs = exprs
        .chain(planned.decisions.taken.keys().copied())
        .chain(planned.decisions.unwrapped.iter().copied())
        .chain(lookups);
    let starts = planned.decisions.starts_null.then_some(planned.home.local);
    let declaration = starts
        .flatten()
        .and_then(|local| scene.tree.local(local).decl);
    let lookups = planned.home.lookups.iter();
    let behind = lookups.flat_map(|lookup| match lookup.shape {
        Shape::Initialised(stmt, _) if !scene.file_mixes_declarations() => busy_behind(scene, stmt),
        _ => Vec::new(),
    });
    let mut stmts: BTreeSet<StmtId> = releases
        .chain(behind)
        .chain(exprs.filter_map(|expr| scene.stmt_of(expr)))
        .chain(planned.decisions.replaced.keys().copied())
        .chain(declaration)
        .collect();
    // The lines of an `else if` that gets braces move.
    let chains = stmts.iter().filter(|&&stmt| scene.is_else_if(stmt));
    let moved: Vec<StmtId> = chains.flat_map(|&stmt| scene.inner_stmts(stmt)).collect();
    stmts.extend(moved);
    stmts
}

/// `stmt` and what ends where it does, and would get braces there: `if (a) f(); else g();`.
fn ends_with(scene: &Scene<'_>, mut stmt: StmtId) -> Vec<StmtId> {
    let mut ends = vec![stmt];
    while let StmtKind::If {
        then: body,
        otherwise: None,
        ..
    }
    | StmtKind::If {
        otherwise: Some(body),
        ..
    }
    | StmtKind::While { body, .. }
    | StmtKind::For { body, .. } = scene.tree.stmt(stmt).kind
    {
        ends.push(body);
        stmt = body;
    }
    ends
}
