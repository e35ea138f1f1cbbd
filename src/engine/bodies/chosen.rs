//! Lookups that a conditional expression chooses, in the branches of an `if`.
//!
//! ```c
//! x = d ? PyDict_GetItemString(d, "a") : NULL;      if (d) {
//!                                                       if (PyDict_GetItemStringRef(d, "a", &x) < 0) {
//!                                                           PyErr_Clear();
//!                                                       }
//!                                                   } else {
//!                                                       x = NULL;
//!                                                   }
//! ```
//!
//! The fix is that of a copy of the package which has the `if`.

use std::collections::{BTreeMap, BTreeSet};

use super::edited::Edited;
use crate::edit::{Edit, Fix};
use crate::engine::Config;
use crate::package::Package;
use crate::rule::{CallSite, Finding, ItemId, Outcome, PackageCx};
use crate::strong;

/// An expression, as the edits that write it as an `if`.
type Choice = Vec<Edit>;

/// Looks again at lookups that a condition stands in front of.
pub(in crate::engine) fn solve(
    package: &Package,
    config: &Config,
    cx: &PackageCx<'_>,
    findings: &mut [Finding],
) {
    let is_open = |it: &Finding| matches!(&it.outcome, Outcome::Manual(why) if strong::is_behind_condition(why));
    let open: Vec<&Finding> = findings.iter().filter(|it| is_open(it)).collect();
    let choices = apart(choices(cx, &open));
    if choices.is_empty() {
        return;
    }
    let is_near = |it: &Finding| {
        let mut open = open.iter();
        open.any(|open| open.file == it.file && open.function == it.function)
    };
    let mut written: Vec<Edit> = choices.iter().flatten().cloned().collect();
    written.sort_by_key(Edit::place);
    let copy = Edited::new(package, cx.program, &written);
    let found = copy.found_in(config, &is_near);
    let near = findings.iter().enumerate().filter(|(_, it)| is_near(it));
    let near: Vec<(usize, &Finding)> = near.collect();
    let unlike = copy.unlike(config, cx);
    let is_same = |choice: &Choice| {
        let mut unlike = unlike.iter();
        !unlike.any(|(file, span)| {
            let mut edits = choice.iter();
            edits.any(|edit| edit.file == *file && span.contains(edit.span))
        })
    };
    let solver = Solver {
        package,
        copy: &copy,
        choices: &choices,
        found: &found,
        near: &near,
    };
    let same = (0..choices.len()).filter(|&at| is_same(&choices[at]));
    let solved: Vec<_> = same.filter_map(|at| solver.solve(at)).collect();
    for (numbers, outcome) in solved {
        for number in numbers {
            findings[number].outcome = outcome.clone();
        }
    }
}

/// The expressions around the lookups of open findings that can be written as an `if`, in all
/// configurations alike.
fn choices(cx: &PackageCx<'_>, open: &[&Finding]) -> BTreeSet<Choice> {
    let mut calls: BTreeMap<ItemId, Vec<_>> = BTreeMap::new();
    let mut places = Vec::new();
    for finding in open {
        let sites = cx.calls_to(finding.api.unwrap_or_default()).iter();
        let here =
            |site: &&CallSite| cx.span(site.item, site.expr) == Some((finding.file, finding.span));
        for site in sites.filter(here) {
            calls.entry(site.item).or_default().push(site.expr);
            places.push((finding, site.item));
        }
    }
    let written = |(&item, calls): (&ItemId, &Vec<_>)| (item, strong::as_branches(cx, item, calls));
    let written: BTreeMap<ItemId, Vec<Choice>> = calls.iter().map(written).collect();
    let around = |finding: &Finding, item: ItemId| {
        let mut choices = written[&item].iter();
        choices.find(|choice| holds(choice, finding))
    };
    let alike = |finding: &&Finding| {
        let of_finding = places.iter().filter(|(it, _)| std::ptr::eq(**it, *finding));
        let choices: BTreeSet<_> = of_finding.map(|(it, item)| around(it, *item)).collect();
        match choices.into_iter().collect::<Vec<_>>()[..] {
            [Some(choice)] => Some(choice.clone()),
            _ => None,
        }
    };
    open.iter().filter_map(alike).collect()
}

/// Whether a finding is about the text of a choice.
fn holds(choice: &Choice, finding: &Finding) -> bool {
    let mut edits = choice.iter();
    edits.any(|edit| edit.file == finding.file && edit.span.contains(finding.span))
}

