//! Which findings go into one patch.

use std::collections::{BTreeMap, BTreeSet};

use super::Part;
use crate::edit::Edit;
use crate::package::Package;
use crate::review::slashed;
use crate::source::FileId;

/// What a series has a patch for each of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Split {
    /// Each rule.
    Rule,
    /// Each file with findings.
    File,
    /// Each function with findings.
    Function,
    /// Each fix.
    Fix,
}

/// The findings of one patch.
#[derive(Debug)]
pub(super) struct Unit<'a> {
    pub(super) parts: Vec<Part<'a>>,
    pub(super) subject: String,
    pub(super) slug: String,
}

impl<'a> Unit<'a> {
    /// One without findings so far.
    pub(super) fn new(subject: String) -> Self {
        Self {
            parts: Vec::new(),
            slug: slug(&subject),
            subject,
        }
    }

    /// The files that its fixes edit.
    pub(super) fn files(&self) -> BTreeSet<FileId> {
        let edits = self.parts.iter().flat_map(|part| &part.fix.edits);
        edits.map(|edit| edit.file).collect()
    }

    /// Both in one patch.
    pub(super) fn with(mut self, other: Unit<'a>) -> Self {
        self.parts.extend(other.parts);
        self.subject = format!("{}; {}", self.subject, other.subject);
        self
    }
}

/// The units of `parts` in the order of the series: by rule code, or by place. A module says that
/// it is safe only after all else is done.
pub(super) fn units<'a>(package: &Package, parts: &[Part<'a>], split: Split) -> Vec<Unit<'a>> {
    let mut units: BTreeMap<Key<'a>, Unit<'a>> = BTreeMap::new();
    for fix in same_fix(parts) {
        let part = fix[0];
        let key = Key::new(&part, split);
        let unit = units
            .entry(key)
            .or_insert_with(|| Unit::new(subject(package, &part, split)));
        unit.parts.extend(fix);
    }
    units.into_values().collect()
}

/// The findings, by place, that share one fix.
pub(super) fn same_fix<'a>(parts: &[Part<'a>]) -> Vec<Vec<Part<'a>>> {
    let mut sorted = parts.to_vec();
    sorted.sort_by_key(|part| (part.finding.file, part.finding.span, part.id));
    let mut fixes: Vec<Vec<Part<'a>>> = Vec::new();
    let mut known: BTreeMap<&[Edit], usize> = BTreeMap::new();
    for part in sorted {
        let at = *known.entry(&part.fix.edits).or_insert(fixes.len());
        if at == fixes.len() {
            fixes.push(Vec::new());
        }
        fixes[at].push(part);
    }
    fixes
}

/// Findings with equal keys share a patch; keys sort as patches do.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    declares: bool,
    rule: &'a str,
    /// File and place.
    place: Option<(u32, u32)>,
    function: Option<&'a str>,
}

impl<'a> Key<'a> {
    fn new(part: &Part<'a>, split: Split) -> Self {
        let finding = part.finding;
        let (file, start) = (finding.file.0, finding.span.start().0);
        let (rule, place, function) = match split {
            Split::Rule => (finding.rule.code, None, None),
            Split::File => ("", Some((file, 0)), None),
            Split::Function => ("", Some((file, 0)), finding.function.as_deref()),
            Split::Fix => ("", Some((file, start)), None),
        };
        Self {
            declares: finding.rule.code.starts_with("UG2"),
            rule,
            place,
            function,
        }
    }
}

fn subject(package: &Package, part: &Part<'_>, split: Split) -> String {
    let finding = part.finding;
    let path = slashed(package.files.get(finding.file).path());
    let rule = format!("{} {}", finding.rule.code, finding.rule.name);
    match (split, &finding.function) {
        (Split::Rule, _) => rule,
        (Split::File, _) | (Split::Function, None) => path,
        (Split::Function, Some(function)) => format!("{path}: {function}"),
        (Split::Fix, Some(function)) => format!("{path}: {function}: {rule}"),
        (Split::Fix, None) => format!("{path}: {rule}"),
    }
}

/// Letters, digits, `.`, `_` and `-` of the subject, as `git format-patch` names files.
#[must_use]
pub fn slug(subject: &str) -> String {
    /// Longest name in bytes.
    const MAX: usize = 64;
    let mut slug = String::new();
    for letter in subject.chars() {
        if letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_') {
            slug.push(letter);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(MAX);
    slug.trim_matches(['-', '.']).to_owned()
}
