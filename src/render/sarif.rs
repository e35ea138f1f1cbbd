//! SARIF 2.1.0, as code scanning of GitHub likes it.
//!
//! One run; paths are relative to the top of the repository (`SRCROOT`), so that the log can be
//! made on one machine and read on another.

use serde_json::{Map, Value, json};

use super::place::Region;
use super::{Named, Results, Silence, View, whole_message};
use crate::diff::slashed;
use crate::edit::{Edit, Fix};
use crate::engine::{Coverage, NewFile};
use crate::rule::{Finding, Note, Outcome, Rule};
use crate::source::{ByteSpan, FileId};
use crate::transforms;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const ROOT: &str = "SRCROOT";

pub(super) fn log(results: Results<'_>) -> String {
    let Results {
        view,
        findings,
        analysis,
        ..
    } = results;
    let converted: Vec<Value> = findings
        .iter()
        .map(|named| result(results, *named))
        .collect();
    let rules: Vec<Value> = transforms::ALL
        .iter()
        .map(|rule| descriptor(rule))
        .collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "ungil",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
                "notifications": [{
                    "id": "not-understood",
                    "shortDescription": {"text": "A function that the rules could not analyse"},
                }],
            }},
            "automationDetails": {"id": "ungil/"},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {
                ROOT: {"description": {"text": "The top of the repository, else of the project"}},
            },
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications(view, &analysis.coverage),
            }],
            "results": converted,
        }],
    });
    format!("{log:#}\n")
}

fn descriptor(rule: &Rule) -> Value {
    let severity = rule.severity;
    json!({
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.section("Why").unwrap_or(rule.summary.to_owned())},
        "help": {"text": rule.page(), "markdown": rule.page()},
        "defaultConfiguration": {"level": severity.level().name(), "rank": severity.rank()},
        "properties": {"tags": ["concurrency", "free-threading", severity.name()]},
    })
}

fn result(results: Results<'_>, named: Named<'_>) -> Value {
    let view = results.view;
    let Named {
        finding,
        fingerprint,
        silenced,
        ..
    } = named;
    let index = transforms::ALL
        .iter()
        .position(|rule| rule.code == finding.rule.code);
    let (kind, level) = match finding.outcome {
        // The standard allows no other level for what passed.
        Outcome::Safe(_) => ("pass", "none"),
        Outcome::Fix(_) | Outcome::Manual(_) => ("fail", finding.rule.severity.level().name()),
    };
    let mut result = json!({
        "ruleId": finding.rule.code,
        "kind": kind,
        "level": level,
        "rank": finding.rule.severity.rank(),
        "message": {"text": whole_message(finding)},
        "locations": [primary_location(view, finding)],
        "partialFingerprints": {"ungil/v1": fingerprint},
        "suppressions": silenced.into_iter().map(suppression).collect::<Vec<_>>(),
    });
    let mut add = |key: &str, value: Value| result[key] = value;
    if let Some(index) = index {
        add("ruleIndex", index.into());
    }
    if !finding.notes.is_empty() {
        let steps = finding.notes.iter().map(|note| step(view, note));
        let flow = json!({"threadFlows": [{"locations": steps.collect::<Vec<_>>()}]});
        add("codeFlows", json!([flow]));
    }
    if let Outcome::Fix(fix) = &finding.outcome
        && let Some(fix) = convert_fix(view, fix, &results.analysis.new_files)
    {
        add("fixes", json!([fix]));
    }
    result
}

fn suppression(silenced: Silence<'_>) -> Value {
    match silenced {
        Silence::Comment(None) => json!({"kind": "inSource"}),
        Silence::Comment(Some(reason)) => json!({"kind": "inSource", "justification": reason}),
        Silence::Configuration => {
            json!({"kind": "external", "justification": "per-file-ignores of the configuration"})
        }
    }
}

fn primary_location(view: View<'_>, finding: &Finding) -> Value {
    let mut location = location(view, finding.file, finding.span);
    if let Some(function) = &finding.function {
        location["logicalLocations"] = json!([{"name": function, "kind": "function"}]);
    }
    location
}

fn step(view: View<'_>, note: &Note) -> Value {
    let mut location = location(view, note.file, note.span);
    location["message"] = json!({"text": note.text});
    json!({"location": location})
}

fn location(view: View<'_>, file: FileId, span: ByteSpan) -> Value {
    let Region {
        line,
        column,
        end_line,
        end_column,
    } = Region::new(view.package.files.get(file), span);
    json!({"physicalLocation": {
        "artifactLocation": artifact(view, file),
        "region": {
            "startLine": line,
            "startColumn": column,
            "endLine": end_line,
            "endColumn": end_column,
            "byteOffset": span.start().0,
            "byteLength": span.len(),
        },
    }})
}

fn artifact(view: View<'_>, file: FileId) -> Value {
    json!({"uri": uri(view.root_path(file).as_bytes()), "uriBaseId": ROOT})
}

/// A relative reference: what is no letter or digit of ASCII is escaped.
fn uri(path: &[u8]) -> String {
    let mut out = String::new();
    for &byte in path {
        match byte {
            b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}

/// The fix by file, with the files it needs; `None` if it inserts bytes that are no text, which the
/// format cannot hold.
fn convert_fix(view: View<'_>, fix: &Fix, new_files: &[NewFile]) -> Option<Value> {
    let mut changes = Vec::new();
    for edits in fix.edits.chunk_by(|one, other| one.file == other.file) {
        let replacements: Option<Vec<Value>> = edits.iter().map(replacement).collect();
        changes.push(json!({
            "artifactLocation": artifact(view, edits[0].file),
            "replacements": replacements?,
        }));
    }
    for file in new_files.iter().filter_map(|file| file.of([fix])) {
        changes.push(json!({
            "artifactLocation": {"uri": uri(&slashed(&file.path)), "uriBaseId": ROOT},
            "replacements": [{
                "deletedRegion": {"byteOffset": 0, "byteLength": 0},
                "insertedContent": {"text": str::from_utf8(&file.bytes).ok()?},
            }],
        }));
    }
    Some(json!({
        "description": {"text": fix.title},
        "artifactChanges": changes,
    }))
}

fn replacement(edit: &Edit) -> Option<Value> {
    let mut replacement = Map::new();
    let deleted = json!({"byteOffset": edit.span.start().0, "byteLength": edit.span.len()});
    replacement.insert("deletedRegion".into(), deleted);
    if !edit.text.is_empty() {
        let text = str::from_utf8(&edit.text).ok()?;
        replacement.insert("insertedContent".into(), json!({"text": text}));
    }
    Some(replacement.into())
}

fn notifications(view: View<'_>, coverage: &Coverage) -> Vec<Value> {
    let gaps = coverage.not_understood.iter();
    let notification = gaps.map(|gap| {
        json!({
            "descriptor": {"id": "not-understood", "index": 0},
            "level": "note",
            "message": {"text": format!("`{}` not analysed: {}", gap.function, gap.reason)},
            "locations": [{"physicalLocation": {
                "artifactLocation": artifact(view, gap.file),
                "region": {"startLine": gap.line.0},
            }}],
        })
    });
    notification.collect()
}
