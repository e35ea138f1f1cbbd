//! What a function only borrows, from its caller or another owner, is not released by what came in:
//! neither in new text nor by old text that a new exit leads to.
//!
//! ```c
//! item = PyList_GetItemRef(list, 0);
//! if (item == NULL) {
//!     Py_DECREF(args);                  /* the caller's: `args` is the function's own further on */
//!     return NULL;
//! }
//! args = Py_BuildValue("O", item);
//! ```

use std::collections::BTreeSet;

use super::Failure;
use super::changed::Changed;
use super::ends::{Kind, counts, kind};
use super::left::leaves;
use super::proof::{calls, graph, is_inserted, seeds, span_of, start_of_source};
use crate::ast::{ExprId, Function, LocalId};
use crate::capi::{self, Counts, OutKind, Returns, Stored};
use crate::cfg::Source;
use crate::ownership::track::{self, Exit, Followed, Gives, Origin, Problem, Seed};
use crate::program::ProgramItem;
use crate::source::{ByteOffset, ByteSpan};

/// What is wrong with such objects in the result, and was not before.
pub(super) fn failure(changed: Changed<'_>) -> Option<(Option<ByteSpan>, Failure)> {
    let Changed {
        item,
        function,
        applied,
        ..
    } = changed;
    let tree = &function.tree;
    let releases_here = |&(call, name): &(ExprId, &str)| {
        releases(name) && is_inserted(item, applied, tree.expr(call).range.start)
    };
    if !leaves(changed) && !calls(function).any(|call| releases_here(&call)) {
        return None;
    }
    lent(changed, function)
        .into_iter()
        .find_map(|lent| wrong(changed, lent))
}

/// An object that is lent, and the variable that has it first.
#[derive(Clone, Copy)]
struct Lent {
    seed: Seed,
    local: LocalId,
}

/// What is wrong with one object.
fn wrong(changed: Changed<'_>, lent: Lent) -> Option<(Option<ByteSpan>, Failure)> {
    let Changed {
        item,
        function,
        applied,
        handing,
        ..
    } = changed;
    let alone = Released::of(changed, item, function, &[lent.seed])?;
    if alone.places.is_empty() {
        return None;
    }
    // What the lookups of the result give tells more of the paths.
    let mut all = vec![lent.seed];
    all.extend(seeds(item, function, applied, handing));
    let after = Released::of(changed, item, function, &all).unwrap_or(alone);
    let befores: Vec<Released> = changed
        .befores()
        .filter_map(|(before, old)| {
            let seed = changed.same_before(before, old, lent)?;
            Released::of(changed, before, old, &[seed])
        })
        .collect();
    let known = |at: &Option<ByteOffset>| {
        let at = at.and_then(|at| applied.map.to_original(at));
        befores.iter().any(|before| match at {
            Some(at) => before.places.contains(&Some(at)),
            None => !before.places.is_empty() && before.has_exits_of(&after),
        })
    };
    let is_wrong = !befores.is_empty() && !after.places.iter().all(known);
    is_wrong.then(|| {
        let name = &function.tree.local(lent.local).name;
        let reason = format!(
            "in `{}`, `{name}` is released where the function does not own its object",
            function.name
        );
        (changed.call_of(&lent.seed), Failure::Wrong(reason))
    })
}

/// Where a function releases an object to which it has no reference.
struct Released {
    places: BTreeSet<Option<ByteOffset>>,
    /// What the exits return, with the references that the function has then.
    exits: BTreeSet<(Kind, Vec<i8>)>,
}

impl Released {
    /// Follows the first seed; `None` if there are too many paths.
    fn of(
        changed: Changed<'_>,
        item: &ProgramItem,
        function: &Function,
        seeds: &[Seed],
    ) -> Option<Self> {
        let callees = changed.original.callees;
        let graph = graph(function);
        let Followed {
            troubles,
            exits,
            ledgers,
            ..
        } = track::follow_roughly(&graph, &function.tree, seeds, callees)?;
        let ledger = ledgers.get(&0);
        let is_release = |at: &Source| ledger.is_some_and(|it| it.releases.contains(at));
        let over = troubles
            .iter()
            .filter(|trouble| trouble.seed == 0 && trouble.problem == Problem::OverRelease);
        let places = over.filter_map(|trouble| trouble.at).filter(is_release);
        let of_first = |exit: Exit| {
            let counts = exit.counts.iter().filter(|(seed, _)| *seed == 0);
            let counts = counts.copied().collect();
            Exit { counts, ..exit }
        };
        let exits = exits.into_iter().map(of_first);
        Some(Self {
            places: places
                .map(|at| start_of_source(item, function, at))
                .collect(),
            exits: exits.map(|exit| (kind(&exit), counts(&exit, 0))).collect(),
        })
    }

