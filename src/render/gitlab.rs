//! The Code Quality report of GitLab.

use serde_json::{Value, json};

use super::place::Region;
use super::{Named, View, whole_message};
use crate::rule::{Outcome, Severity};

pub(super) fn report(view: View<'_>, findings: &[Named<'_>]) -> String {
    let issues: Vec<Value> = findings.iter().map(|named| issue(view, *named)).collect();
    format!("{:#}\n", Value::from(issues))
}

fn issue(view: View<'_>, named: Named<'_>) -> Value {
    let Named {
        finding,
        fingerprint,
        ..
    } = named;
    let region = Region::new(view.package.files.get(finding.file), finding.span);
    json!({
        "check_name": finding.rule.code,
        "description": format!("{}: {}", finding.rule.name, whole_message(finding)),
        "fingerprint": fingerprint,
        "severity": match finding.outcome {
            Outcome::Safe(_) => "info",
            Outcome::Fix(_) | Outcome::Manual(_) => match finding.rule.severity {
                Severity::Memory => "critical",
                Severity::Race | Severity::Deadlock => "major",
                Severity::Portability | Severity::Packaging => "minor",
            },
        },
        "location": {
            "path": view.root_path(finding.file),
            "lines": {"begin": region.line, "end": region.end_line},
        },
    })
}
