//! Lookups whose error the function should leave with, but whose exit is not proven: they report the
//! error and go on, which needs no exit.
//!
//! ```c
//! self->depth++;
//! if (PyDict_GetItemRef(d, k, &v) < 0)
//!     return NULL;                             /* and `depth`? */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::{Config, run};
use crate::capi::{self, OldErrors};
use crate::edit::{Confidence, Fix};
use crate::package::Package;
use crate::rule::{CallSite, Errors, Finding, Outcome, PackageCx, Rule};
use crate::source::{ByteSpan, FileId};
use crate::strong::lookup_span;
use crate::validate::Validator;

/// Gives such lookups the fix that reports, where that one is safe; the one that leaves becomes its
/// alternative.
pub(super) fn solve(
    (package, config): (&Package, &Config),
    cx: &PackageCx<'_>,
    validator: &mut Validator<'_>,
    findings: &mut [Finding],
) {
    if cx.errors != Errors::Propagate || !findings.iter().any(is_swallowing) {
        return;
    }
    let swallowing = findings.iter().filter(|it| is_swallowing(it));
    let asked = swallowing.filter(|it| it.fix().is_some());
    let asked: BTreeSet<_> = asked.map(Finding::place).collect();
    // All fixes of these functions: what one changes counts for the exits of another.
    let tried = findings.iter().filter(|it| asked.contains(&it.place()));
    let mut tried: Vec<Finding> = tried.cloned().collect();
    validator.fixes(&mut tried);
    tried.retain(|it| is_swallowing(it) && has_fix(it, Confidence::Review));
    let sites = sites(cx, &tried);
    if sites.is_empty() {
        return;
    }
    let rules: BTreeMap<&str, &'static Rule> =
        tried.iter().map(|it| (it.rule.code, it.rule)).collect();
    let rules: Vec<&'static Rule> = rules.into_values().collect();
    let reporting = cx.reporting(sites);
    let (mut found, _) = run(&rules, &reporting, package, config);
    validator.fixes(&mut found);
    adopt(findings, &tried, &found);
}

/// Whether a lookup swallowed its errors.
fn is_swallowing(finding: &Finding) -> bool {
    let row = finding.api.and_then(capi::replacement);
    row.is_some_and(|row| row.errors == OldErrors::Swallowed)
}

fn has_fix(finding: &Finding, confidence: Confidence) -> bool {
    finding
        .fix()
        .is_some_and(|fix| fix.confidence == confidence)
}

/// The calls that `findings` are about.
fn sites(cx: &PackageCx<'_>, findings: &[Finding]) -> BTreeSet<CallSite> {
    let spans = findings.iter().map(|it| (it.file, it.span));
    let spans: BTreeSet<(FileId, ByteSpan)> = spans.collect();
    let apis: BTreeSet<&str> = findings.iter().filter_map(|it| it.api).collect();
    let calls = apis.iter().flat_map(|api| cx.calls_to(api));
    let calls = calls.filter(|site| spans.contains(&lookup_span(cx, **site)));
    calls.copied().collect()
}

/// Puts safe fixes in the place of those that ask for a review, if all lookups of one have them.
fn adopt(findings: &mut [Finding], tried: &[Finding], found: &[Finding]) {
    let is_same = |one: &Finding, other: &Finding| {
        (one.rule.code, one.file, one.span) == (other.rule.code, other.file, other.span)
    };
    let better = |finding: &Finding| {
        let asked = tried.iter().any(|it| is_same(it, finding));
        let mut found = found.iter().filter(|it| asked && is_same(it, finding));
        let new = found.next().filter(|it| has_fix(it, Confidence::Safe))?;
        new.fix().cloned()
    };
    let better: Vec<Option<Fix>> = findings.iter().map(better).collect();
    let is_whole = |at: usize| {
        let mut sharing = findings.iter().zip(&better);
        sharing.all(|(it, new)| it.outcome != findings[at].outcome || new.is_some())
    };
    let whole: Vec<bool> = (0..findings.len())
        .map(|at| better[at].is_some() && is_whole(at))
        .collect();
    let better = better.into_iter().zip(whole);
    for (finding, (new, is_whole)) in findings.iter_mut().zip(better) {
        if let (Some(mut new), true, Some(old)) = (new, is_whole, finding.fix()) {
            let mut old = old.clone();
            let others = std::mem::take(&mut old.alternatives);
            new.alternatives.extend(std::iter::once(old).chain(others));
            finding.outcome = Outcome::Fix(new);
        }
    }
}
