//! What was wrong with the references of a function before a change: that is not its doing.

use super::changed::Changed;
use super::proof::{follow, graph, releases_nothing, span_of, start_of};
use crate::ast::Function;
use crate::cfg::Source;
use crate::ownership::track::{self, Problem, Report, Seed, Trouble};
use crate::source::ByteOffset;

/// The troubles of the original, to compare those of the result with.
pub(super) struct Before<'a> {
    changed: Changed<'a>,
    /// What is wrong with the borrowed references of the original, and where that shows: a reference
    /// taken by `Py_INCREF` that some exit forgets.
    old: Vec<(Problem, ByteOffset)>,
}

impl<'a> Before<'a> {
    pub(super) fn new(changed: Changed<'a>) -> Self {
        let mut old = Vec::new();
        for (item, function) in changed.befores() {
            let seeds = changed.borrowed_before(function);
            let counts = |trouble: &Trouble| !releases_nothing(trouble);
            let report = follow(function, &seeds, changed.original.callees, &counts);
            if let Report::Complete(troubles) = report {
                old.extend(troubles.iter().filter_map(|trouble| {
                    Some((trouble.problem, start_of(item, function, trouble)?))
                }));
            }
        }
        Self { changed, old }
    }

    /// Where the original has the same trouble, if it has.
    pub(super) fn at(&self, trouble: &Trouble) -> Option<ByteOffset> {
        let start = start_of(self.changed.item, self.changed.function, trouble)?;
        let at = self.changed.applied.map.to_original(start)?;
        let mut known = self.old.iter().filter(|(_, known)| *known == at);
        let is_known = known.any(|(problem, _)| problem.of_owner() == trouble.problem);
        is_known.then_some(at)
    }

    /// Whether a pointer goes where it may outlive a reference which the function had there before,
    /// and released somewhere on every path:
    ///
    /// ```c
    /// v = PyDict_GetItem(cache, key);       v = PyDict_GetItemRef(…);
    /// Py_INCREF(v);
    /// self->trace = ((Entry *)v)->trace;
    /// ```
    fn is_kept(&self, trouble: &Trouble) -> bool {
        let is_free = |at| !self.old.contains(&(Problem::BorrowedEscapes, at));
        let mut problems = self.old.iter().map(|(problem, _)| *problem);
        trouble.problem == Problem::DerivedEscapes
            && self.at(trouble).is_some_and(is_free)
            && !problems.any(|problem| problem == Problem::Leak)
    }

    /// Whether the function stores the object without a reference, before as after, and releases the
    /// one that it has itself on every path:
    ///
    /// ```c
    /// v = PyDict_GetItem(cache, key);       v = PyDict_GetItemRef(…);
    /// Py_INCREF(v);
    /// self->last = v;
    /// Py_DECREF(v);
    /// ```
    pub(super) fn only_lends(&self, seed: &Seed, trouble: &Trouble) -> bool {
        let changed = &self.changed;
        let is_clean = |function: &Function, seed: Seed| {
            let (graph, tree) = (graph(function), &function.tree);
            let followed = track::follow_lending(&graph, tree, &[seed], changed.original.callees);
            followed.is_some_and(|followed| followed.troubles.is_empty())
        };
        let Some(call) = changed.call_of(seed) else {
            return false;
        };
        let lookups = changed.befores().flat_map(|(item, old)| {
            let seeds = changed.borrowed_before(old).into_iter();
            seeds.map(move |seed| (span_of(item, old, &seed), old, seed))
        });
        let mut lookups = lookups
            .filter(|(span, ..)| {
                span.is_some_and(|span| span.start() < call.end() && call.start() < span.end())
            })
            .peekable();
        trouble.problem == Problem::OverRelease
            && self.at(trouble).is_some()
            && is_clean(changed.function, *seed)
            && lookups.peek().is_some()
            && lookups.all(|(_, old, seed)| is_clean(old, seed))
    }

    /// Whether a function that gets the object can only release references of others: there was no
    /// other one at that place.
    ///
    /// ```c
    /// v = PyList_GET_ITEM(removed, i);      v = PyList_GetItemRef(removed, i);
    /// remove(set, v);                       /* releases that of the set */
    ///                                       Py_DECREF(v);
    /// ```
    fn is_of_others(&self, trouble: &Trouble) -> bool {
        let was_borrowed = |at| !self.old.contains(&(Problem::MayBePassedOn, at));
        trouble.problem == Problem::MayBePassedOn && self.at(trouble).is_some_and(was_borrowed)
    }

    /// Whether the code is no worse off than it was: it released its own reference to an object
    /// before the last use of what a function made of it, and does so still.
    ///
    /// ```c
    /// Py_INCREF(v);
    /// made = convert(v);
    /// Py_DECREF(v);       /* with the reference of `PyDict_GetItemRef` as with that of above */
    /// use(made);
    /// ```
    pub(super) fn is_same(&self, trouble: &Trouble) -> bool {
        let Some(Source::Expr(release)) = trouble.since else {
            return self.is_kept(trouble) || self.is_of_others(trouble);
        };
        let first = self.changed.function.tree.expr(release).range.start;
        !self.changed.is_inserted(first) && self.at(trouble).is_some()
    }
}
