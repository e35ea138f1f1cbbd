//! Findings for the rules about borrowed references.

use std::collections::BTreeMap;

use super::contract::outcomes;
use super::item::needs_gil;
use super::items::{self, ITEMS};
use super::lent::is_lent;
use super::reason::Reason;
use crate::capi;
use crate::preprocess::Place;
use crate::provenance::{Exposure, Verdict};
use crate::rule::{CallSite, Finding, Note, Outcome, PackageCx, Rule};
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
    report(cx, rule, names, findings, |site| {
        let lookups = cx.lookups(outcomes).get(&site.item);
        lookups
            .and_then(|outcomes| outcomes.get(&site.expr).cloned())
            .unwrap_or_else(|| Outcome::Manual(Reason::Unreachable.to_string()))
    });
}

/// Adds a finding for every pointer to the items of a list or tuple.
pub fn check_items(cx: &PackageCx<'_>, rule: &'static Rule, findings: &mut Vec<Finding>) {
    report(cx, rule, &[ITEMS], findings, |site| {
        items::outcome(cx, site)
    });
}

fn report(
    cx: &PackageCx<'_>,
    rule: &'static Rule,
    names: &[&'static str],
    findings: &mut Vec<Finding>,
    outcome: impl Fn(CallSite) -> Outcome,
) {
    let calls = |name: &&'static str| {
        let sites = cx.calls_to(name).iter().copied();
        let sites = sites.filter(|site| cx.asks_for(site.item));
        let name: &'static str = name;
        sites.map(move |site| (site, name))
    };
    let mut sites: Vec<(CallSite, &'static str)> = names.iter().flat_map(calls).collect();
    // Stable: within an item by name. What is compiled without the GIL has the first word.
    sites.sort_by_key(|(site, _)| (cx.item(site.item).needs_gil, site.item));
    let mut found: BTreeMap<(FileId, ByteSpan), Finding> = BTreeMap::new();
    for (site, api) in sites {
        let with_gil = cx.item(site.item).needs_gil;
        let finding = finding(cx, rule, site, api, outcome(site));
        note(&mut found, finding, with_gil);
    }
    findings.extend(found.into_values());
}

/// One finding a place: a macro may make the call in several functions, and several configurations
/// may compile it. Those that need the GIL ask for nothing; but a fix has to hold in them as well.
fn note(found: &mut BTreeMap<(FileId, ByteSpan), Finding>, finding: Finding, with_gil: bool) {
    use std::collections::btree_map::Entry;
    match found.entry((finding.file, finding.span)) {
        Entry::Vacant(entry) => {
            entry.insert(finding);
        }
        Entry::Occupied(mut entry) => {
            let known = entry.get_mut();
            match (&known.outcome, &finding.outcome) {
                (Outcome::Safe(_), _) if with_gil => {}
                (_, Outcome::Manual(_)) | (Outcome::Safe(_), Outcome::Fix(_)) => {
                    known.message = finding.message;
                    known.outcome = finding.outcome;
                }
                // What a macro leaves in one configuration can be split in the others as well, which
                // is proven for each.
                (Outcome::Fix(one), Outcome::Fix(other)) if is_lent(one) && !is_lent(other) => {}
                (Outcome::Fix(one), Outcome::Fix(other)) if is_lent(other) && !is_lent(one) => {
                    known.outcome = finding.outcome;
                }
                (Outcome::Fix(one), Outcome::Fix(other)) if one != other => {
                    known.outcome = Outcome::Manual(Reason::Uses.to_string());
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
    api: &'static str,
    outcome: Outcome,
) -> Finding {
    let verdict = cx.provenance(site, 0);
    let (file, span, mut notes) = place(cx, site);
    if let (Verdict::Shared(_), Outcome::Fix(_) | Outcome::Manual(_)) = (&verdict, &outcome) {
        notes.extend(path(cx, site));
    }
    Finding {
        rule,
        file,
        span,
        function: cx.function(site.item).map(|function| function.name.clone()),
        api: Some(api),
        message: match needs_gil(cx, site) {
            true => format!(
                "`{api}` returns {}, in code for builds with the GIL",
                given(api)
            ),
            false => message(api, &verdict, &outcome),
        },
        notes,
        outcome,
    }
}

fn message(api: &str, verdict: &Verdict, outcome: &Outcome) -> String {
    let given = given(api);
    let removed = capi::replacement(api).and_then(|row| row.removed);
    if let (Verdict::Safe(_), Outcome::Fix(_) | Outcome::Manual(_), Some(removed)) =
        (verdict, outcome, removed)
    {
        return format!("`{api}` was removed from the headers in Python {removed}");
    }
    match (verdict, outcome) {
        (Verdict::Safe(_), _) => {
            format!("`{api}` returns {given}, and nothing can free the object here")
        }
        (_, Outcome::Safe(_)) => {
            format!("`{api}` returns {given}, but the code does not use the object")
        }
        (Verdict::Shared(kind), _) => {
            format!("`{api}` returns {given} from {kind}; another thread can free the object")
        }
    }
}

/// What a call of `api` gives.
fn given(api: &str) -> &'static str {
    match api {
        ITEMS => "a pointer to the items",
        _ => "a borrowed reference",
    }
}

/// Where to report a call: its own text, or the macro that makes it, with the use as a note.
/// Where a lookup is reported.
pub fn lookup_span(cx: &PackageCx<'_>, site: CallSite) -> (FileId, ByteSpan) {
    let (file, span, _) = place(cx, site);
    (file, span)
}

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

/// The steps that make the borrowed reference unsafe; empty if the function does not use it.
fn path(cx: &PackageCx<'_>, site: CallSite) -> Vec<Note> {
    let Exposure { freed, used } = cx.exposure(site);
    let (Some(used), Some((file, span))) = (used, cx.span(site.item, site.expr)) else {
        return Vec::new();
    };
    let note = |(file, span), text: &str| Note {
        file,
        span,
        text: text.to_owned(),
    };
    let mut notes = vec![note((file, span), "borrowed here")];
    match freed {
        Some((place, name)) => {
            let text = format!("`{name}` can run Python code, which may free the object");
            notes.push(note(place, &text));
            notes.push(note(used, "used here, after that call"));
        }
        None => notes.push(note(
            used,
            "used here, after another thread may have freed it",
        )),
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::{Proof, SafeReason, SharedKind};

    #[test]
    fn messages_name_the_container() {
        let shared = Verdict::Shared(SharedKind::Global("cache".into()));
        insta::assert_snapshot!(message("PyDict_GetItem", &shared, &Outcome::Manual(Reason::Field.to_string())), @"`PyDict_GetItem` returns a borrowed reference from `cache`, a variable that all threads share; another thread can free the object");
        let safe = Verdict::Safe(Proof {
            reason: SafeReason::Kwargs,
            sentence: String::new(),
        });
        insta::assert_snapshot!(message("PyDict_GetItem", &safe, &Outcome::Safe(String::new())), @"`PyDict_GetItem` returns a borrowed reference, and nothing can free the object here");
    }
}
