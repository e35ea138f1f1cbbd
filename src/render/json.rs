//! Findings for programs.

use std::borrow::Cow;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use super::place::Region;
use super::{Named, Results, View};
use crate::edit::{Confidence, Edit, Fix};
use crate::rule::{Note, Outcome, Severity};
use crate::source::{ByteSpan, FileId};

/// What a rule reports about one place.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "Finding"))]
struct JsonFinding<'a> {
    /// Fingerprint of the finding; it stays the same when other lines change.
    fingerprint: &'a str,
    /// Code of the rule: `UG101`.
    code: &'a str,
    /// Name of the rule: `borrowed-list-item`.
    name: &'a str,
    /// The worst that it may lead to.
    severity: JsonSeverity,
    /// What is true of this place.
    message: &'a str,
    /// The place.
    location: Location,
    /// The function around the place.
    function: Option<&'a str>,
    /// The function of the C API that it is about.
    api: Option<&'a str>,
    /// Steps that lead to the problem, in order.
    notes: Vec<JsonNote<'a>>,
    /// What to do.
    outcome: JsonOutcome<'a>,
}

/// From the worst to the least.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, schemars(rename = "Severity"))]
enum JsonSeverity {
    /// Use after free, or other memory that is not valid.
    Memory,
    /// Threads change the same data at one time.
    Race,
    /// Threads wait for each other, or all for one that sleeps.
    Deadlock,
    /// It runs with the GIL only, or turns the GIL on.
    Portability,
    /// It cannot be built, installed or found for free-threaded Python.
    Packaging,
}

impl From<Severity> for JsonSeverity {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Memory => Self::Memory,
            Severity::Race => Self::Race,
            Severity::Deadlock => Self::Deadlock,
            Severity::Portability => Self::Portability,
            Severity::Packaging => Self::Packaging,
        }
    }
}

/// A place in a file.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Location {
    /// Path of the file, relative to the current folder.
    path: String,
    /// First line, from 1.
    line: u32,
    /// Column of the first byte, in bytes from 1.
    column: u32,
    /// Line of the end, from 1.
    end_line: u32,
    /// Offset of the first byte in the file; counts from 0.
    byte_start: u32,
    /// Offset after the last byte, in the file.
    byte_end: u32,
}

/// A further place that explains a finding.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "Note"))]
struct JsonNote<'a> {
    /// What is true there.
    message: &'a str,
    /// The place.
    location: Location,
}

/// What is to be done about a finding.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase", tag = "kind")]
#[cfg_attr(test, schemars(rename = "Outcome"))]
enum JsonOutcome<'a> {
    /// A change that is applied completely or not at all.
    Fix {
        /// The id in `ungil review`; findings that are repaired by the same changes share one.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        /// For a `review` fix, a person must confirm the assumptions.
        confidence: JsonConfidence,
        /// What it does.
        title: &'a str,
        /// What a person must confirm; empty for a safe fix.
        assumptions: Vec<String>,
        /// What the project has confirmed in its configuration, and the fix rests on.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        confirmed: Vec<String>,
        /// All changes, by file and place.
        edits: Vec<JsonEdit<'a>>,
        /// New files that the changes need.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        new_files: Vec<JsonNewFile>,
    },
    /// Proven safe as it is; only with `--show-safe`.
    Safe {
        /// The proof.
        reason: &'a str,
    },
    /// No fix.
    Manual {
        /// Why there is no fix, and what to do by hand.
        reason: &'a str,
    },
}

#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, schemars(rename = "Confidence", inline))]
enum JsonConfidence {
    Safe,
    Review,
}

/// The replacement of some bytes of a file.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "Edit"))]
struct JsonEdit<'a> {
    /// Path of the file, relative to the current folder.
    path: String,
    /// Offset of the first byte that is replaced; counts from 0.
    byte_start: u32,
    /// Offset after the last byte that is replaced; equal to `byte_start` for an insertion.
    byte_end: u32,
    /// The new text. Bytes that are not UTF-8 are shown as U+FFFD.
    text: Cow<'a, str>,
}

