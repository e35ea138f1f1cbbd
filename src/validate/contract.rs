//! Functions that returned a borrowed reference and return a new one in the result.
//!
//! That is a change for every caller: each must be part of it, and owns what it gets from then on.

use std::collections::{BTreeMap, BTreeSet};

use super::Failure;
use super::original::Original;
use super::proof::{Failed, borrowed_seeds, calls, graph, original_span, seeds};
use crate::ast::Function;
use crate::capi::Returns;
use crate::edit::Applied;
use crate::ownership::track::{self, Exit, Gives, Handed, Origin, Seed};
use crate::program::{CallIndex, Program, ProgramItem};
use crate::source::FileId;

/// The names of the functions whose callers own what they get, but did not before.
pub(super) fn changed(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    loop {
        let before = names.len();
        for (item, function) in result.functions() {
            let Some(applied) = applied.get(&item.place.0) else {
                continue;
            };
            let new = seeds(item, function, applied, &names);
            let is_new = || {
                gives(original, function, &new, |count| count > 0)
                    && gave_borrowed(original, item, function, applied, &names)
                    || gives_what_it_released(original, item, function, applied)
            };
            if !original.is_method(item, function) && is_new() {
                names.insert(function.name.clone());
            }
        }
        if names.len() == before {
            return names;
        }
    }
}

/// Whether some path returns the reference of a seed, held that many times.
fn gives(
    original: &Original<'_>,
    function: &Function,
    seeds: &[Seed],
    held: fn(i8) -> bool,
) -> bool {
    !seeds.is_empty()
        && function.ret.pointee().is_some()
        && exits(original, function, seeds).is_some_and(|exits| {
            let mut values = exits.iter().map(|exit| exit.value);
            values.any(|value| matches!(value, Handed::Instance { count, .. } if held(count)))
        })
}

fn exits(original: &Original<'_>, function: &Function, seeds: &[Seed]) -> Option<BTreeSet<Exit>> {
    let graph = graph(function);
    let followed = track::follow(&graph, &function.tree, seeds, original.callees)?;
    Some(followed.exits)
}

fn gave_borrowed(
    original: &Original<'_>,
    item: &ProgramItem,
    function: &Function,
    applied: &Applied,
    names: &BTreeSet<String>,
) -> bool {
    let span = original_span(applied, item.place.1);
    let mut olds = original.functions_within(item.place.0, span);
    olds.any(|(_, old)| {
        old.name == function.name
            && gives(original, old, &borrowed_seeds(old, names), |count| {
                count <= 0
            })
    })
}

/// Whether the function returned an object that it had made and released, and keeps the reference
/// for its caller now: `Py_DECREF(v); return v;`.
fn gives_what_it_released(
    original: &Original<'_>,
    item: &ProgramItem,
    function: &Function,
    applied: &Applied,
) -> bool {
    let span = original_span(applied, item.place.1);
    let lost_a_release = |before: &ProgramItem, old: &Function| {
        let releases = calls(old).filter(|(_, name)| name.ends_with("DECREF"));
        let mut places =
            releases.filter_map(|(call, _)| before.tokens.file_span(old.tree.expr(call).range));
        places.any(|(_, place)| applied.map.to_new(place.start()).is_none())
    };
    let gives = |function: &Function, held| {
        let made = with_made(original, function, Vec::new());
        gives(original, function, &made, held)
    };
    let mut olds = original.functions_within(item.place.0, span);
    olds.any(|(before, old)| {
        old.name == function.name
            && lost_a_release(before, old)
            && gives(old, |count| count <= 0)
            && !gives(function, |count| count <= 0)
            && gives(function, |count| count > 0)
    })
}

/// What is wrong with the functions called `names`, or with who calls them.
pub(super) fn failures(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
    names: &BTreeSet<String>,
) -> Vec<Failed> {
    let mut failures = Vec::new();
    if names.is_empty() {
        return failures;
    }
    let index = CallIndex::new(original.program);
    let functions = result.functions().filter_map(|(item, function)| {
        let applied = applied.get(&item.place.0)?;
        let span = original_span(applied, item.place.1);
        Some((item, function, applied, span))
    });
    let functions: Vec<_> = functions.collect();
    let is_changed = |caller: &ProgramItem| {
        let mut changed = functions.iter();
        changed.any(|(item, _, _, span)| {
            item.place.0 == caller.place.0 && span.contains(caller.place.1)
        })
    };
    for &(item, function, applied, span) in &functions {
        if !names.contains(&function.name) {
            continue;
        }
        let callers = index.calls_to(&function.name).iter();
        let mut callers = callers.map(|site| &original.program.items[site.item.0 as usize]);
        let what = if index.mention(&function.name).is_some() {
            "is passed on, so not all of its callers are known"
        } else if !callers.all(is_changed) {
            "has a caller that does not release the result"
        } else if !is_new(original, item, function, applied, names) {
            "returns a new reference on some paths only"
        } else {
            continue;
        };
        failures.push(Failed {
            file: item.place.0,
            original: vec![span],
            result: item.place.1,
            failure: Failure::Wrong(format!("`{}` {what}", function.name)),
        });
    }
    failures
}

/// Whether every path returns `NULL` or a reference of its own.
fn is_new(
    original: &Original<'_>,
    item: &ProgramItem,
    function: &Function,
    applied: &Applied,
    names: &BTreeSet<String>,
) -> bool {
    let all = with_made(original, function, seeds(item, function, applied, names));
    exits(original, function, &all).is_some_and(|exits| {
        let mut left = exits.iter().filter(|exit| exit.stmt != function.body);
        left.all(|exit| match exit.value {
            Handed::Null | Handed::Int(0) => true,
            Handed::Instance { count, .. } => count > 0,
            Handed::Int(_) | Handed::Inside(_) | Handed::Other => false,
        })
    })
}

/// The seeds, and the other calls of the function that give new references.
fn with_made(original: &Original<'_>, function: &Function, mut seeds: Vec<Seed>) -> Vec<Seed> {
    let made = calls(function).filter(|(_, name)| {
        let returns = original.callees.returns(name);
        matches!(returns, Some(Returns::New))
    });
    for (call, name) in made {
        let origin = Origin::Call(call);
        let is_known = seeds.iter().any(|seed| seed.origin == origin);
        if !is_known {
            seeds.push(Seed {
                origin,
                gives: if name == "Py_NewRef" {
                    Gives::Always
                } else {
                    Gives::Result
                },
                owned: true,
            });
        }
    }
    seeds
}
