//! Workflow commands of GitHub: one line each, shown beside the code.

use super::place::Region;
use super::{View, whole_message};
use crate::rule::{Finding, Level, Outcome};

pub(super) fn command(view: View<'_>, finding: &Finding) -> String {
    let kind = match finding.outcome {
        Outcome::Safe(_) => "notice",
        Outcome::Fix(_) | Outcome::Manual(_) => match finding.rule.severity.level() {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "notice",
        },
    };
    let region = Region::new(view.package.files.get(finding.file), finding.span);
    let mut place = format!(
        "file={},line={},endLine={}",
        property(&view.root_path(finding.file)),
        region.line,
        region.end_line,
    );
    // Columns over several lines are refused.
    if region.line == region.end_line {
        place += &format!(",col={},endColumn={}", region.column, region.end_column);
    }
    let title = property(&format!("{} {}", finding.rule.code, finding.rule.name));
    let text = data(&whole_message(finding));
    format!("::{kind} {place},title={title}::{text}\n")
}

fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
