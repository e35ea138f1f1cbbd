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
use crate::rule::{Finding, Outcome};
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
    let copy = Edited::new(package, program, &written);
    let all = next(config, findings, &copy, &functions);
    for (of, (next, numbers)) in &all {
        let first = &functions[of];
        let fix = joined(package, &copy, &written, first, next);
        for (number, finding) in findings.iter_mut().enumerate() {
            let is_first = safe_fix(finding).is_some_and(|it| first.contains(it));
            if is_first || numbers.contains(&number) {
                finding.outcome = Outcome::Fix(fix.clone());
            }
        }
    }
    !all.is_empty()
}

/// The safe fixes that the copy has for what is open in `functions`, as one fix each, with the numbers
/// of their findings.
fn next(
    config: &Config,
    findings: &[Finding],
    copy: &Edited<'_>,
    functions: &BTreeMap<Function, Vec<Fix>>,
) -> BTreeMap<Function, (Fix, Vec<usize>)> {
    let is_near = |it: &Finding| function(it).is_some_and(|it| functions.contains_key(&it));
    let near = findings.iter().enumerate();
    let near: Vec<(usize, &Finding)> = near.filter(|(_, it)| is_open(it) && is_near(it)).collect();
    let asked = config.only(near.iter().map(|(_, it)| it.rule));
    let mut all: BTreeMap<Function, (Fix, Vec<usize>)> = BTreeMap::new();
    for found in copy.found_in(&asked, &is_near) {
        let (Some(fix), Some(number)) = (safe_fix(&found), copy.number(&near, &found)) else {
            continue;
        };
        let Some(of) = function(&found) else { continue };
        let (all, numbers) = all.entry(of).or_insert_with(|| (Fix::safe(""), Vec::new()));
        all.include(fix);
        all.title.clone_from(&fix.title);
        numbers.push(number);
    }
    all
}

/// The fixes `first` of a function, and `next`, which the copy has after them, as one.
fn joined(
    package: &Package,
    copy: &Edited<'_>,
    written: &[Edit],
    first: &[Fix],
    next: &Fix,
) -> Fix {
    let is_own = |edit: &&Edit| first.iter().any(|fix| fix.edits.contains(edit));
    let own: Vec<&Edit> = written.iter().filter(is_own).collect();
    let mut fix = copy.completed(package, next.clone(), &own);
    first.iter().for_each(|first| fix.rest_on(first));
    fix.title = format!("{}; {}", first[0].title, next.title);
    fix
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
    finding
        .fix()
        .filter(|fix| fix.confidence == Confidence::Safe)
}

fn function(finding: &Finding) -> Option<Function> {
    Some((finding.file, finding.function.clone()?))
}
