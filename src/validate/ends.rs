//! How variables fare along the paths of a function, to compare two versions of it.

use std::collections::BTreeSet;

use super::original::Original;
use super::proof::graph;
use crate::ast::{ExprKind, Function, LocalId, Name, Tree};
use crate::cfg::{Cfg, Source};
use crate::ownership::track::{
    self, Callees, Exit, Followed, Gives, Handed, Origin, Problem, Seed, Trouble,
};

/// A way to follow seeds through a function.
type Follow = fn(&Cfg, &Tree, &[Seed], &dyn Callees) -> Option<Followed>;

/// How the variables of one name fare along the paths of a function.
pub(super) struct Ends {
    /// What is wrong, if the function owns nothing of what they get.
    problems: BTreeSet<Problem>,
    /// For each way out what kind of value is returned, and the counts.
    exits: BTreeSet<(Kind, Vec<i8>)>,
    /// All counts that are not 0.
    pub(super) counts: BTreeSet<i8>,
}

/// What an exit returns.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Null,
    Int(i64),
    Other,
}

impl Ends {
    /// Follows what the variables get from elsewhere than `seeds`; `None` if there are too many
    /// paths.
    pub(super) fn new(
        original: &Original<'_>,
        function: &Function,
        name: &str,
        seeds: &[Seed],
    ) -> Option<Self> {
        Self::following(original, function, name, seeds, track::follow)
    }

    /// As [`Self::new`], over more paths than there are where there are many.
    pub(super) fn rough(
        original: &Original<'_>,
        function: &Function,
        name: &str,
        seeds: &[Seed],
    ) -> Option<Self> {
        Self::following(original, function, name, seeds, track::follow_roughly)
    }

    fn following(
        original: &Original<'_>,
        function: &Function,
        name: &str,
        seeds: &[Seed],
        follow: Follow,
    ) -> Option<Self> {
        let first = seeds.len();
        let locals = (0u32..).zip(&function.tree.locals);
        let locals = locals.filter(|(_, local)| local.name == name);
        let watched = locals.map(|(at, _)| Seed {
            origin: Origin::Local(LocalId(at)),
            gives: Gives::Result,
            owned: false,
        });
        let seeds: Vec<Seed> = seeds.iter().copied().chain(watched).collect();
        let graph = graph(function);
        let followed = follow(&graph, &function.tree, &seeds, original.callees)?;
        let troubles = followed.troubles.iter().filter(|t| match t.problem {
            // No seed gave what is released there.
            Problem::ReleaseOfNull | Problem::ReleaseOfUnset => releases(&function.tree, t, name),
            _ => t.seed >= first,
        });
        let exits = followed.exits.iter();
        let exits: BTreeSet<_> = exits
            .map(|exit| (kind(exit), counts(exit, first)))
            .collect();
        Some(Self {
            problems: troubles.map(|trouble| trouble.problem).collect(),
            counts: exits
                .iter()
                .flat_map(|(_, counts)| counts)
                .copied()
                .collect(),
            exits,
        })
    }

    /// Takes the variables for what others own all the time: behind a reference that comes and goes
    /// they are what they were.
    ///
    /// ```c
    /// PyObject *d = self->dict;
    /// Py_INCREF(d);
    /// …
    /// Py_DECREF(d);
    /// return PyDict_Size(d);      /* as without the two */
    /// ```
    pub(super) fn lend(&mut self) {
        self.problems.remove(&Problem::UseAfterRelease);
    }

    /// Whether each way out of the other version does what one of this does, and nothing new is
    /// wrong.
    pub(super) fn are_those_of(&self, after: &Self) -> bool {
        self.exits == after.exits && after.problems.is_subset(&self.problems)
    }

    /// Whether the other version ends with no other counts, and nothing new is wrong.
    pub(super) fn has_counts_of(&self, after: &Self) -> bool {
        after.counts.is_subset(&self.counts) && after.problems.is_subset(&self.problems)
    }

    /// Whether the code asks how many references one of them has.
    pub(super) fn count_matters(&self) -> bool {
        self.problems.contains(&Problem::CountMatters)
    }
}

/// Whether the trouble shows where a call counts a variable of this name.
fn releases(tree: &Tree, trouble: &Trouble, name: &str) -> bool {
    let Some(Source::Expr(call)) = trouble.at else {
        return false;
    };
    let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
        return false;
    };
    args.iter()
        .any(|&arg| match tree.expr(tree.without_casts(arg)).kind {
            ExprKind::Name(Name::Local(local)) => &*tree.local(local).name == name,
            _ => false,
        })
}

pub(super) fn kind(exit: &Exit) -> Kind {
    match exit.value {
        Handed::Null | Handed::Int(0) => Kind::Null,
        Handed::Int(number) => Kind::Int(number),
        Handed::Instance { .. } | Handed::Inside(_) | Handed::Other => Kind::Other,
    }
}

/// References that are taken and not released, where not 0: negative where more are released, or
/// handed to the caller, than were taken.
pub(super) fn counts(exit: &Exit, first: usize) -> Vec<i8> {
    let of_seeds = exit.counts.iter().filter(|(seed, _)| *seed >= first);
    let mut counts: Vec<i8> = of_seeds.map(|(_, count)| *count).collect();
    if let Handed::Instance { seed, count } = exit.value
        && seed >= first
    {
        if let Some(at) = counts.iter().position(|other| *other == count) {
            counts.remove(at);
        }
        counts.push(count.saturating_sub(1));
    }
    counts.retain(|count| *count != 0);
    counts.sort_unstable();
    counts
}