/// A new file. Other fixes may need more in it: for several fixes, write it with what all of them
/// need (`ungil diff` does).
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[cfg_attr(test, schemars(rename = "NewFile"))]
struct JsonNewFile {
    /// Its path, relative to the current folder.
    path: String,
    /// Its content for this fix alone.
    text: String,
}

pub(super) fn findings(results: Results<'_>) -> String {
    let findings = results.findings.iter();
    let list: Vec<_> = findings.map(|named| convert(results, *named)).collect();
    let text = serde_json::to_string_pretty(&list).expect("strings and numbers always serialise");
    text + "\n"
}

/// The JSON schema of what [`super::OutputFormat::Json`] writes.
#[cfg(test)]
pub(super) fn schema() -> String {
    schema_of::<Vec<JsonFinding<'_>>>("ungil check --output-format json")
}

#[cfg(test)]
pub(super) fn schema_of<T: JsonSchema>(title: &str) -> String {
    let mut generator = schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut schema = generator.root_schema_for::<T>();
    schema.insert("title".into(), title.into());
    format!("{:#}\n", schema.to_value())
}

fn convert<'a>(results: Results<'_>, named: Named<'a>) -> JsonFinding<'a> {
    let view = results.view;
    let Named {
        finding,
        fingerprint,
        ..
    } = named;
    let note = |note: &'a Note| JsonNote {
        message: &note.text,
        location: location(view, note.file, note.span),
    };
    JsonFinding {
        fingerprint,
        code: finding.rule.code,
        name: finding.rule.name,
        severity: finding.rule.severity.into(),
        message: &finding.message,
        location: location(view, finding.file, finding.span),
        function: finding.function.as_deref(),
        api: finding.api,
        notes: finding.notes.iter().map(note).collect(),
        outcome: outcome(results, &finding.outcome, named.fix),
    }
}

fn outcome<'a>(results: Results<'_>, outcome: &'a Outcome, id: Option<&'a str>) -> JsonOutcome<'a> {
    let view = results.view;
    match outcome {
        Outcome::Safe(reason) => JsonOutcome::Safe { reason },
        Outcome::Manual(reason) => JsonOutcome::Manual { reason },
        Outcome::Fix(fix) => JsonOutcome::Fix {
            id,
            confidence: match fix.confidence {
                Confidence::Safe => JsonConfidence::Safe,
                Confidence::Review => JsonConfidence::Review,
            },
            title: &fix.title,
            assumptions: fix.assumptions.iter().map(ToString::to_string).collect(),
            confirmed: fix.confirmed.iter().map(ToString::to_string).collect(),
            edits: fix.edits.iter().map(|edit| json_edit(view, edit)).collect(),
            new_files: new_files(results, fix),
        },
    }
}

fn new_files(results: Results<'_>, fix: &Fix) -> Vec<JsonNewFile> {
    let files = results.analysis.new_files.iter();
    let files = files.filter_map(|file| file.of([fix]));
    let shown = files.map(|file| JsonNewFile {
        path: results.view.absent_path(&file.path),
        text: String::from_utf8_lossy(&file.bytes).into_owned(),
    });
    shown.collect()
}

fn json_edit<'a>(view: View<'_>, edit: &'a Edit) -> JsonEdit<'a> {
    JsonEdit {
        path: view.path(edit.file),
        byte_start: edit.span.start().0,
        byte_end: edit.span.end().0,
        text: String::from_utf8_lossy(&edit.text),
    }
}

pub(super) fn location(view: View<'_>, file: FileId, span: ByteSpan) -> Location {
    let source = view.package.files.get(file);
    let region = Region::new(source, span);
    Location {
        path: view.path(file),
        line: region.line,
        column: source.position(span.start()).column,
        end_line: region.end_line,
        byte_start: span.start().0,
        byte_end: span.end().0,
    }
}
