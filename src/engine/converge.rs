//! Fixes that get in each other's way become one: what the second rule has to say of the result of
//! the first is joined to it, so that a second run finds nothing.
//!
//! ```c
//! while (PyDict_Next(d, &pos, &k, &v)) {      /* UG301: `return` must leave the section */
//!     w = PyDict_GetItem(other, k);
//!     if (w != NULL)
//!         return check(w);                    /* UG102: `return` needs a release before it */
//! }
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::workspace::Workspace;
use super::{Config, examine, run};
use crate::edit::{Applied, Edit, EditSet, Fix, FixId, apply, compose};
use crate::package::Package;
use crate::program::Program;
use crate::rule::{Finding, Outcome};
use crate::source::{ByteOffset, ByteSpan, FileId};
use crate::transforms::critical_section::dict_next;

/// Most fixes that are joined into one.
const MAX_ROUNDS: usize = 3;

/// How often what is found on the result of others is joined by itself, before it is joined to these.
const MAX_DEPTH: usize = 1;

/// Joins fixes that clash; the joined one has the lower confidence of both.
pub(super) fn join(
    package: &Package,
    config: &Config,
    program: &Program<'_>,
    findings: &mut [Finding],
) {
    join_to(MAX_DEPTH, (package, config), program, findings);
}

fn join_to(
    depth: usize,
    (package, config): (&Package, &Config),
    program: &Program<'_>,
    findings: &mut [Finding],
) {
    for _ in 0..MAX_ROUNDS {
        let pairs = pairs(findings);
        if pairs.is_empty() || !round(depth, (package, config), program, findings, &pairs) {
            return;
        }
    }
}

/// Pairs of findings whose fixes clash, the one to be made first; at most one pair a function.
fn pairs(findings: &[Finding]) -> Vec<(usize, usize)> {
    let fixes = (0u32..).zip(findings);
    let fixes = fixes.filter_map(|(at, finding)| Some((FixId(at), finding.fix()?)));
    let (_, conflicts) = EditSet::merge(fixes);
    let clashing = conflicts
        .iter()
        .map(|conflict| (conflict.kept.0 as usize, conflict.rejected.0 as usize));
    let mut taken = BTreeSet::new();
    clashing
        .chain(entangled(findings))
        .filter(|&(kept, rejected)| kept != rejected && taken.insert(findings[kept].place()))
        .map(|pair| in_order(findings, pair))
        .collect()
}

/// The fix that takes away the text that the other is about comes second: nothing of that text
/// could be found again. One that is joined of two by now comes first: no rule has all of it to say.
fn in_order(findings: &[Finding], (kept, rejected): (usize, usize)) -> (usize, usize) {
    if is_joined(findings, rejected) && !is_joined(findings, kept) {
        return (rejected, kept);
    }
    let about = findings[rejected].span.start();
    let file = findings[rejected].file;
    let takes =
        |edit: &Edit| edit.file == file && edit.span.start() <= about && about < edit.span.end();
    match findings[kept].fix() {
        Some(fix) if fix.edits.iter().any(takes) => (rejected, kept),
        _ => (kept, rejected),
    }
}

/// Fixes that change where the function goes, and others with edits at the same places: both
/// can be made, but what one counts on may not hold any more.
fn entangled(findings: &[Finding]) -> Vec<(usize, usize)> {
    let mut functions: BTreeMap<_, Vec<(usize, &Fix)>> = BTreeMap::new();
    for (at, finding) in findings.iter().enumerate() {
        if let Some(fix) = finding.fix() {
            functions
                .entry(finding.place())
                .or_default()
                .push((at, fix));
        }
    }
    let mut found = Vec::new();
    for fixes in functions.values() {
        for &(section, fix) in fixes {
            let finding = &findings[section];
            // All that others bring into the section must be proven with it: a release suspends it.
            let is_entangled = |other: &Fix| reach(fix, finding.file, other);
            let other = fixes.iter().find(|(at, other)| {
                !is_section(&findings[*at]) && *other != fix && is_entangled(other)
            });
            if let Some((other, _)) = other.filter(|_| is_section(finding)) {
                found.push((*other, section));
            }
        }
    }
    found
}

/// Whether the fix of a finding puts what it is about into a critical section.
fn is_section(finding: &Finding) -> bool {
    match finding.rule.code {
        "UG301" => true,
        "UG106" | "UG107" => finding.fix().is_some_and(dict_next::holds_list),
        _ => false,
    }
}

/// Whether `other` edits anything between the first and the last edit of `one` in a file.
fn reach(one: &Fix, file: FileId, other: &Fix) -> bool {
    let own = one.edits.iter().filter(|edit| edit.file == file);
    let Some(all) = own.map(|edit| edit.span).reduce(ByteSpan::join) else {
        return false;
    };
    let mut others = other.edits.iter().filter(|edit| edit.file == file);
    others.any(|edit| edit.span.start() <= all.end() && all.start() <= edit.span.end())
}

