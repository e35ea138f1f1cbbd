//! Findings that comments and the configuration silence.

use std::collections::BTreeMap;

use super::config::Settings;
use super::talk::Talk;
use crate::engine::Analysis;
use crate::package::{FileKind, Package};
use crate::rule::{Finding, Outcome, Suppression, build_suppressions, suppressions};
use crate::source::{FileId, LineNumber, SourceFile};
use crate::transforms;

/// A finding that is not to be shown.
#[derive(Debug)]
pub(super) struct Silenced {
    pub(super) finding: Finding,
    pub(super) by: By,
}

/// What silences a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum By {
    /// A comment, which may say why.
    Comment(Option<String>),
    /// `per-file-ignores`.
    Configuration,
}

/// A comment with whether it silences anything.
struct Comment {
    suppression: Suppression,
    used: bool,
}

/// Takes out the findings that are silenced; says of comments what is wrong with them, and which
/// are of no use any more.
pub(super) fn silence(
    package: &Package,
    settings: &Settings,
    analysis: &mut Analysis,
    talk: &Talk,
) -> Vec<Silenced> {
    let mut comments = comments(package);
    let mut by = Vec::new();
    let silenced = analysis.findings.extract_if(.., |finding| {
        let file = package.files.get(finding.file);
        let line = file.position(finding.span.start()).line;
        let found = comments.get_mut(&finding.file);
        let comment = found.and_then(|found| mark_used(found, finding, line));
        let path = package.root.join(file.path());
        if let Some(comment) = comment {
            by.push(By::Comment(comment.reason.clone()));
        } else if settings.is_silenced(finding.rule, &path) {
            by.push(By::Configuration);
        } else {
            return false;
        }
        true
    });
    let silenced: Vec<Finding> = silenced.collect();
    for (id, found) in &comments {
        report(package.files.get(*id), found, settings, talk);
    }
    let pairs = silenced.into_iter().zip(by);
    pairs
        .map(|(finding, by)| Silenced { finding, by })
        .collect()
}

fn comments(package: &Package) -> BTreeMap<FileId, Vec<Comment>> {
    let files = package.files.iter();
    let selected = files.filter(|(id, _)| package.info(*id).selected);
    let comment = |suppression| Comment {
        suppression,
        used: false,
    };
    let of = |id, file| match package.info(id).kind {
        FileKind::C | FileKind::Header | FileKind::Cpp => suppressions(file, transforms::ALL),
        FileKind::Build(_) => build_suppressions(file, transforms::ALL),
        FileKind::ObjectiveC | FileKind::Template | FileKind::Generated(_) => Vec::new(),
    };
    selected
        .map(|(id, file)| (id, of(id, file).into_iter().map(comment).collect()))
        .collect()
}

/// The first comment that covers `finding`. A finding that nobody would see makes no comment
/// useful.
fn mark_used<'c>(
    comments: &'c mut [Comment],
    finding: &Finding,
    line: LineNumber,
) -> Option<&'c Suppression> {
    let mut first = None;
    for comment in comments {
        if comment.suppression.covers(finding.rule, line) {
            comment.used |= !matches!(finding.outcome, Outcome::Safe(_));
            first = first.or(Some(&comment.suppression));
        }
    }
    first
}

fn report(file: &SourceFile, comments: &[Comment], settings: &Settings, talk: &Talk) {
    for Comment { suppression, used } in comments {
        let place = file.position(suppression.span.start()).line.0;
        let place = format!("{}:{place}", file.path().display());
        if let Some(error) = suppression.error() {
            talk.warning(&format!("{place}: `ungil:` comment {error}"));
        } else if !used && is_ours(file, suppression) && all_ran(suppression, settings) {
            talk.warning(&format!(
                "{place}: this comment no longer suppresses a finding"
            ));
        }
    }
}

/// Marks of other tools may serve those.
fn is_ours(file: &SourceFile, suppression: &Suppression) -> bool {
    file.slice(suppression.span) == b"ungil:"
}

/// Whether every rule that the comment names had its say.
fn all_ran(suppression: &Suppression, settings: &Settings) -> bool {
    let engine = &settings.engine;
    let mut named = transforms::ALL
        .iter()
        .filter(|rule| suppression.names(rule));
    engine.functions.is_empty() && named.all(|rule| engine.selection.includes(rule))
}
