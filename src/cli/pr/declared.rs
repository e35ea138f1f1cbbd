//! Declarations as they stand once everything else of the series is in.

use std::collections::BTreeMap;

use super::super::plan::Plan;
use super::super::talk::Talk;
use crate::edit::{EditSet, FixId, apply};
use crate::rule::{Finding, Outcome};
use crate::series::{Chapter, Part, intent};

/// The declarations of `plan`, with what is open after the other changes. Before them each finding
/// that they settle stands against a declaration.
pub(super) fn revised(plan: &Plan, talk: &Talk) -> BTreeMap<FixId, Finding> {
    let parts = plan.parts();
    let (declarations, others): (Vec<Part<'_>>, Vec<Part<'_>>) = parts
        .into_iter()
        .partition(|part| intent(part.finding.rule).chapter == Chapter::Declaration);
    if declarations.is_empty() || others.is_empty() {
        return BTreeMap::new();
    }
    let (edits, _) = EditSet::merge(others.iter().map(|part| (part.id, part.fix)));
    let files = &plan.session.package.files;
    let after = edits
        .files()
        .map(|id| (id, apply(files.get(id).bytes(), edits.edits(id)).bytes));
    let found = plan.session.analysis_after(&after.collect(), talk).findings;
    let revise = |part: Part<'_>| {
        let is_same = |it: &&Finding| {
            it.rule.code == part.finding.rule.code && it.place() == part.finding.place()
        };
        let now = found.iter().find(is_same)?.fix()?;
        let mut fix = part.fix.clone();
        fix.assumptions.clone_from(&now.assumptions);
        fix.confirmed.clone_from(&now.confirmed);
        fix.confidence = now.confidence;
        let finding = Finding {
            outcome: Outcome::Fix(fix),
            ..part.finding.clone()
        };
        Some((part.id, finding))
    };
    declarations.into_iter().filter_map(revise).collect()
}

/// `parts` with the findings of `revised` in place of their own.
pub(super) fn with<'a>(
    mut parts: Vec<Part<'a>>,
    revised: &'a BTreeMap<FixId, Finding>,
) -> Vec<Part<'a>> {
    for part in &mut parts {
        let finding = revised.get(&part.id);
        if let Some((finding, fix)) = finding.and_then(|it| Some((it, it.fix()?))) {
            (part.finding, part.fix) = (finding, fix);
        }
    }
    parts
}
