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
use crate::validate::Validator;

/// A function by its file and name.
type Function = (FileId, String);

/// Functions with the safe fixes after which they were looked at.
pub(in crate::engine) type Seen = BTreeMap<Function, Vec<Fix>>;

/// Looks once more at what is open in functions with safe fixes, as they are after these; whether
/// anything was found. `proven` are the findings with what was proven of their fixes; what was `seen`
/// is not looked at again.
pub(in crate::engine) fn solve(
    (package, config, program): (&Package, &Config, &Program<'_>),
    validator: &mut Validator<'_>,
    seen: &mut Seen,
    proven: &[Finding],
    findings: &mut [Finding],
) -> bool {
    let mut functions = half_done(proven, findings);
    functions.retain(|of, fixes| seen.insert(of.clone(), fixes.clone()).as_ref() != Some(fixes));
    if functions.is_empty() {
        return false;
    }
    let made = functions.values().flatten();
    let (edits, _) = EditSet::merge((0..).map(FixId).zip(made));
    let files = edits.files();
    let written: Vec<Edit> = files.flat_map(|file| edits.edits(file)).cloned().collect();
    let copy = Edited::new(package, program, &written);
    let mut any = false;
    for (of, (next, numbers)) in next(config, proven, &copy, &functions) {
        let first = &functions[&of];
        let fix = Outcome::Fix(joined(package, &copy, &written, first, &next));
        let is_first = |finding: &Finding| finding.fix().is_some_and(|fix| first.contains(fix));
        let parts = findings.iter().enumerate();
        let parts = parts.filter(|(number, it)| numbers.contains(number) || is_first(it));
        let parts: Vec<usize> = parts.map(|(number, _)| number).collect();
        let mut tried = findings[numbers[0]].clone();
        tried.outcome.clone_from(&fix);
        validator.fixes(std::slice::from_mut(&mut tried));
        if safe_fix(&tried).is_some() {
            any = true;
            for number in parts {
                findings[number].outcome.clone_from(&fix);
            }
        }
    }
    any
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
    for found in copy.planned(&asked, &is_near) {
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

/// The safe fixes of functions in which something else is open, those that clash with none of another
/// function.
fn half_done(proven: &[Finding], findings: &[Finding]) -> BTreeMap<Function, Vec<Fix>> {
    let open = proven.iter().filter(|it| is_open(it));
    let open: BTreeSet<Function> = open.filter_map(function).collect();
    let mut fixes: BTreeMap<Function, Vec<Fix>> = BTreeMap::new();
    for (proven, finding) in proven.iter().zip(findings) {
        let of = function(finding).filter(|of| open.contains(of));
        if let (Some(_), Some(fix), Some(of)) = (safe_fix(proven), finding.fix(), of) {
            let fixes = fixes.entry(of).or_default();
            if !fixes.contains(fix) {
                fixes.push(fix.clone());
            }
        }
    }
    // A fix for several functions goes with the first.
    let mut known: BTreeSet<&[Edit]> = BTreeSet::new();
    let shared: Vec<Function> = fixes
        .iter()
        .filter(|(_, fixes)| !fixes.iter().all(|fix| known.insert(&fix.edits)))
        .map(|(of, _)| of.clone())
        .collect();
    fixes.retain(|of, _| !shared.contains(of));
    let owners = fixes
        .iter()
        .flat_map(|(of, fixes)| fixes.iter().map(move |_| of));
    let owners: Vec<&Function> = owners.collect();
    let (_, conflicts) = EditSet::merge((0..).map(FixId).zip(fixes.values().flatten()));
    let clashing = conflicts
        .iter()
        .map(|it| owners[it.rejected.0 as usize].clone());
    let clashing: BTreeSet<Function> = clashing.collect();
    fixes.retain(|of, _| !clashing.contains(of));
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
