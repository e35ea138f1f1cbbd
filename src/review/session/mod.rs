//! The state of a review: what there is, what is decided, where the person is.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::clash::clash;
use super::decision::{Decision, GroupId, Mark, Record};
use super::group::Group;
use super::ledger::Ledger;
use crate::edit::Fix;
use crate::source::FileSet;

/// Which fixes a decision is about. All but `This` mean fixes without a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The current one, whatever was decided of it.
    This,
    /// This and all later ones of the same file.
    RestOfFile,
    /// Those of the same function.
    Function,
    /// Those of the same rule, in all files.
    Rule,
    /// All.
    Everything,
}

/// How many fixes are in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accepted, not yet written.
    pub accepted: usize,
    /// Rejected.
    pub rejected: usize,
    /// Undecided or skipped.
    pub open: usize,
}

/// What became of a decision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decided {
    /// What is to be kept; `None` if no decision changed.
    pub record: Option<Record>,
    /// How many decisions changed.
    pub changed: usize,
    /// Fixes that were not accepted because they clash with the accepted ones named here.
    pub clashes: Vec<(GroupId, GroupId)>,
}

/// Fixes with decisions. A key costs no more than the logarithm of the number of fixes, and for a
/// decision about many of them their number.
#[derive(Debug)]
pub struct Session<'a> {
    files: &'a FileSet,
    pub(super) groups: Vec<Group<'a>>,
    index: BTreeMap<GroupId, usize>,
    /// Decision of each group, as the ledger has it.
    decisions: Vec<Decision>,
    ledger: Ledger,
    /// Undecided and skipped ones.
    pub(super) open: BTreeSet<usize>,
    counts: Counts,
    by_rule: BTreeMap<&'static str, Vec<usize>>,
    pub(super) current: usize,
}

impl<'a> Session<'a> {
    /// A review of `groups` (as [`groups`](super::groups) makes them of `files`) that begins at the
    /// first one without a decision.
    #[must_use]
    pub fn new(files: &'a FileSet, groups: Vec<Group<'a>>, ledger: Ledger) -> Self {
        let names = groups.iter().map(|group| group.id.clone());
        let mut by_rule = BTreeMap::<_, Vec<usize>>::new();
        for (at, group) in groups.iter().enumerate() {
            let rules: BTreeSet<_> = group.findings().map(|it| it.rule.code).collect();
            for rule in rules {
                by_rule.entry(rule).or_default().push(at);
            }
        }
        let mut session = Self {
            files,
            index: names.zip(0..).collect(),
            decisions: vec![Decision::Undecided; groups.len()],
            open: (0..groups.len()).collect(),
            counts: Counts {
                open: groups.len(),
                ..Counts::default()
            },
            current: 0,
            groups,
            ledger,
            by_rule,
        };
        for at in 0..session.groups.len() {
            let decision = session.ledger.decision(&session.groups[at].id);
            if session.fits(at, &decision) {
                session.set(at, decision);
            }
        }
        session.current = session.first_open().unwrap_or(0);
        session
    }

    /// All fixes, by file and place.
    #[must_use]
    pub fn groups(&self) -> &[Group<'a>] {
        &self.groups
    }

    /// Position of the fix that is shown; 0 if there is none.
    #[must_use]
    pub fn position(&self) -> usize {
        self.current
    }

