//! References that the function forgets on some path, and forgot there before a change.
//!
//! ```c
//! item = PyList_GetItem(list, i);               item = PyList_GetItemRef(list, i);
//! Py_INCREF(item);
//! CHECK(PyList_SetSlice(list, 0, i, NULL));     /* hides a `return NULL` */
//! return item;
//! ```
//!
//! The lookup gives what the code took on every path. Where it takes no other reference now, and
//! all that released one or gave it away is still there, no path ends with more of them.

use std::collections::BTreeSet;

use super::changed::Changed;
use super::proof::{calls, graph, span_of, start_of_source};
use crate::ast::Function;
use crate::cfg::Source;
use crate::ownership::track::{self, Gives, Ledger, Origin, Seed};
use crate::program::ProgramItem;
use crate::source::ByteSpan;

impl Changed<'_> {
    /// Whether no path forgets more references of `seed` than before.
    pub(super) fn forgets_no_more(&self, seed: &Seed) -> bool {
        let after = self.ledger(self.function, seed);
        let before = self.stands_for(seed);
        !before.is_empty()
            && after.is_some_and(|after| before.iter().all(|it| self.is_no_worse(it, &after)))
    }

    /// What the original did with the references of what `seed` stands for, in each configuration.
    fn stands_for(&self, seed: &Seed) -> Vec<Before<'_>> {
        let Some(call) = self.call_of(seed) else {
            return Vec::new();
        };
        let (file, _) = self.item.place;
        // `PyObject *v = get(d);` may have turned into a declaration, and a call right behind it.
        let bytes = self.original.program.files.get(file).bytes();
        let stands_for = |old: ByteSpan| {
            let gone = old.end().0 as usize..call.start().0 as usize;
            let is_next = |rest: &[u8]| rest.iter().all(|b| *b == b';' || b.is_ascii_whitespace());
            let is_inside = call.start() < old.start() && old.start() < call.end();
            old.start() == call.start() || is_inside || bytes.get(gone).is_some_and(is_next)
        };
        let seeds = self.befores().flat_map(|(item, function)| {
            let seeds = self.seeds_before(function).into_iter();
            seeds.map(move |seed| (item, function, seed))
        });
        let same = seeds
            .filter(|(item, function, seed)| span_of(item, function, seed).is_some_and(stands_for));
        same.map(|(item, function, seed)| Before {
            item,
            function,
            owned: seed.owned,
            ledger: self.ledger(function, &seed),
        })
        .collect()
    }

    /// The lookups, and the lists that a change may turn into tuples.
    fn seeds_before(&self, function: &Function) -> Vec<Seed> {
        let mut seeds = self.borrowed_before(function);
        let lists = calls(function).filter(|(_, name)| *name == "PySequence_Fast");
        seeds.extend(lists.map(|(call, _)| Seed {
            origin: Origin::Call(call),
            gives: Gives::Result,
            owned: true,
        }));
        seeds
    }

    fn ledger(&self, function: &Function, seed: &Seed) -> Option<Ledger> {
        let seeds = std::slice::from_ref(seed);
        let callees = self.original.callees;
        let followed = track::follow_roughly(&graph(function), &function.tree, seeds, callees)?;
        Some(followed.ledgers.into_values().next().unwrap_or_default())
    }

    fn is_no_worse(&self, before: &Before<'_>, after: &Ledger) -> bool {
        let Some(ledger) = &before.ledger else {
            return false;
        };
        let old = |at: &Source| {
            let start = start_of_source(self.item, self.function, *at)?;
            self.applied.map.to_original(start)
        };
        let was = |at: &Source| start_of_source(before.item, before.function, *at);
        let taken: BTreeSet<_> = ledger.takes.iter().filter_map(was).collect();
        let is_taken = |at: &Source| before.owned && old(at).is_some_and(|at| taken.contains(&at));
        let lost: BTreeSet<_> = after.losses().filter_map(old).collect();
        let stays = |at: &Source| was(at).is_some_and(|at| lost.contains(&at));
        !ledger.is_untaken && after.takes.iter().all(is_taken) && ledger.losses().all(stays)
    }
}

/// What a function of the original did with the references of a call.
struct Before<'a> {
    item: &'a ProgramItem,
    function: &'a Function,
    /// Whether the call gave one.
    owned: bool,
    /// `None` if there are too many paths.
    ledger: Option<Ledger>,
}
