//! Findings by module, and in a module by cause.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::View;
use super::super::statistics::Tally;
use super::page::{Entry, Module, by_hand, fixes, module};
use crate::diff::slashed;
use crate::edit::Confidence;
use crate::engine::Analysis;
use crate::rule::{Finding, Rule, Severity};

/// How links to lines are made.
#[derive(Clone, Copy)]
pub(super) struct Links<'a> {
    pub(super) view: View<'a>,
    /// What the path is put behind; empty for relative links.
    pub(super) sources: &'a str,
}

impl Links<'_> {
    /// The line of `finding`: letters, digits and what needs no escape in HTML.
    pub(super) fn to(self, finding: &Finding) -> String {
        let file = self.view.package.files.get(finding.file);
        let line = file.position(finding.span.start()).line.0;
        let path: String = slashed(file.path())
            .into_iter()
            .map(|byte| match byte {
                b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
                _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            })
            .collect();
        format!("{}{path}#L{line}", self.sources)
    }
}

/// How much of what was found in a module is settled, in parts of 100.
#[derive(Serialize)]
pub(super) struct Bar {
    settled: usize,
    review: usize,
    manual: usize,
    /// In words.
    text: String,
}

impl Bar {
    fn new(tally: Tally) -> Self {
        let settled = tally.safe_fix + tally.safe_as_is;
        let all = settled + tally.review_fix + tally.manual;
        // What is there is seen, however little it is.
        let part = |count: usize| match count {
            0 => 0,
            _ => (count * 100 / all).max(2),
        };
        let text = match all {
            0 => "nothing was found".to_owned(),
            _ => format!(
                "{settled} of {all} places settled: {} safe as they are, {} by a safe fix; {} to \
                 review, {} to do by hand",
                tally.safe_as_is, tally.safe_fix, tally.review_fix, tally.manual
            ),
        };
        let (review, manual) = (part(tally.review_fix), part(tally.manual));
        Self {
            settled: match settled {
                0 => 0,
                _ => 100 - review - manual,
            },
            review,
            manual,
            text,
        }
    }
}

/// All that one rule found in a module.
#[derive(Serialize)]
pub(super) struct Cause {
    code: &'static str,
    name: &'static str,
    summary: &'static str,
    severity: &'static str,
    safe_fix: usize,
    review_fix: usize,
    manual: usize,
    entries: Vec<Entry>,
}

/// The modules with their findings, and the findings of files that are part of none. What several
/// modules share is shown with each.
pub(super) fn sections(
    links: Links<'_>,
    analysis: &Analysis,
    findings: &[&Finding],
) -> (Vec<Module>, Vec<Cause>) {
    let modules = analysis.modules.iter().map(|status| {
        let is_own = |finding: &&&Finding| status.files.contains(&finding.file);
        let own: Vec<&Finding> = findings.iter().filter(is_own).copied().collect();
        let bar = Bar::new(tally(&own));
        module(links.view, status, bar, causes(links, &own))
    });
    let is_elsewhere = |finding: &&&Finding| {
        let mut modules = analysis.modules.iter();
        !modules.any(|status| status.files.contains(&finding.file))
    };
    let elsewhere: Vec<&Finding> = findings.iter().filter(is_elsewhere).copied().collect();
    (modules.collect(), causes(links, &elsewhere))
}

fn tally(findings: &[&Finding]) -> Tally {
    let mut tally = Tally::default();
    findings.iter().for_each(|it| tally.add(&it.outcome));
    tally
}

/// What is open of `findings`, by rule, the worst first.
fn causes(links: Links<'_>, findings: &[&Finding]) -> Vec<Cause> {
    let mut by_rule = BTreeMap::<(Severity, &str), (&'static Rule, Vec<&Finding>)>::new();
    for finding in findings {
        let rule = finding.rule;
        let of_it = by_rule.entry((rule.severity, rule.code));
        of_it.or_insert((rule, Vec::new())).1.push(finding);
    }
    let rules = by_rule.into_values();
    let open = rules.filter(|(_, findings)| tally(findings).open() > 0);
    open.map(|(rule, findings)| cause(links, rule, &findings))
        .collect()
}

fn cause(links: Links<'_>, rule: &'static Rule, findings: &[&Finding]) -> Cause {
    let Tally {
        safe_fix,
        review_fix,
        manual,
        ..
    } = tally(findings);
    let mut entries: Vec<Entry> = Vec::new();
    for entry in findings.iter().filter_map(|it| by_hand(links, it)) {
        match entries.iter_mut().find(|known| known.asks_as(&entry)) {
            Some(known) => known.join(entry),
            None => entries.push(entry),
        }
    }
    entries.extend(fixes(links, findings, Confidence::Review));
    entries.extend(fixes(links, findings, Confidence::Safe));
    Cause {
        code: rule.code,
        name: rule.name,
        summary: rule.summary,
        severity: rule.severity.name(),
        safe_fix,
        review_fix,
        manual,
        entries,
    }
}
