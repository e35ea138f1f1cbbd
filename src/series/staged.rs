//! The series in the order in which reviewers accept changes: a patch for each intent, and none too
//! long to be read in one go.

use std::collections::BTreeMap;

use super::intent::{Chapter, intent};
use super::unit::{Unit, same_fix};
use super::{Part, Patch, patches};
use crate::diff::counts;
use crate::edit::{EditSet, apply};
use crate::engine::NewFile;
use crate::package::Package;
use crate::source::FileId;

/// Most lines that a patch adds and removes, if it can be split.
const MAX_LINES: usize = 200;

/// Findings that stay in one patch, because they share a fix.
type Fixed<'a> = Vec<Part<'a>>;

/// Splits the changes that `parts`, which do not clash, make of `package`: by intent, what is too
/// long by file, and what is still too long by function.
#[must_use]
pub fn staged<'a>(
    package: &Package,
    parts: &[Part<'a>],
    new_files: &'a [NewFile],
) -> Vec<Patch<'a>> {
    let mut by_intent = grouped(same_fix(parts), |fixed| fixed.iter().map(place).max());
    by_intent.sort_by_key(|(place, _)| *place);
    join_classifiers(&mut by_intent);
    let by_file = by_intent
        .into_iter()
        .flat_map(|(_, fixes)| shortened(package, fixes, |fixed| fixed[0].finding.file));
    let by_function =
        by_file.flat_map(|fixes| shortened(package, fixes, |fixed| fixed[0].finding.place()));
    let units = by_function.map(|fixes| {
        let mut unit = Unit::new(String::new());
        unit.parts = fixes.into_iter().flatten().collect();
        unit
    });
    patches(package, units.collect(), new_files)
}

/// Where the patch of a finding stands in the series: by chapter and rule; a declaration by its
/// module, what is said about it in build files after that.
fn place<'a>(part: &Part<'a>) -> (Chapter, &'a str, bool, Option<FileId>) {
    let rule = part.finding.rule;
    match intent(rule).chapter {
        Chapter::Declaration if rule.check.is_build() => (Chapter::Declaration, "", true, None),
        Chapter::Declaration => (Chapter::Declaration, "", false, Some(part.finding.file)),
        chapter => (chapter, rule.code, false, None),
    }
}

/// The last declaration and its classifier are one promise.
fn join_classifiers<K>(groups: &mut Vec<(K, Vec<Fixed<'_>>)>) {
    let is_of = |group: &(K, Vec<Fixed<'_>>), is_build| {
        let rules = group.1.iter().flatten().map(|part| part.finding.rule);
        rules.clone().all(|rule| {
            intent(rule).chapter == Chapter::Declaration && rule.check.is_build() == is_build
        })
    };
    if let [.., declaration, classifier] = &groups[..]
        && is_of(declaration, false)
        && is_of(classifier, true)
        && let Some((_, fixes)) = groups.pop()
        && let Some(last) = groups.last_mut()
    {
        last.1.extend(fixes);
    }
}

/// The fixes with equal keys together, in the order of their first ones.
fn grouped<'a, K: Ord + Clone>(
    fixes: Vec<Fixed<'a>>,
    key: impl Fn(&Fixed<'a>) -> K,
) -> Vec<(K, Vec<Fixed<'a>>)> {
    let mut groups: Vec<(K, Vec<Fixed<'a>>)> = Vec::new();
    let mut known: BTreeMap<K, usize> = BTreeMap::new();
    for fixed in fixes {
        let key = key(&fixed);
        let at = *known.entry(key.clone()).or_insert(groups.len());
        if at == groups.len() {
            groups.push((key, Vec::new()));
        }
        groups[at].1.push(fixed);
    }
    groups
}

/// `fixes` in pieces of which none is too long, as far as those with equal keys allow.
fn shortened<'a, K: Ord + Clone>(
    package: &Package,
    fixes: Vec<Fixed<'a>>,
    key: impl Fn(&Fixed<'a>) -> K,
) -> Vec<Vec<Fixed<'a>>> {
    if length(package, &fixes) <= MAX_LINES {
        return vec![fixes];
    }
    let mut pieces: Vec<Vec<Fixed<'a>>> = Vec::new();
    for (_, group) in grouped(fixes, key) {
        // What several fixes bring, such as an `#include`, comes once.
        let joined = pieces.last().map(|piece| [&piece[..], &group].concat());
        match (pieces.last_mut(), joined) {
            (Some(piece), Some(joined)) if length(package, &joined) <= MAX_LINES => *piece = joined,
            _ => pieces.push(group),
        }
    }
    pieces
}

/// How many lines `fixes` add and remove by themselves.
fn length(package: &Package, fixes: &[Fixed<'_>]) -> usize {
    let all = fixes.iter().map(|fixed| (fixed[0].id, fixed[0].fix));
    // What only fits together with others is left out, and the patch a little longer.
    let (edits, _) = EditSet::merge(all);
    let lines = edits.files().map(|file| {
        let old = package.files.get(file).bytes();
        let (added, gone) = counts(old, &apply(old, edits.edits(file)).bytes);
        added + gone
    });
    lines.sum()
}
