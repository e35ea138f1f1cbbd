//! Whether a function has no reference left to what it made.
//!
//! ```c
//! d = PyDict_New();                           /* one */
//! if (PyList_Append(list, d) < 0) {
//!     Py_DECREF(d);
//!     return NULL;
//! }
//! Py_DECREF(d);                               /* none: `list` keeps it */
//! while (PyDict_Next(d, …
//! ```

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, ExprKind, LocalId};
use crate::capi::Returns;
use crate::cfg::Point;
use crate::ownership::summary::Param;
use crate::ownership::track::Callees;

use super::lists::stores;
use super::owner::{RELEASES, TAKES, values};
use super::scope::Scope;

/// References to one object beyond this number are not told apart.
const MANY: i8 = 8;

/// What a step does to the references that the function has through a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Takes,
    GivesUp,
    /// The variable gets another value.
    Set,
}

/// Whether a path leads to `begin` on which `local` holds what the function has made, and has given
/// up all its references to.
pub(super) fn is_given_up(scope: &Scope<'_>, local: LocalId, begin: Point) -> bool {
    let changes = changes(scope, local);
    let gives_up = changes.values().any(|change| *change == Change::GivesUp);
    gives_up && made(scope, local).any(|made| runs_out(scope, &changes, made, begin))
}

/// Where `local` gets a reference of its own.
fn made<'s>(scope: &'s Scope<'_>, local: LocalId) -> impl Iterator<Item = Point> + 's {
    let made = move |value: &ExprId| match scope.expr(scope.uncast(*value)).kind {
        ExprKind::Call { callee, .. } => {
            let name = scope.tree().callee_name(callee);
            let returns = name.and_then(|name| scope.cx.summaries().returns(name));
            returns == Some(Returns::New)
        }
        _ => false,
    };
    let values: BTreeSet<ExprId> = values(scope, local).filter(made).collect();
    let stores = scope
        .tree()
        .expr_ids()
        .filter(move |id| match scope.expr(*id).kind {
            ExprKind::Assign { lhs, rhs, .. } => {
                scope.local(lhs) == Some(local) && values.contains(&rhs)
            }
            _ => values.contains(id),
        });
    stores.filter_map(|id| scope.cfg.store(id)).map(Point::next)
}

/// Whether a path from `made`, where the function has one reference, leads to `begin` with none.
fn runs_out(
    scope: &Scope<'_>,
    changes: &BTreeMap<Point, Change>,
    made: Point,
    begin: Point,
) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![(made, 1_i8)];
    while let Some((from, mut held)) = open.pop() {
        let end = scope.cfg.block(from.block).instrs.len();
        let mut is_set = false;
        for index in from.index..=end {
            let here = Point { index, ..from };
            if here == begin && held == 0 {
                return true;
            }
            match changes.get(&here) {
                Some(Change::Takes) => held = (held + 1).min(MANY),
                Some(Change::GivesUp) => held = (held - 1).max(0),
                Some(Change::Set) => {
                    is_set = true;
                    break;
                }
                None => {}
            }
        }
        if !is_set {
            let next = scope.cfg.block(from.block).successors.iter();
            let next = next.map(|&block| (Point { block, index: 0 }, held));
            open.extend(next.filter(|state| seen.insert(*state)));
        }
    }
    false
}

/// The steps that change what the function has through `local`.
fn changes(scope: &Scope<'_>, local: LocalId) -> BTreeMap<Point, Change> {
    let tree = scope.tree();
    let calls = tree.calls().filter_map(|(call, name)| {
        let change = of_call(scope, call, name, local)?;
        Some((scope.cfg.call(call)?, change))
    });
    let stores = stores(scope, local).into_iter();
    let stores = stores.map(|at| (at, Change::Set));
    calls.chain(stores).collect()
}

fn of_call(scope: &Scope<'_>, call: ExprId, name: &str, local: LocalId) -> Option<Change> {
    let ExprKind::Call { args, .. } = &scope.expr(call).kind else {
        return None;
    };
    let is_it = |arg: &ExprId| scope.local(scope.uncast(*arg)) == Some(local);
    if args.iter().any(|arg| scope.address(*arg) == Some(local)) {
        return Some(Change::Set);
    }
    let at = args.iter().position(is_it)?;
    if TAKES.contains(&name) {
        return Some(Change::Takes);
    }
    let summaries = scope.cx.summaries();
    let is_released = matches!(summaries.param(name, at), Some(Param::Released));
    let is_given = is_released || summaries.steals(name, at).is_some();
    match RELEASES.contains(&name) && at == 0 || is_given {
        true => Some(Change::GivesUp),
        false => None,
    }
}
