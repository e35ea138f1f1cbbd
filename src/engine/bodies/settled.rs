//! Fixes that others make possible: what a second run would make of the result of the first.
//!
//! ```c
//! a = PyDict_GetItemWithError(d, k);           /* gets an exit with the error value */
//! if (a == NULL && PyErr_Occurred())
//!     return -1;
//! b = PyList_GetItem(l, 0);                    /* finds its exit there in the result only */
//! ```
//!
//! Both become one fix.

use std::collections::{BTreeMap, BTreeSet};

use super::edited::Edited;
use crate::edit::{Confidence, Edit, EditSet, Fix, FixId};
use crate::engine::Config;
use crate::package::Package;
use crate::program::Program;
use crate::rule::{Finding, Outcome, Selection, Selector};
use crate::source::FileId;

/// Most fixes that follow one from the other.
const MAX_ROUNDS: usize = 3;

/// A function by its file and name.
type Function = (FileId, String);

/// Looks again at what is open in functions with safe fixes, as they are after these.
pub(in crate::engine) fn solve(
    package: &Package,
    config: &Config,
    program: &Program<'_>,
    findings: &mut [Finding],
) {
    for _ in 0..MAX_ROUNDS {
        if !round(package, config, program, findings) {
            return;
        }
    }
}

/// Whether anything was found.
fn round(
    package: &Package,
    config: &Config,
    program: &Program<'_>,
    findings: &mut [Finding],
) -> bool {
    let functions = half_done(findings);
    let made = functions.values().flatten();
    let (edits, conflicts) = EditSet::merge((0..).map(FixId).zip(made));
    if functions.is_empty() || !conflicts.is_empty() {
        return false;
    }
    let files = edits.files();
    let written: Vec<Edit> = files.flat_map(|file| edits.edits(file)).cloned().collect();
    let is_near = |it: &Finding| function(it).is_some_and(|it| functions.contains_key(&it));
    let near = findings.iter().enumerate();
    let near: Vec<(usize, &Finding)> = near.filter(|(_, it)| is_open(it) && is_near(it)).collect();
    let copy = Edited::new(package, program, &written);
    let found = copy.found_in(&only(config, &near), &is_near);
    let mut joined: BTreeMap<Function, (Fix, Vec<usize>)> = BTreeMap::new();
    for found in &found {
        let (Some(next), Some(number)) = (safe_fix(found), copy.number(&near, found)) else {
            continue;
        };
        let Some(of) = function(found) else { continue };
        let entry = joined
            .entry(of)
            .or_insert_with(|| (Fix::safe(""), Vec::new()));
        entry.0.include(next);
        entry.0.title = next.title.clone();
        entry.1.push(number);
    }
    let outcomes = joined.into_iter().map(|(of, (next, numbers))| {
        let first = &functions[&of];
        let own = first.iter().flat_map(|fix| &fix.edits);
        let own: Vec<&Edit> = written
            .iter()
            .filter(|it| own.clone().any(|own| own == *it))
            .collect();
        let title = format!("{}; {}", first[0].title, next.title);
        let mut fix = copy.completed(package, next, &own);
        for first in first {
            fix.needs.extend(
                first
                    .needs
                    .iter()
                    .filter(|it| !fix.needs.contains(it))
                    .cloned()
                    .collect::<Vec<_>>(),
            );
            fix.propagates |= first.propagates;
        }
        fix.title = title;
        (first.clone(), numbers, fix)
    });
    let outcomes: Vec<_> = outcomes.collect();
    for (first, numbers, fix) in &outcomes {
        for (number, finding) in findings.iter_mut().enumerate() {
            let is_first = safe_fix(finding).is_some_and(|it| first.contains(it));
            if is_first || numbers.contains(&number) {
                finding.outcome = Outcome::Fix(fix.clone());
            }
        }
    }
    !outcomes.is_empty()
}

/// The safe fixes of functions in which something else is open.
fn half_done(findings: &[Finding]) -> BTreeMap<Function, Vec<Fix>> {
    let mut fixes: BTreeMap<Function, Vec<Fix>> = BTreeMap::new();
    for finding in findings {
        if let (Some(fix), Some(of)) = (safe_fix(finding), function(finding)) {
            let fixes = fixes.entry(of).or_default();
            if !fixes.contains(fix) {
                fixes.push(fix.clone());
            }
        }
    }
    let open = findings.iter().filter(|it| is_open(it));
    let open: BTreeSet<Function> = open.filter_map(function).collect();
    fixes.retain(|of, _| open.contains(of));
    fixes
}

/// Whether a reference is not taken yet.
fn is_open(finding: &Finding) -> bool {
    let is_borrowed = finding.rule.code.starts_with("UG1") || finding.rule.code == "UG301";
    is_borrowed && safe_fix(finding).is_none() && !matches!(finding.outcome, Outcome::Safe(_))
}

fn safe_fix(finding: &Finding) -> Option<&Fix> {
    match &finding.outcome {
        Outcome::Fix(fix) if fix.confidence == Confidence::Safe => Some(fix),
        _ => None,
    }
}

fn function(finding: &Finding) -> Option<Function> {
    Some((finding.file, finding.function.clone()?))
}

/// `config` with the rules of some findings alone.
fn only(config: &Config, near: &[(usize, &Finding)]) -> Config {
    let mut rules: Vec<_> = near.iter().map(|(_, it)| it.rule).collect();
    rules.sort_by_key(|rule| rule.code);
    rules.dedup_by_key(|rule| rule.code);
    Config {
        selection: Selection {
            select: rules.into_iter().map(Selector::of).collect(),
            ignore: Vec::new(),
        },
        ..config.clone()
    }
}