/// Applies the fixes that stay, looks for the others again, and joins what is found; whether
/// anything was.
fn round(
    depth: usize,
    (package, config): (&Package, &Config),
    program: &Program<'_>,
    findings: &mut [Finding],
    pairs: &[(usize, usize)],
) -> bool {
    let kept = pairs.iter().filter_map(|&(kept, _)| {
        let id = u32::try_from(kept).expect("findings are indexed by u32");
        Some((FixId(id), findings[kept].fix()?))
    });
    let (edits, conflicts) = EditSet::merge(kept);
    let mut changed = package.clone();
    let mut results = BTreeMap::new();
    for file in edits.files() {
        let applied = apply(package.files.get(file).bytes(), edits.edits(file));
        changed.files.replace(file, applied.bytes.clone());
        results.insert(file, applied);
    }
    if !conflicts.is_empty() {
        return false;
    }
    let rejected = pairs.iter().flat_map(|&(_, at)| sharing(findings, at));
    let rejected: Vec<&Finding> = rejected.collect();
    let again = found_again(depth, (&changed, config), program, &rejected);
    let mut any = false;
    for &(kept, rejected) in pairs {
        let Some(one) = findings[kept].fix().cloned() else {
            continue;
        };
        let other = findings[rejected].fix().cloned();
        let Some(next) = all_anew(findings, rejected, &again, &results) else {
            continue;
        };
        let Some(joined) = joined(package, &edits, &one, &next) else {
            continue;
        };
        any = true;
        for finding in findings.iter_mut() {
            let fix = finding.fix();
            if fix == Some(&one) || fix == other.as_ref() {
                finding.outcome = Outcome::Fix(joined.clone());
            }
        }
    }
    any
}

/// What the rules of `rejected` say of their functions in `changed`. Those of them that were joined are
/// joined there as well.
///
/// ```c
/// while (PyDict_Next(d, &pos, &k, &v)) {      /* UG301 and UG102 are one fix … */
///     w = PyDict_GetItem(other, k);
///     use(w);
/// }
/// while (PyDict_Next(e, &pos, &k, &v))        /* … that meets another one of the two */
///     use(PyList_GetItem(list, 0));
/// ```
fn found_again(
    depth: usize,
    (changed, config): (&Package, &Config),
    program: &Program<'_>,
    rejected: &[&Finding],
) -> Vec<Finding> {
    let asked = config.only(rejected.iter().map(|finding| finding.rule));
    let workspace = Workspace::near(changed, &asked, program);
    examine(&asked, &workspace, |cx, rules| {
        let (mut again, _) = run(rules, cx, changed, &asked);
        again.retain(|found| rejected.iter().any(|it| it.place() == found.place()));
        if let Some(depth) = depth.checked_sub(1) {
            join_to(depth, (changed, &asked), cx.program, &mut again);
        }
        again
    })
}

/// Whether the fix of the finding at `at` is one for a section and a lookup.
fn is_joined(findings: &[Finding], at: usize) -> bool {
    sharing(findings, at).any(is_section) && !sharing(findings, at).all(is_section)
}

/// The findings whose fix is that of the finding at `at`.
fn sharing(findings: &[Finding], at: usize) -> impl Iterator<Item = &Finding> {
    let fix = findings[at].fix();
    let all = findings.iter();
    all.filter(move |finding| fix.is_some() && finding.fix() == fix)
}

/// The fix for all findings that share that of `rejected`; `None` if one of them has none any
/// more, or those that they have now get in each other's way.
fn all_anew(
    findings: &[Finding],
    rejected: usize,
    again: &[Finding],
    results: &BTreeMap<FileId, Applied>,
) -> Option<Fix> {
    let found = sharing(findings, rejected).map(|finding| anew(finding, again, results));
    let found: Vec<Finding> = found.collect::<Option<_>>()?;
    if !pairs(&found).is_empty() {
        return None;
    }
    let mut fixes = found.iter().filter_map(Finding::fix);
    let mut all = fixes.next()?.clone();
    fixes.for_each(|fix| all.include(fix));
    Some(all)
}

/// What the same rule says of the same place of the result, if that is a fix.
fn anew(
    finding: &Finding,
    again: &[Finding],
    results: &BTreeMap<FileId, Applied>,
) -> Option<Finding> {
    let start: ByteOffset = match results.get(&finding.file) {
        Some(applied) => applied.map.to_new(finding.span.start())?,
        None => finding.span.start(),
    };
    let same = again.iter().find(|other| {
        other.rule.code == finding.rule.code
            && other.file == finding.file
            && other.span.start() == start
    })?;
    same.fix().map(|_| same.clone())
}

/// `one`, then `next`, which speaks of the result of all `edits`, as one fix of the original.
fn joined(package: &Package, edits: &EditSet, one: &Fix, next: &Fix) -> Option<Fix> {
    let mut fix = one.clone();
    // They know nothing of the second.
    fix.alternatives.clear();
    fix.title = format!("{}; {}", one.title, next.title);
    fix.rest_on(next);
    let files: BTreeSet<FileId> = next.edits.iter().map(|edit| edit.file).collect();
    for file in files {
        let first: Vec<&Edit> = edits.edits(file).collect();
        let second: Vec<Edit> = next
            .edits
            .iter()
            .filter(|edit| edit.file == file)
            .cloned()
            .collect();
        let composed = compose(package.files.get(file).bytes(), &first, &second);
        let absorbed: Vec<&Edit> = composed.absorbed.iter().map(|&at| first[at]).collect();
        // What belongs to another fix cannot go with this one.
        if !absorbed.iter().all(|edit| one.edits.contains(edit)) {
            return None;
        }
        fix.edits.retain(|edit| !absorbed.contains(&edit));
        fix.edits.extend(composed.edits);
    }
    fix.edits.sort_by_key(Edit::place);
    Some(fix)
}
