//! What a function makes and owns is released where a new exit leaves it, if it is wherever the
//! function left before.
//!
//! ```c
//! out = PyList_New(n);         /* this one */
//! item = PyList_GetItemRef(list, 0);
//! if (item == NULL)
//!     return NULL;
//! ```

use std::collections::BTreeSet;

use super::Failure;
use super::changed::Changed;
use super::proof::{follow, seeds, span_of};
use super::words::describe;
use crate::ast::{Function, StmtKind};
use crate::capi::{self, Returns};
use crate::ownership::track::{Gives, Origin, Problem, Report, Seed, Trouble};
use crate::source::ByteSpan;

/// What is wrong with such objects in the result, and was not before.
pub(super) fn failure(changed: Changed<'_>) -> Option<(Option<ByteSpan>, Failure)> {
    let Changed {
        original,
        item,
        function,
        applied,
        handing,
    } = changed;
    if !leaves(changed) {
        return None;
    }
    let lookups = seeds(item, function, applied, handing);
    let is_lookup = |seed: &Seed| lookups.iter().any(|it| it.origin == seed.origin);
    made(function)
        .filter(|seed| !is_lookup(seed))
        .find_map(|seed| {
            let call = changed.call_of(&seed)?;
            let Report::Complete(troubles) = follow(function, &[seed], original.callees, &matters)
            else {
                return None;
            };
            if troubles.is_empty() {
                return None;
            }
            // What is wrong elsewhere as well was so before.
            let known = old_problems(changed, call)?;
            let wrong = troubles.iter().find(|it| !known.contains(&it.problem))?;
            let reason = describe(function, &[seed], wrong);
            Some((Some(call), Failure::Wrong(reason)))
        })
}

/// Whether a function got a new way out.
pub(super) fn leaves(changed: Changed<'_>) -> bool {
    let mut stmts = changed.function.tree.stmts.iter();
    stmts.any(|stmt| {
        matches!(
            stmt.kind,
            StmtKind::Return(_) | StmtKind::Goto(_) | StmtKind::Break
        ) && changed.is_inserted(stmt.range.start)
    })
}

/// Whether a problem is one of the exit that was taken.
fn matters(trouble: &Trouble) -> bool {
    matches!(
        trouble.problem,
        Problem::Leak | Problem::OverRelease | Problem::UseAfterRelease | Problem::ReleaseOfNull
    )
}

/// What was wrong with what the call at `call` makes; `None` if that is not known.
fn old_problems(changed: Changed<'_>, call: ByteSpan) -> Option<BTreeSet<Problem>> {
    let callees = changed.original.callees;
    let mut problems = BTreeSet::new();
    let mut is_found = false;
    for (before, function) in changed.befores() {
        let is_same = |seed: &Seed| span_of(before, function, seed) == Some(call);
        for seed in made(function).filter(is_same) {
            let Report::Complete(troubles) = follow(function, &[seed], callees, &matters) else {
                return None;
            };
            is_found = true;
            problems.extend(troubles.iter().map(|trouble| trouble.problem));
        }
    }
    is_found.then_some(problems)
}

/// The objects that functions of the C API make for variables.
fn made(function: &Function) -> impl Iterator<Item = Seed> {
    let tree = &function.tree;
    let values = tree.stores().map(|(_, value)| tree.without_casts(value));
    let calls = values.filter(|&value| {
        let effects = tree.called(value).and_then(capi::effects);
        effects.is_some_and(|effects| effects.returns == Returns::New)
    });
    calls.map(|call| Seed {
        origin: Origin::Call(call),
        gives: Gives::Result,
        owned: true,
    })
}
