//! Objects that the function makes itself and keeps in a variable that now owns what is looked up,
//! too: what becomes of them may have changed as well.
//!
//! ```c
//! v = PyDict_GetItemRef(…);
//! if (v == NULL)
//!     v = PyList_New(0);       /* this one */
//! ```

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::Failure;
use super::changed::Changed;
use super::proof::{follow, is_new, releases_nothing, seeds, start_of};
use super::words::describe;
use crate::ast::{ExprId, ExprKind, Function, LocalId, Tree};
use crate::capi::{self, Returns};
use crate::ownership::track::{Gives, Origin, Problem, Report, Seed, Trouble};
use crate::source::{ByteOffset, ByteSpan};

/// What is wrong with such objects in the result, and was not before.
pub(super) fn failure(changed: Changed<'_>) -> Option<(Option<ByteSpan>, Failure)> {
    let Changed {
        original,
        item,
        function,
        applied,
        handing,
    } = changed;
    let strong = seeds(item, function, applied, handing);
    let made = made_seeds(function, &strong);
    if made.is_empty() {
        return None;
    }
    // To follow the original, too, is only worth it where something is wrong.
    let old = LazyCell::new(|| old_troubles(changed));
    let is_known = |trouble: &Trouble| {
        let start = start_of(item, function, trouble);
        let at = start.and_then(|start| applied.map.to_original(start));
        old.contains(&(trouble.problem, at)) && at.is_some() == start.is_some()
    };
    let is_new = |trouble: &Trouble| is_new(item, function, applied, trouble);
    let Report::Complete(troubles) = follow(function, &made, original.callees, &is_new) else {
        let call = changed.call_of(&made[0]);
        let reason = "each reference is released exactly once (the function has too many paths for \
                      a proof)";
        return Some((call, Failure::Unknown(reason.into())));
    };
    let mut wrong = troubles.iter().filter(|it| !it.problem.is_doubt());
    let wrong = wrong.find(|trouble| !is_known(trouble))?;
    let call = changed.call_of(&made[wrong.seed]);
    Some((call, Failure::Wrong(describe(function, &made, wrong))))
}

fn old_troubles(changed: Changed<'_>) -> Vec<(Problem, Option<ByteOffset>)> {
    let mut old = Vec::new();
    for (before, function) in changed.befores() {
        let seeds = made_seeds(function, &changed.borrowed_before(function));
        let counts = |trouble: &Trouble| !releases_nothing(trouble);
        let report = follow(function, &seeds, changed.original.callees, &counts);
        if let Report::Complete(troubles) = report {
            let places = troubles
                .iter()
                .map(|trouble| (trouble.problem, start_of(before, function, trouble)));
            old.extend(places);
        }
    }
    old
}

/// The calls that give new references to variables which `lookups` set as well.
pub(super) fn made_seeds(function: &Function, lookups: &[Seed]) -> Vec<Seed> {
    let stores = stores(&function.tree);
    let mut targets: BTreeSet<LocalId> = lookups
        .iter()
        .filter_map(|seed| match (seed.origin, seed.gives) {
            (_, gives) if gives.out().is_some() => filled(function, seed),
            (Origin::Call(call), _) => target(&stores, call),
            _ => None,
        })
        .collect();
    // PyObject *item = PyList_GetItemRef(v, i); Py_DECREF(v); v = item;
    loop {
        let passed = stores.iter().filter_map(|&(local, value)| {
            let from = function.tree.as_local(value)?;
            targets.contains(&from).then_some(local)
        });
        let more: BTreeSet<LocalId> = passed.collect();
        if more.is_subset(&targets) {
            break;
        }
        targets.extend(more);
    }
    let is_lookup = |call| {
        let mut lookups = lookups.iter();
        lookups.any(|seed| seed.origin == Origin::Call(call))
    };
    let made = stores.iter().filter(|&&(local, value)| {
        targets.contains(&local) && makes(function, value) && !is_lookup(value)
    });
    made.map(|&(_, call)| Seed {
        origin: Origin::Call(call),
        gives: Gives::Result,
        owned: true,
    })
    .collect()
}

/// All `local = value`, values without casts.
fn stores(tree: &Tree) -> Vec<(LocalId, ExprId)> {
    let stores = tree.stores();
    stores
        .map(|(local, value)| (local, tree.without_casts(value)))
        .collect()
}

fn target(stores: &[(LocalId, ExprId)], call: ExprId) -> Option<LocalId> {
    let mut stores = stores.iter();
    stores
        .find(|(_, value)| *value == call)
        .map(|(local, _)| *local)
}

/// The variable through whose address a seed gives its reference.
pub(super) fn filled(function: &Function, seed: &Seed) -> Option<LocalId> {
    let (Origin::Call(call), Some(arg)) = (seed.origin, seed.gives.out()) else {
        return None;
    };
    match &function.tree.expr(call).kind {
        ExprKind::Call { args, .. } => function.tree.as_address(*args.get(usize::from(arg))?),
        _ => None,
    }
}

fn makes(function: &Function, value: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = function.tree.expr(value).kind else {
        return false;
    };
    let name = function.tree.callee_name(callee);
    name.and_then(capi::effects)
        .is_some_and(|effects| effects.returns == Returns::New)
}