/// Those of which no edit is in the way of another's.
fn apart(all: BTreeSet<Choice>) -> Vec<Choice> {
    let mut all: Vec<Choice> = all.into_iter().collect();
    // What two of them insert at one place stands in the order of the expressions.
    all.sort_by_key(|choice| {
        let mut replaced = choice.iter().filter(|edit| !edit.span.is_empty());
        replaced.next().map(|edit| (edit.file, edit.span))
    });
    let mut kept: Vec<Choice> = Vec::new();
    for choice in all {
        let overlaps = |one: &Edit, other: &Edit| {
            one.file == other.file
                && one.span.start() < other.span.end()
                && other.span.start() < one.span.end()
        };
        let mut others = kept.iter().flatten();
        if !others.any(|other| choice.iter().any(|edit| overlaps(edit, other))) {
            kept.push(choice);
        }
    }
    kept
}

/// Whether edits of two choices stand beside each other.
fn touch(one: &Choice, other: &Choice) -> bool {
    one.iter().any(|one| {
        let mut others = other.iter().filter(|other| other.file == one.file);
        others.any(|other| {
            one.span.start() <= other.span.end() && other.span.start() <= one.span.end()
        })
    })
}

struct Solver<'s> {
    package: &'s Package,
    copy: &'s Edited<'s>,
    choices: &'s [Choice],
    /// What the rules say of the functions in the copy.
    found: &'s [Finding],
    /// The findings in the same functions of the package.
    near: &'s [(usize, &'s Finding)],
}

impl Solver<'_> {
    /// What becomes of a choice, and the numbers of the findings that this is the outcome of.
    fn solve(&self, choice: usize) -> Option<(BTreeSet<usize>, Outcome)> {
        let mut cluster = BTreeSet::from([choice]);
        loop {
            let asked = self.found.iter().filter(|it| self.is_in(&cluster, it));
            let asked: Vec<&Finding> = asked.collect();
            if let Some(reason) = by_hand(&asked) {
                // A line of the copy is none of the package.
                let is_true = !reason.contains(" line ");
                let inside = self.inside(&BTreeSet::from([choice])).collect();
                return is_true.then_some((inside, Outcome::Manual(reason)));
            }
            let fix = super::together(&asked).filter(|_| self.are_all(&cluster))?;
            let is_touched = |at: &usize| {
                let choice = &self.choices[*at];
                let mut cluster = cluster.iter().map(|&at| &self.choices[at]);
                self.copy.changes(&fix, choice) || cluster.any(|other| touch(other, choice))
            };
            let touched = (0..self.choices.len()).filter(is_touched);
            let wider: BTreeSet<usize> = touched.chain(cluster.iter().copied()).collect();
            if wider == cluster {
                let edits = cluster.iter().flat_map(|&at| &self.choices[at]);
                let edits: Vec<&Edit> = edits.collect();
                let numbers = self.numbers(&cluster, &fix);
                let fix = self.copy.completed(self.package, fix, &edits);
                return Some((numbers, Outcome::Fix(fix)));
            }
            cluster = wider;
        }
    }

    /// Whether the rules say as much of each of the choices in the copy as they do in the package.
    fn are_all(&self, cluster: &BTreeSet<usize>) -> bool {
        cluster.iter().all(|&at| {
            let choice = &self.choices[at];
            let found = self
                .found
                .iter()
                .filter(|it| self.is_in(&BTreeSet::from([at]), it));
            let near = self.near.iter().filter(|(_, it)| holds(choice, it));
            found.count() == near.count()
        })
    }

    fn is_in(&self, cluster: &BTreeSet<usize>, found: &Finding) -> bool {
        let mut edits = cluster.iter().flat_map(|&at| &self.choices[at]);
        edits.any(|edit| self.copy.holds(edit, found))
    }

    /// The findings in the choices.
    fn inside(&self, cluster: &BTreeSet<usize>) -> impl Iterator<Item = usize> {
        let near = self.near.iter();
        let inside = near.filter(|(_, it)| cluster.iter().any(|&at| holds(&self.choices[at], it)));
        inside.map(|(number, _)| *number)
    }

    /// Those, and the ones beside them that `fix` is the fix of as well.
    fn numbers(&self, cluster: &BTreeSet<usize>, fix: &Fix) -> BTreeSet<usize> {
        let is_same = |found: &&Finding| match &found.outcome {
            Outcome::Fix(own) => own.edits.iter().all(|edit| fix.edits.contains(edit)),
            Outcome::Safe(_) | Outcome::Manual(_) => false,
        };
        let beside = self.found.iter().filter(is_same);
        let beside = beside.filter_map(|found| self.copy.number(self.near, found));
        self.inside(cluster).chain(beside).collect()
    }
}

/// Why one of `findings` has no fix.
fn by_hand(findings: &[&Finding]) -> Option<String> {
    findings.iter().find_map(|it| match &it.outcome {
        Outcome::Manual(reason) => Some(reason.clone()),
        Outcome::Fix(_) | Outcome::Safe(_) => None,
    })
}
