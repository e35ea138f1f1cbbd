//! References that new variables alone hold, beside what the code counts itself.
//!
//! ```c
//! PyDict_GetItemRef(dict, key, &v_ref);
//! v = v_ref;
//! if (is_new)
//!     Py_INCREF(v);          /* for somebody else: as before, no release follows */
//! use(v);
//! Py_DECREF(v_ref);
//! ```
//!
//! A path that leaves a count of its own on the object did so before. What is new is right if each
//! reference is released by the variable that it came with, and nothing of the old counting is
//! gone.

use std::collections::BTreeSet;

use super::changed::Changed;
use super::proof::{calls, graph};
use crate::ast::{ExprKind, Function, LocalId};
use crate::calls::{self, Count};
use crate::ownership::track::{self, KnownCallees, Problem, Seed, Trouble};

/// Whether all that is wrong with the `seeds` of the result is that counts are left which the code
/// takes itself.
pub(super) fn is_balanced(changed: Changed<'_>, seeds: &[Seed], troubles: &[Trouble]) -> bool {
    let function = changed.function;
    let locals = (0u32..).map(LocalId).zip(&function.tree.locals);
    let is_new =
        |(_, local): &(LocalId, &crate::ast::Local)| changed.is_inserted(local.name_range.start);
    let holders: BTreeSet<LocalId> = locals.filter(is_new).map(|(id, _)| id).collect();
    let leaks = troubles.iter().all(|it| it.problem == Problem::Leak);
    if holders.is_empty() || !leaks || !counts_as_before(changed) {
        return false;
    }
    let wrong: BTreeSet<usize> = troubles.iter().map(|trouble| trouble.seed).collect();
    let seeds: Vec<Seed> = wrong.into_iter().map(|at| seeds[at]).collect();
    let graph = graph(function);
    let callees = changed.original.callees;
    let followed = track::follow_in(&graph, &function.tree, &seeds, callees, &holders);
    followed.is_some_and(|followed| followed.troubles.is_empty())
}

/// Whether all calls that count references in the original are still there.
fn counts_as_before(changed: Changed<'_>) -> bool {
    let left = counting(changed.function, |start| !changed.is_inserted(start));
    let before = changed.befores();
    let mut before = before
        .map(|(_, function)| counting(function, |_| true))
        .peekable();
    before.peek().is_some() && before.all(|count| count == left)
}

/// How many calls count references, of those that begin at tokens which `counts`.
fn counting(function: &Function, counts: impl Fn(u32) -> bool) -> usize {
    let counting = calls(function).filter(|&(call, _)| {
        let expr = function.tree.expr(call);
        let args = match &expr.kind {
            ExprKind::Call { args, .. } => args.len(),
            _ => 0,
        };
        let effects = calls::effects_at(&function.tree, call, &KnownCallees);
        let counting =
            effects.is_some_and(|it| (0..args).any(|at| it.count(at) != Count::Unchanged));
        counting && counts(expr.range.start)
    });
    counting.count()
}
