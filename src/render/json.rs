//! Findings for programs.

use serde::Serialize;

use super::View;
use crate::edit::{Confidence, Edit};
use crate::rule::{Finding, Outcome};
use crate::source::{ByteSpan, FileId};

#[derive(Serialize)]
struct JsonFinding<'a> {
    code: &'a str,
    name: &'a str,
    message: &'a str,
    location: Location,
    function: Option<&'a str>,
    api: Option<&'a str>,
    notes: Vec<JsonNote<'a>>,
    outcome: JsonOutcome<'a>,
}

#[derive(Serialize)]
struct Location {
    path: String,
    line: u32,
    column: u32,
    byte_start: u32,
    byte_end: u32,
}

#[derive(Serialize)]
struct JsonNote<'a> {
    message: &'a str,
    location: Location,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
enum JsonOutcome<'a> {
    Fix {
        confidence: &'static str,
        title: &'a str,
        assumptions: &'a [String],
        edits: Vec<JsonEdit<'a>>,
    },
    Safe {
        reason: &'a str,
    },
    Manual {
        reason: &'a str,
    },
}

/// Bytes that are no UTF-8 are replaced in `text`; inserted code is ASCII in practice.
#[derive(Serialize)]
struct JsonEdit<'a> {
    path: String,
    byte_start: u32,
    byte_end: u32,
    text: std::borrow::Cow<'a, str>,
}

pub(super) fn findings(view: View<'_>, findings: &[&Finding]) -> String {
    let list: Vec<_> = findings
        .iter()
        .map(|finding| convert(view, finding))
        .collect();
    let text = serde_json::to_string_pretty(&list).expect("strings and numbers always serialise");
    text + "\n"
}

fn convert<'a>(view: View<'_>, finding: &'a Finding) -> JsonFinding<'a> {
    let note = |note: &'a crate::rule::Note| JsonNote {
        message: &note.text,
        location: location(view, note.file, note.span),
    };
    JsonFinding {
        code: finding.rule.code,
        name: finding.rule.name,
        message: &finding.message,
        location: location(view, finding.file, finding.span),
        function: finding.function.as_deref(),
        api: finding.api,
        notes: finding.notes.iter().map(note).collect(),
        outcome: outcome(view, &finding.outcome),
    }
}

fn outcome<'a>(view: View<'_>, outcome: &'a Outcome) -> JsonOutcome<'a> {
    match outcome {
        Outcome::Safe(reason) => JsonOutcome::Safe { reason },
        Outcome::Manual(reason) => JsonOutcome::Manual { reason },
        Outcome::Fix(fix) => JsonOutcome::Fix {
            confidence: match fix.confidence {
                Confidence::Safe => "safe",
                Confidence::Review => "review",
            },
            title: &fix.title,
            assumptions: &fix.assumptions,
            edits: fix.edits.iter().map(|edit| json_edit(view, edit)).collect(),
        },
    }
}

fn json_edit<'a>(view: View<'_>, edit: &'a Edit) -> JsonEdit<'a> {
    JsonEdit {
        path: view.path(edit.file),
        byte_start: edit.span.start().0,
        byte_end: edit.span.end().0,
        text: String::from_utf8_lossy(&edit.text),
    }
}

fn location(view: View<'_>, file: FileId, span: ByteSpan) -> Location {
    let position = view.package.files.get(file).position(span.start());
    Location {
        path: view.path(file),
        line: position.line.0,
        column: position.column,
        byte_start: span.start().0,
        byte_end: span.end().0,
    }
}
