//! Findings for the rules about borrowed references.

use std::collections::{BTreeMap, BTreeSet};

use super::reason::Reason;
use super::scene::{Parent, Scene, graph};
use super::{emit, plan, snapshot};
use crate::ast::{BinaryOp, ExprId, ExprKind};
use crate::capi::{self, Absent, Replacement};
use crate::preprocess::Place;
use crate::provenance::{SharedKind, Verdict};
use crate::rule::{CallSite, Finding, ItemId, Note, Outcome, PackageCx, Rule};
use crate::source::{ByteSpan, FileId};

/// Adds a finding for every call of `names`, functions that give borrowed references.
///
/// All lookups of a function are planned together, whatever rule asks: one fix may hold lookups
/// of several rules, and is then the same for each of them.
pub fn check(
    cx: &PackageCx<'_>,
    rule: &'static Rule,
    names: &[&'static str],
    findings: &mut Vec<Finding>,
) {
    let items: BTreeSet<ItemId> = names
        .iter()
        .flat_map(|name| cx.calls_to(name))
        .map(|site| site.item)
        .collect();
    let mut found: BTreeMap<(FileId, ByteSpan), Finding> = BTreeMap::new();
    for item in items {
        let verdicts = verdicts(cx, item);
        let mut outcomes = of_item(cx, item, &verdicts);
        for site in names.iter().flat_map(|name| cx.calls_to(name)) {
            if site.item == item {
                let outcome = outcomes
                    .remove(&site.expr)
                    .unwrap_or_else(|| Outcome::Manual(Reason::Unreachable.to_string()));
                let verdict = verdicts.get(&site.expr);
                note(&mut found, finding(cx, rule, *site, verdict, outcome));
            }
        }
    }
    findings.extend(found.into_values());
}

/// One finding a place: the same text in another configuration must ask for the same change.
fn note(found: &mut BTreeMap<(FileId, ByteSpan), Finding>, finding: Finding) {
    use std::collections::btree_map::Entry;
    match found.entry((finding.file, finding.span)) {
        Entry::Vacant(entry) => {
            entry.insert(finding);
        }
        Entry::Occupied(mut entry) => {
            let known = entry.get_mut();
            match (&known.outcome, &finding.outcome) {
                (_, Outcome::Manual(_)) | (Outcome::Safe(_), Outcome::Fix(_)) => {
                    known.message = finding.message;
                    known.outcome = finding.outcome;
                }
                (Outcome::Fix(one), Outcome::Fix(other)) if one != other => {
                    known.outcome = manual(&Reason::Variants);
                }
                _ => {}
            }
        }
    }
}

fn finding(
    cx: &PackageCx<'_>,
    rule: &'static Rule,
    site: CallSite,
    verdict: Option<&Verdict>,
    outcome: Outcome,
) -> Finding {
    let (file, span, notes) = place(cx, site);
    let replacement = replacement_of(cx, site.item, site.expr);
    let api = replacement.map(|replacement| replacement.borrowed);
    Finding {
        rule,
        file,
        span,
        function: cx.function(site.item).map(|function| function.name.clone()),
        api,
        message: message(api.unwrap_or_default(), verdict, &outcome),
        notes,
        outcome,
    }
}

fn message(api: &str, verdict: Option<&Verdict>, outcome: &Outcome) -> String {
    match (verdict, outcome) {
        (Some(Verdict::Safe(_)), _) => {
            format!("`{api}` gives a borrowed reference, and nothing can free it here")
        }
        (_, Outcome::Safe(_)) => {
            format!("`{api}` gives a borrowed reference, of which only the address is used")
        }
        (Some(Verdict::Shared(kind)), _) => {
            format!("`{api}` gives a borrowed reference out of {kind}: another thread can free it")
        }
        (None, _) => format!("`{api}` gives a borrowed reference that another thread can free"),
    }
}

/// Where to report a call: its own text, or the macro that makes it, with the use as a note.
fn place(cx: &PackageCx<'_>, site: CallSite) -> (FileId, ByteSpan, Vec<Note>) {
    match cx.place(site.item, site.expr) {
        Some(Place::File(file, span) | Place::Argument { file, span, .. }) => {
            (file, span, Vec::new())
        }
        Some(Place::Macro {
            name,
            definition: Some((file, span)),
            call,
        }) => {
            let note = Note {
                file: call.0,
                span: call.1,
                text: format!("`{name}` is used here"),
            };
            (file, span, vec![note])
        }
        Some(Place::Macro { call, .. }) => (call.0, call.1, Vec::new()),
        None => {
            let (file, span) = cx.item(site.item).place;
            (file, span, Vec::new())
        }
    }
}

fn replacement_of(cx: &PackageCx<'_>, item: ItemId, call: ExprId) -> Option<&'static Replacement> {
    let tree = cx.tree(item)?;
    let ExprKind::Call { callee, .. } = tree.expr(call).kind else {
        return None;
    };
    capi::replacement(tree.callee_name(callee)?)
}

/// Where the container of each lookup of a function comes from.
fn verdicts(cx: &PackageCx<'_>, item: ItemId) -> BTreeMap<ExprId, Verdict> {
    let exprs = cx.tree(item).map_or(&[][..], |tree| &tree.exprs);
    let exprs = (0u32..).zip(exprs).map(|(at, _)| ExprId(at));
    exprs
        .filter(|&expr| replacement_of(cx, item, expr).is_some())
        .map(|expr| (expr, cx.provenance(CallSite { item, expr }, 0)))
        .collect()
}

/// What becomes of each lookup of a function.
fn of_item(
    cx: &PackageCx<'_>,
    item: ItemId,
    verdicts: &BTreeMap<ExprId, Verdict>,
) -> BTreeMap<ExprId, Outcome> {
    let mut outcomes = BTreeMap::new();
    let Some(function) = cx.function(item) else {
        return outcomes;
    };
    let mut calls: Vec<(ExprId, &'static Replacement)> = Vec::new();
    for (&expr, verdict) in verdicts {
        let Some(replacement) = replacement_of(cx, item, expr) else {
            continue;
        };
        match verdict {
            Verdict::Safe(proof) => {
                outcomes.insert(expr, Outcome::Safe(proof.sentence.clone()));
            }
            Verdict::Shared(SharedKind::Published(_)) if is_list(replacement) => {
                outcomes.insert(expr, manual(&Reason::Unfilled));
            }
            Verdict::Shared(_) => calls.push((expr, replacement)),
        }
    }
    let cfg = graph(function);
    let Some(scene) = Scene::new(cx, item, function, &cfg) else {
        let made = manual(&Reason::InMacro(function.name.clone()));
        outcomes.extend(calls.into_iter().map(|(call, _)| (call, made.clone())));
        return outcomes;
    };
    calls.retain(|&(call, replacement)| {
        let only_compared = replacement.absent == Absent::None && is_compared(&scene, call);
        if only_compared {
            let why = "the pointer is only compared".to_owned();
            outcomes.insert(call, Outcome::Safe(why));
        }
        !only_compared
    });
    let plan = plan::plan(&scene, &calls);
    for (&call, why) in &plan.declined {
        let outcome = snapshot::fix(&scene, call).map_or_else(|| manual(why), Outcome::Fix);
        outcomes.insert(call, outcome);
    }
    for group in &plan.groups {
        let outcome = match emit::fix(&scene, group) {
            Ok(fix) => Outcome::Fix(fix),
            Err(reason) => manual(&reason),
        };
        for lookup in group.iter().flat_map(|planned| &planned.home.lookups) {
            outcomes.insert(lookup.call, outcome.clone());
        }
    }
    outcomes
}

/// Whether the result of `call` is an operand of `==` or `!=`.
fn is_compared(scene: &Scene<'_>, call: ExprId) -> bool {
    matches!(scene.parent_of_expr(call), Some(Parent::Expr(outer))
    if matches!(scene.tree.expr(outer).kind, ExprKind::Binary {
        op: BinaryOp::Equals | BinaryOp::NotEquals,
        ..
    }))
}

fn manual(reason: &Reason) -> Outcome {
    Outcome::Manual(reason.to_string())
}

fn is_list(replacement: &Replacement) -> bool {
    replacement.strong == "PyList_GetItemRef"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::{Proof, SafeReason};

    #[test]
    fn messages_name_the_container() {
        let shared = Verdict::Shared(SharedKind::Global("cache".into()));
        insta::assert_snapshot!(message("PyDict_GetItem", Some(&shared), &manual(&Reason::Field)), @"`PyDict_GetItem` gives a borrowed reference out of `cache`, a variable that all threads share: another thread can free it");
        let safe = Verdict::Safe(Proof {
            reason: SafeReason::Kwargs,
            sentence: String::new(),
        });
        insta::assert_snapshot!(message("PyDict_GetItem", Some(&safe), &Outcome::Safe(String::new())), @"`PyDict_GetItem` gives a borrowed reference, and nothing can free it here");
    }
}
