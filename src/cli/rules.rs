//! `ungil rules` and `ungil explain`.

use std::fmt::Write;

use super::Status;
use super::pages;
use super::talk::{Talk, write_results};
use crate::edit::Confidence;
use crate::rule::{Rule, Selector};
use crate::transforms;

pub(super) fn list(talk: &Talk) -> anyhow::Result<Status> {
    write_results(table(transforms::ALL).as_bytes())?;
    talk.detail("`ungil explain RULE` shows the page of a rule");
    Ok(Status::Clean)
}

/// Prints the page of a rule, a topic, or the limits.
pub(super) fn explain(rule: &str, talk: &Talk) -> anyhow::Result<Status> {
    if let Some(page) = pages::page(rule) {
        write_results(page.as_bytes())?;
        return Ok(Status::Clean);
    }
    // Gives the error with the nearest name.
    let selector = Selector::new(rule, transforms::ALL)?;
    let mut found = transforms::ALL.iter().filter(|rule| selector.matches(rule));
    let (Some(found), None) = (found.next(), found.next()) else {
        talk.error(&format!(
            "`{rule}` is the beginning of several codes; `ungil rules` lists them"
        ));
        return Ok(Status::Refused);
    };
    write_results(page(found).as_bytes())?;
    let topics = pages::topics_of(found).map(|topic| format!("`ungil explain {}`", topic.name));
    let topics: Vec<String> = topics
        .chain(["`ungil explain limits`".to_owned()])
        .collect();
    talk.info(&format!("more pages: {}", topics.join(", ")));
    Ok(Status::Clean)
}

fn page(rule: &Rule) -> String {
    let Rule {
        code,
        name,
        summary,
        severity,
        since,
        ..
    } = rule;
    format!(
        "# {name} ({code})\n\n{summary}\n\nSeverity: {} ({}). Fixes: {}. Since {since}.\n\n{}",
        severity.name(),
        severity.level().name(),
        best(rule),
        rule.page()
    )
}

fn best(rule: &Rule) -> &'static str {
    match rule.best {
        Some(Confidence::Safe) => "safe",
        Some(Confidence::Review) => "review",
        None => "none",
    }
}

fn table(rules: &[&Rule]) -> String {
    let width = rules
        .iter()
        .map(|rule| rule.name.len())
        .chain([4])
        .max()
        .unwrap_or(0);
    let mut out = format!(
        "{:<6} {:<width$} {:<11} {:<6} SUMMARY\n",
        "CODE", "NAME", "SEVERITY", "FIXES"
    );
    for rule in rules {
        let (code, name, summary) = (rule.code, rule.name, rule.summary);
        let severity = rule.severity.name();
        writeln!(
            out,
            "{code:<6} {name:<width$} {severity:<11} {:<6} {summary}",
            best(rule)
        )
        .expect("writing to a string cannot fail");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{page, table};
    use crate::edit::Confidence;
    use crate::rule::{Check, Rule, Severity};

    static RULE: Rule = Rule {
        code: "UG101",
        name: "borrowed-list-item",
        summary: "a borrowed list item is kept",
        severity: Severity::Memory,
        docs: " ## Why\n Because.\n",
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: &[],
        check: Check::Code(|_, _| {}),
    };

    #[test]
    fn a_rule_has_a_row_and_a_page() {
        insta::assert_snapshot!(table(&[&RULE]), @"
        CODE   NAME               SEVERITY    FIXES  SUMMARY
        UG101  borrowed-list-item memory      safe   a borrowed list item is kept
        ");
        insta::assert_snapshot!(page(&RULE), @"
        # borrowed-list-item (UG101)

        a borrowed list item is kept

        Severity: memory (error). Fixes: safe. Since 0.1.0.

        ## Why
        Because.
        ");
    }
}
