//! The reason of a fix in words.

use super::desk::Desk;
use super::forms::forms;
use crate::cli::talk::counted;
use crate::compat;
use crate::edit::{Assumption, Confidence, Fix, Need};
use crate::review::{Decision, Group};
use crate::source::{ByteSpan, FileId};

/// A labelled line of the reason; the label is empty for text that stands for itself.
pub(super) struct Reason {
    pub(super) label: &'static str,
    pub(super) text: String,
}

/// The finding, assumptions, facts along the path, what it depends on, what stands against it.
pub(super) fn why<'a>(desk: &Desk<'a>, group: &Group<'a>) -> Vec<Reason> {
    let fix = desk.shown(group);
    let mut out = Vec::new();
    let mut add = |label, text: String| out.push(Reason { label, text });
    let finding = group.finding;
    add("", finding.message.clone());
    // A small screen shows only the beginning, and this is what the person is asked.
    for assumption in desk.assumptions(group) {
        add("confirm", asked(desk, &assumption));
    }
    for fact in &fix.confirmed {
        let name = desk.run.settings.name();
        add("by your word", format!("{fact} ({name})"));
    }
    let place = |file: FileId, span: ByteSpan| {
        let source = desk.run.package.files.get(file);
        let line = source.position(span.start()).line.0;
        match file == finding.file {
            true => format!("line {line}"),
            false => format!("{}:{line}", source.path().display()),
        }
    };
    for note in &finding.notes {
        add(
            "",
            format!("{}: {}", place(note.file, note.span), note.text),
        );
    }
    for other in &group.also {
        let (code, place) = (other.rule.code, place(other.file, other.span));
        add("also", format!("{code}, {place}: {}", other.message));
    }
    add("fix", fix.title.clone());
    add("level", level(&fix).to_owned());
    for Need::Compat { function, .. } in &fix.needs {
        add(
            "needs",
            match compat::is_own(function) {
                true => format!("{function}, through a header"),
                false => format!("{function}, through a header on older Pythons"),
            },
        );
    }
    for (number, other) in forms(group).filter(|(_, other)| other.title != fix.title) {
        add("or", format!("{number}: {}", other.title));
    }
    out.extend(against(desk, group));
    let mut add = |label, text: String| out.push(Reason { label, text });
    let at = desk.session.find(&group.id);
    if at.is_some_and(|at| desk.session.decision(at).is_edited()) {
        add(
            "edited",
            "what the function becomes is your decision".to_owned(),
        );
    }
    add("docs", format!("ungil explain {}", finding.rule.code));
    out
}

/// How sure the fix is, and what that means.
const fn level(fix: &Fix) -> &'static str {
    match fix.confidence {
        Confidence::Safe if !fix.confirmed.is_empty() => {
            "safe by your word: correct if what you confirmed is true"
        }
        Confidence::Safe => "safe: with the GIL, behaviour is the same on every path",
        Confidence::Review => "review: correct if the statements to confirm are true",
    }
}

/// What must be confirmed, with how many other fixes rest on it.
fn asked(desk: &Desk<'_>, assumption: &Assumption) -> String {
    let on = assumption.fact().and_then(|fact| desk.questions.get(fact));
    match on.map_or(0, |on| on.len().saturating_sub(1)) {
        0 => assumption.to_string(),
        others => format!(
            "{assumption} ({} on this: c confirms it for all)",
            counted(others, "other fix rests", "other fixes rest")
        ),
    }
}

/// Fixes that change the same text, and what was decided before the function changed.
fn against(desk: &Desk<'_>, group: &Group<'_>) -> Vec<Reason> {
    let mut out = Vec::new();
    let mut add = |label, text: String| out.push(Reason { label, text });
    for &other in &group.clashes {
        let other_group = &desk.session.groups()[other];
        let state = desk.session.decision(other).word();
        let (id, code) = (&other_group.id, other_group.finding.rule.code);
        add(
            "clashes",
            format!("{id} {code} ({state}) changes the same text"),
        );
    }
    let mark = group.mark();
    for (old, decision) in &desk.stale {
        if (&old.rule, &old.file, &old.function) == (&mark.rule, &mark.file, &mark.function) {
            let decision = described(decision);
            add(
                "before",
                format!("{decision}, but the function has changed since"),
            );
        }
    }
    out
}

/// The decision in a word, with its reason.
pub(super) fn described(decision: &Decision) -> String {
    match decision {
        Decision::Rejected(reason) if !reason.is_empty() => format!("rejected: {reason}"),
        Decision::Alternative(title) => format!("accepted: {title}"),
        other => other.word().to_owned(),
    }
}