    /// The fix that is shown.
    #[must_use]
    pub fn current(&self) -> Option<&Group<'a>> {
        self.groups.get(self.current)
    }

    /// What is decided of the fix at a position.
    ///
    /// # Panics
    /// If there is no such fix.
    #[must_use]
    pub fn decision(&self, at: usize) -> &Decision {
        &self.decisions[at]
    }

    /// Position of the fix with this id.
    #[must_use]
    pub fn find(&self, id: &GroupId) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// The numbers for the status line.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Positions of the accepted fixes, in order.
    pub fn accepted(&self) -> impl Iterator<Item = usize> {
        let accepted = |at: &usize| self.decisions[*at].is_accepted();
        (0..self.groups.len()).filter(accepted)
    }

    /// What the fix at a position changes, in the form that was decided for.
    ///
    /// # Panics
    /// If there is no such fix.
    #[must_use]
    pub fn fix(&self, at: usize) -> Cow<'a, Fix> {
        self.form(at, &self.decisions[at])
            .unwrap_or(Cow::Borrowed(self.groups[at].fix))
    }

    /// What the fix at a position changes under `decision`; `None` if that can not be made of it:
    /// an edit of a function that has changed in its layout, an alternative that is gone.
    fn form(&self, at: usize, decision: &Decision) -> Option<Cow<'a, Fix>> {
        let group = &self.groups[at];
        match decision {
            Decision::Edited(edited) => edited.fix(self.files, group).map(Cow::Owned),
            Decision::Alternative(title) => group.alternative(title).map(Cow::Borrowed),
            _ => Some(Cow::Borrowed(group.fix)),
        }
    }

    /// Decisions about fixes that are not there any more, though nothing of them was written: the
    /// function around them has changed. In order of their ids.
    pub fn stale(&self) -> impl Iterator<Item = (&Mark, &Decision)> {
        let is_here = |mark: &Mark, decision| {
            self.find(&mark.id)
                .is_some_and(|at| self.fits(at, decision))
        };
        let unwritten = self.ledger.unwritten();
        unwritten.filter(move |(mark, decision)| !is_here(mark, decision))
    }

    /// Whether `decision` can be made of the fix at a position.
    fn fits(&self, at: usize, decision: &Decision) -> bool {
        self.form(at, decision).is_some()
    }

    /// Positions in `scope`: without a decision, except for `This`.
    #[must_use]
    pub fn scope(&self, scope: Scope) -> Vec<usize> {
        let Some(here) = self.current() else {
            return Vec::new();
        };
        let open = self.open.iter().copied();
        match scope {
            Scope::This => vec![self.current],
            Scope::RestOfFile => self
                .open
                .range(self.current..)
                .copied()
                .take_while(|&at| self.groups[at].path == here.path)
                .collect(),
            Scope::Function => {
                let range = self.same_function(self.current);
                self.open.range(range).copied().collect()
            }
            Scope::Rule => {
                let of_rule = self.by_rule.get(here.finding.rule.code);
                let of_rule = of_rule.into_iter().flatten().copied();
                of_rule.filter(|at| self.open.contains(at)).collect()
            }
            Scope::Everything => open.collect(),
        }
    }

    /// Accepts the fixes at `positions`, in their order, except those that clash with an accepted
    /// one: they stay as they are and are named.
    pub fn accept(&mut self, positions: &[usize]) -> Decided {
        let mut taken = BTreeSet::new();
        let mut clashes = Vec::new();
        for &at in positions {
            if self.decisions[at].is_accepted() {
                continue;
            }
            let group = &self.groups[at];
            let as_known = |&other: &usize| {
                let accepted = self.decisions[other] == Decision::Accepted;
                accepted || taken.contains(&other)
            };
            let known = group.clashes.iter().copied().find(as_known);
            match known.or_else(|| self.rival(at, group.fix, Decision::is_varied)) {
                Some(other) => clashes.push((group.id.clone(), self.groups[other].id.clone())),
                None => {
                    taken.insert(at);
                }
            }
        }
        let accepted: Vec<_> = taken.into_iter().collect();
        Decided {
            clashes,
            ..self.decide(&accepted, Decision::Accepted)
        }
    }

    /// Accepts the fix at a position in the form of `decision`, unless that clashes with an
    /// accepted fix.
    pub fn accept_as(&mut self, at: usize, decision: Decision) -> Decided {
        debug_assert!(decision.is_accepted());
        let Some(fix) = self.form(at, &decision) else {
            return Decided::default();
        };
        match self.rival(at, &fix, Decision::is_accepted) {
            Some(other) => Decided {
                clashes: vec![(self.groups[at].id.clone(), self.groups[other].id.clone())],
                ..Decided::default()
            },
            None => self.decide(&[at], decision),
        }
    }

    /// The first fix with a decision that `counts` and with which `fix`, in the place of the one
    /// at a position, clashes.
    fn rival(&self, at: usize, fix: &Fix, counts: fn(&Decision) -> bool) -> Option<usize> {
        let near = self.same_function(at);
        let far = self.groups[at].clashes.iter().copied();
        let mut others = far
            .filter(|other| !near.contains(other))
            .chain(near.clone());
        others.find(|&other| {
            other != at && counts(&self.decisions[other]) && clash(fix, &self.fix(other))
        })
    }

    /// Positions of the fixes in the function of the one at a position.
    fn same_function(&self, at: usize) -> Range<usize> {
        let here = &self.groups[at];
        let same = |group: &&Group<'_>| group.path == here.path && group.item == here.item;
        let before = self.groups[..at].iter().rev().take_while(same).count();
        let after = self.groups[at..].iter().take_while(same).count();
        at - before..at + after
    }

    /// Makes `decision`, which is not to be `Accepted`, of the fixes at `positions`.
    pub fn decline(&mut self, positions: &[usize], decision: Decision) -> Decided {
        debug_assert!(decision != Decision::Accepted, "`accept` looks for clashes");
        self.decide(positions, decision)
    }

    fn decide(&mut self, positions: &[usize], to: Decision) -> Decided {
        let changes = |at: &&usize| self.decisions[**at] != to;
        let marks: Vec<_> = positions
            .iter()
            .filter(changes)
            .map(|&at| self.groups[at].mark())
            .collect();
        if marks.is_empty() {
            return Decided::default();
        }
        let changed = marks.len();
        let record = Record::Decide { to, groups: marks };
        self.take(&record);
        Decided {
            record: Some(record),
            changed,
            clashes: Vec::new(),
        }
    }

    /// How many steps were taken, also in earlier reviews.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.ledger.steps()
    }

    /// Takes the last step back that was about a fix that is there, and goes to it. The records
    /// are empty if there is none.
    pub fn undo(&mut self) -> Vec<Record> {
        self.step_back_or_forth(Record::Undo)
    }

    /// Makes the step again that undo took back last.
    pub fn redo(&mut self) -> Vec<Record> {
        self.step_back_or_forth(Record::Redo)
    }

    fn step_back_or_forth(&mut self, record: Record) -> Vec<Record> {
        let mut records = Vec::new();
        loop {
            let here = |id: &GroupId| self.index.get(id).copied();
            let first = match record {
                Record::Undo => self.ledger.last_done().map(|mut ids| ids.find_map(here)),
                _ => self.ledger.last_undone().map(|mut ids| ids.find_map(here)),
            };
            let Some(first) = first else {
                return records;
            };
            self.take(&record);
            records.push(record.clone());
            if let Some(at) = first {
                self.current = at;
                return records;
            }
        }
    }

    /// Notes that the accepted fixes are in their files.
    pub fn written(&mut self) -> Record {
        let id = |at: usize| self.groups[at].id.clone();
        let groups = self.accepted().map(id).collect();
        let record = Record::Written { groups };
        self.take(&record);
        record
    }

    fn take(&mut self, record: &Record) {
        for id in self.ledger.apply(record) {
            let Some(at) = self.find(&id) else { continue };
            let decision = self.ledger.decision(&id);
            if self.fits(at, &decision) {
                self.set(at, decision);
            }
        }
    }

    fn set(&mut self, at: usize, decision: Decision) {
        *self.counts.of(&self.decisions[at]) -= 1;
        *self.counts.of(&decision) += 1;
        if decision.is_open() {
            self.open.insert(at);
        } else {
            self.open.remove(&at);
        }
        self.decisions[at] = decision;
    }
}

impl Counts {
    fn of(&mut self, decision: &Decision) -> &mut usize {
        match decision {
            Decision::Undecided | Decision::Skipped => &mut self.open,
            Decision::Accepted | Decision::Edited(_) | Decision::Alternative(_) => {
                &mut self.accepted
            }
            Decision::Rejected(_) => &mut self.rejected,
        }
    }
}

#[cfg(test)]
mod tests;
