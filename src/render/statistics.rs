//! How many findings there are of each rule, and what is to be done about them.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::edit::Confidence;
use crate::rule::{Finding, Outcome, Rule, Severity};

/// Findings of one rule by what is to be done about them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) safe_fix: usize,
    pub(super) review_fix: usize,
    pub(super) manual: usize,
    pub(super) safe_as_is: usize,
}

impl Tally {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        let count = match outcome {
            Outcome::Fix(fix) if fix.confidence == Confidence::Safe => &mut self.safe_fix,
            Outcome::Fix(_) => &mut self.review_fix,
            Outcome::Manual(_) => &mut self.manual,
            Outcome::Safe(_) => &mut self.safe_as_is,
        };
        *count += 1;
    }

    /// Findings that ask for something.
    pub(super) fn open(self) -> usize {
        self.safe_fix + self.review_fix + self.manual
    }
}

/// Findings counted by rule, the worst rules first, then by code.
pub(super) fn tallies<'a>(
    findings: impl IntoIterator<Item = &'a Finding>,
) -> Vec<(&'static Rule, Tally)> {
    let mut rules = BTreeMap::<(Severity, &str), (&'static Rule, Tally)>::new();
    for finding in findings {
        let entry = rules.entry((finding.rule.severity, finding.rule.code));
        let (_, tally) = entry.or_insert((finding.rule, Tally::default()));
        tally.add(&finding.outcome);
    }
    rules.into_values().collect()
}

/// A table of the rules that have findings, with a row for all of them; empty without findings.
#[must_use]
pub fn statistics<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> String {
    let tallies = tallies(findings);
    if tallies.is_empty() {
        return String::new();
    }
    let names = tallies.iter().map(|(rule, _)| rule.name.len());
    let width = names.chain([4]).max().unwrap_or(0);
    let mut out = format!(
        "{:<6} {:<width$} {:<11} {:>8} {:>10} {:>6} {:>10}\n",
        "CODE", "NAME", "SEVERITY", "SAFE FIX", "REVIEW FIX", "MANUAL", "SAFE AS IS"
    );
    let mut sum = Tally::default();
    let mut row = |code: &str, name: &str, severity: &str, tally: Tally| {
        let Tally {
            safe_fix,
            review_fix,
            manual,
            safe_as_is,
        } = tally;
        writeln!(
            out,
            "{code:<6} {name:<width$} {severity:<11} {safe_fix:>8} {review_fix:>10} {manual:>6} \
             {safe_as_is:>10}"
        )
        .expect("writing to a string cannot fail");
    };
    for (rule, tally) in tallies {
        row(rule.code, rule.name, rule.severity.name(), tally);
        sum.safe_fix += tally.safe_fix;
        sum.review_fix += tally.review_fix;
        sum.manual += tally.manual;
        sum.safe_as_is += tally.safe_as_is;
    }
    row("all", "", "", sum);
    out
}
