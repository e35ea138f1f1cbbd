//! Proves the alternatives of fixes, each in the place of its fix.

use std::collections::BTreeSet;

use super::{Failure, Validator};
use crate::edit::{Confidence, Edit, Fix};
use crate::rule::{Finding, Outcome};
use crate::source::FileId;

impl Validator<'_> {
    /// Validates the alternatives of all fixes among `findings` and drops those that do not hold.
    ///
    /// Call it after [`fixes`](Self::fixes): an alternative is tried among the other fixes that
    /// are left.
    pub fn alternatives(&mut self, findings: &mut [Finding]) {
        let counts = findings.iter().filter_map(Finding::fix);
        let most = counts.map(|fix| fix.alternatives.len()).max().unwrap_or(0);
        // From the last one on: what is dropped moves only those that are done.
        for nth in (0..most).rev() {
            drop_entangled(findings, nth);
            for least in [Confidence::Safe, Confidence::Review] {
                for (at, failure) in self.round(&trial(findings, nth), least) {
                    demote(&mut findings[at], nth, failure);
                    self.settle(&mut findings[at]);
                }
            }
        }
    }
}

/// The findings with the `nth` alternatives in place of their fixes, and without the fixes of
/// files that no alternative changes.
fn trial(findings: &[Finding], nth: usize) -> Vec<Finding> {
    let mut trial = findings.to_vec();
    let mut files: BTreeSet<FileId> = BTreeSet::new();
    for finding in &mut trial {
        let other = alternative(finding, nth).cloned();
        if let Some(other) = other {
            files.extend(other.edits.iter().map(|edit| edit.file));
            finding.outcome = Outcome::Fix(other);
        }
    }
    for finding in &mut trial {
        let is_far = |fix: &Fix| !fix.edits.iter().any(|edit| files.contains(&edit.file));
        if finding.fix().is_some_and(is_far) {
            finding.outcome = Outcome::Safe(String::new());
        }
    }
    trial
}

fn alternative(finding: &Finding, nth: usize) -> Option<&Fix> {
    finding.fix()?.alternatives.get(nth)
}

/// An alternative that meets another fix was not made with that in mind.
fn drop_entangled(findings: &mut [Finding], nth: usize) {
    let trial = trial(findings, nth);
    for (at, finding) in findings.iter_mut().enumerate() {
        let Some(own) = alternative(finding, nth) else {
            continue;
        };
        let others = trial.iter().enumerate().filter(|(other, _)| *other != at);
        let mut others = others.filter_map(|(_, finding)| finding.fix());
        if others.any(|other| meet(own, other)) {
            remove(finding, nth);
        }
    }
}

/// Whether two fixes edit the same place, other than by asking for the same line.
fn meet(one: &Fix, other: &Fix) -> bool {
    let is_shared = |edit: &Edit| edit.text.first() == Some(&b'#');
    one.edits.iter().any(|edit| {
        other.edits.iter().any(|second| {
            edit.file == second.file
                && edit.span.start() <= second.span.end()
                && second.span.start() <= edit.span.end()
                && !(edit == second && is_shared(edit))
        })
    })
}

fn demote(finding: &mut Finding, nth: usize, failure: Failure) {
    match failure {
        Failure::Wrong(_) => remove(finding, nth),
        Failure::Unknown(reason) => {
            if let Outcome::Fix(fix) = &mut finding.outcome
                && let Some(other) = fix.alternatives.get_mut(nth)
            {
                other.assume(reason);
            }
        }
    }
}

fn remove(finding: &mut Finding, nth: usize) {
    if let Outcome::Fix(fix) = &mut finding.outcome
        && nth < fix.alternatives.len()
    {
        fix.alternatives.remove(nth);
    }
}