    /// Whether each way out of the other version has as many references as one of this with such a
    /// result: some functions release what they get only where they fail.
    fn has_exits_of(&self, after: &Self) -> bool {
        after.exits.iter().all(|(kind, counts)| {
            let mut same = self.exits.iter().filter(|(it, _)| it == kind).peekable();
            same.peek().is_none() || same.any(|(_, it)| it == counts)
        })
    }
}

impl Changed<'_> {
    /// What an object was in the original.
    fn same_before(&self, item: &ProgramItem, function: &Function, lent: Lent) -> Option<Seed> {
        match lent.seed.origin {
            Origin::Param(local) => {
                let mut params = self.function.params.iter();
                let at = params.position(|it| *it == local)?;
                let origin = Origin::Param(*function.params.get(at)?);
                Some(Seed {
                    origin,
                    ..lent.seed
                })
            }
            _ => {
                let call = self.call_of(&lent.seed)?;
                let (same, _) = calls(function).find(|(it, _)| {
                    let origin = Origin::Call(*it);
                    span_of(
                        item,
                        function,
                        &Seed {
                            origin,
                            ..lent.seed
                        },
                    ) == Some(call)
                })?;
                let origin = Origin::Call(same);
                Some(Seed {
                    origin,
                    ..lent.seed
                })
            }
        }
    }
}

/// The objects that are lent to variables whose values are released somewhere.
fn lent(changed: Changed<'_>, function: &Function) -> Vec<Lent> {
    let Changed {
        original,
        item,
        applied,
        handing,
        ..
    } = changed;
    let tree = &function.tree;
    let released = released(function);
    let own = seeds(item, function, applied, handing);
    let seed = |origin, gives| Seed {
        origin,
        gives,
        owned: false,
    };
    let lends = |call: ExprId| {
        let name = tree.called(call)?;
        let returns = match capi::effects(name) {
            Some(effects) => effects.returns,
            None => original.callees.returns(name)?,
        };
        (returns == Returns::Borrowed).then(|| seed(Origin::Call(call), Gives::Result))
    };
    let params = function.params.iter().map(|&local| Lent {
        seed: seed(Origin::Param(local), Gives::Result),
        local,
    });
    let stored = tree.stores().filter_map(|(local, value)| {
        let seed = lends(tree.without_casts(value))?;
        Some(Lent { seed, local })
    });
    let filled = calls(function).flat_map(|(call, _)| {
        let args = filled_by(function, call).into_iter();
        args.map(move |(at, local)| Lent {
            seed: seed(Origin::Call(call), Gives::Out(at)),
            local,
        })
    });
    let all = params.chain(stored).chain(filled);
    let is_object = |local| tree.local(local).ty.pointee().is_some();
    all.filter(|lent| {
        released.contains(&lent.local)
            && is_object(lent.local)
            && !own.iter().any(|own| own.origin == lent.seed.origin)
    })
    .collect()
}

/// The variables that a call lends objects through their addresses, which are these arguments:
/// `PyArg_ParseTuple(args, "O", &key)`.
fn filled_by(function: &Function, call: ExprId) -> Vec<(u8, LocalId)> {
    let tree = &function.tree;
    let Some((name, args)) = tree.call(call) else {
        return Vec::new();
    };
    let lends = |at: usize| {
        let format = |at: usize| tree.as_string(*args.get(at)?);
        capi::stored(name, at, format) == Stored::Known(OutKind::Borrowed)
    };
    let addresses = (0u8..).zip(args).filter_map(|(at, &arg)| {
        let local = tree.as_address(tree.without_casts(arg))?;
        lends(usize::from(at)).then_some((at, local))
    });
    addresses.collect()
}

/// The variables that are released by their names somewhere, and those that they get values from.
fn released(function: &Function) -> BTreeSet<LocalId> {
    let tree = &function.tree;
    let named = calls(function).filter_map(|(call, name)| {
        let (_, args) = tree.call(call).filter(|_| releases(name))?;
        tree.as_local(tree.without_casts(*args.first()?))
    });
    let mut found: BTreeSet<LocalId> = named.collect();
    loop {
        let from = tree.stores().filter_map(|(local, value)| {
            let from = tree.as_local(tree.without_casts(value))?;
            found.contains(&local).then_some(from)
        });
        let more: BTreeSet<LocalId> = from.collect();
        if more.is_subset(&found) {
            return found;
        }
        found.extend(more);
    }
}

/// Whether a function is there to release its first argument.
fn releases(name: &str) -> bool {
    matches!(
        capi::counts(name),
        Some(Counts::Release { .. } | Counts::Clear | Counts::Replace)
    )
}
