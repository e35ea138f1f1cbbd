//! A paragraph on thread safety for the users of the package.

use std::collections::BTreeSet;

use super::Material;
use crate::edit::FixId;
use crate::engine::{Declared, ModuleStatus, OpenKind};
use crate::rule::{Finding, Outcome};
use crate::series::{Chapter, intent};
use crate::source::FileId;

/// Which modules run without the GIL once the series is applied.
pub(super) struct Standing<'a> {
    /// Those that this series declares.
    pub(super) declared: Vec<&'a str>,
    /// Those that still turn the GIL on.
    pub(super) left: Vec<&'a str>,
}

impl<'a> Standing<'a> {
    pub(super) fn new(material: Material<'a>) -> Self {
        let parts = material.parts.iter().map(|part| part.finding);
        let declarations = parts.filter(|it| {
            !it.rule.check.is_build() && intent(it.rule).chapter == Chapter::Declaration
        });
        let files: BTreeSet<FileId> = declarations.map(|it| it.file).collect();
        let modules = material.analysis.modules.iter();
        let modules = modules.filter(|it| it.declared != Declared::Already);
        let (declared, left): (Vec<_>, Vec<_>) = modules.partition(|it| files.contains(&it.file));
        let names = |all: Vec<&'a ModuleStatus>| all.into_iter().map(|it| it.name.as_str());
        Self {
            declared: names(declared).collect(),
            left: names(left).collect(),
        }
    }
}

/// What users may rely on: which objects they may share, and what they have to lock.
pub(super) fn paragraph(material: Material<'_>, standing: &Standing<'_>) -> String {
    if !standing.left.is_empty() {
        return format!(
            "On free-threaded Python, importing {} turns the GIL on: it has not been shown to be \
             thread-safe without the GIL.",
            quoted(standing.left.iter().copied())
        );
    }
    let mut text = vec![
        "This package supports free-threaded Python: importing it does not turn the GIL on. \
         Threads may call all functions at the same time, each on objects of its own."
            .to_owned(),
    ];
    let (locked, open) = types(material);
    if !locked.is_empty() {
        text.push(format!(
            "Objects of {} may be shared between threads: each method holds a lock of its object. \
             Several calls in a row are not one step; use a lock of your own around them.",
            quoted(locked)
        ));
    }
    if !open.is_empty() {
        text.push(format!(
            "Objects of {} are not thread-safe: threads that share one need a lock of their own.",
            quoted(open)
        ));
    }
    if !has_open_uses(material) {
        text.push(
        "Other threads may change a list or dict while a function of this package reads it. That \
         does not crash, but whether the function sees the change is not defined."
            .to_owned(),
    );
    }
    text.join(" ")
}

/// Whether something is still used that other threads may free.
fn has_open_uses(material: Material<'_>) -> bool {
    let taken: BTreeSet<FixId> = material.parts.iter().map(|part| part.id).collect();
    let mut findings = (0..).map(FixId).zip(&material.analysis.findings);
    findings.any(|(id, finding)| {
        let is_use = matches!(
            OpenKind::of(finding.rule),
            Some(OpenKind::BorrowedReference | OpenKind::CriticalSection)
        );
        is_use && !matches!(finding.outcome, Outcome::Safe(_)) && !taken.contains(&id)
    })
}

/// The types whose fields methods lock now, and those that stay without a lock, as C names them.
fn types<'a>(material: Material<'a>) -> (BTreeSet<&'a str>, BTreeSet<&'a str>) {
    let taken: BTreeSet<FixId> = material.parts.iter().map(|part| part.id).collect();
    let findings = (0..).map(FixId).zip(&material.analysis.findings);
    let about_types = findings.filter(|(_, finding)| {
        OpenKind::of(finding.rule) == Some(OpenKind::ObjectState)
            && !matches!(finding.outcome, Outcome::Safe(_))
    });
    let (locked, open): (Vec<_>, Vec<_>) = about_types.partition(|(id, _)| taken.contains(id));
    let names = |all: Vec<(FixId, &'a Finding)>| {
        let names = all.into_iter().filter_map(|(_, finding)| type_of(finding));
        names.collect()
    };
    (names(locked), names(open))
}

/// The message names the type first.
fn type_of(finding: &Finding) -> Option<&str> {
    finding.message.split('`').nth(1)
}

/// `a`, `b` and `c`
pub(super) fn quoted<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}
