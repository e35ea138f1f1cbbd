//! What the report says, before it is laid out.

use std::collections::BTreeMap;

use serde::Serialize;

use super::super::statistics::{Tally, tallies};
use super::super::{Results, View, excerpt};
use super::changed::{Changed, DiffLine, FileDiff};
use super::sections::{Bar, Cause, Links, sections};
use crate::edit::{Confidence, Edit};
use crate::engine::{Analysis, Declared, Init, ModuleStatus};
use crate::package::not_analysed;
use crate::rule::{Finding, Outcome};

#[derive(Serialize)]
pub(super) struct Page {
    version: &'static str,
    /// Name of the folder that was looked at.
    title: String,
    /// Oldest Python the package supports.
    python: String,
    safe: usize,
    review: usize,
    manual: usize,
    safe_as_is: usize,
    modules: Vec<Module>,
    /// Findings of files that are part of no module.
    elsewhere: Vec<Cause>,
    rules: Vec<RuleRow>,
    by_hand: Vec<Entry>,
    to_review: Vec<Entry>,
    safe_fixes: Vec<Entry>,
    proven: Vec<Proof>,
    functions: usize,
    understood: usize,
    files: usize,
    not_understood: Vec<Gap>,
    headers_not_found: Vec<String>,
    not_analysed: Vec<String>,
    /// Paths of the files that are to be added.
    new_files: Vec<String>,
    /// Longer than any row of backticks in an excerpt or diff.
    fence: String,
}

#[derive(Serialize)]
pub(super) struct Module {
    name: String,
    file: String,
    init: &'static str,
    declared: &'static str,
    is_ready: bool,
    open: String,
    bar: Bar,
    causes: Vec<Cause>,
}

#[derive(Serialize)]
struct RuleRow {
    code: &'static str,
    name: &'static str,
    summary: &'static str,
    severity: &'static str,
    open: usize,
    safe_fix: usize,
    review_fix: usize,
    manual: usize,
    safe_as_is: usize,
}

/// A fix with all findings it settles, or findings without a fix for which the same is to be done.
#[derive(Serialize)]
pub(super) struct Entry {
    /// `safe`, `review` or `hand`.
    kind: &'static str,
    findings: Vec<Place>,
    /// What the fix does, or what is to be done by hand.
    advice: String,
    assumptions: Vec<String>,
    /// What the project has confirmed.
    confirmed: Vec<String>,
    /// The finding as a compiler would show it; empty if there is a diff.
    excerpt: String,
    diff: Vec<DiffLine>,
    files: Vec<FileDiff>,
    needs_new_file: bool,
}

impl Entry {
    /// Whether the same is to be done by hand.
    pub(super) fn asks_as(&self, other: &Self) -> bool {
        self.advice == other.advice
    }

    /// Takes the findings of another one over, and what it shows of them.
    pub(super) fn join(&mut self, mut other: Self) {
        self.findings.append(&mut other.findings);
        self.excerpt += "\n\n";
        self.excerpt += &other.excerpt;
    }
}

#[derive(Serialize)]
struct Place {
    place: String,
    href: String,
    function: String,
    code: &'static str,
    name: &'static str,
    severity: &'static str,
    message: String,
}

#[derive(Serialize)]
struct Proof {
    place: String,
    code: &'static str,
    reason: String,
}

#[derive(Serialize)]
struct Gap {
    place: String,
    function: String,
    reason: String,
}

impl Page {
    pub(super) fn new(results: Results<'_>) -> Self {
        let Results { view, analysis, .. } = results;
        // Paths of a report are those of the repository, wherever it was made.
        let view = View {
            folder: &view.package.root,
            styled: false,
            ..view
        };
        let findings: Vec<&Finding> = results.findings.iter().map(|named| named.finding).collect();
        let mut sum = Tally::default();
        findings
            .iter()
            .for_each(|finding| sum.add(&finding.outcome));
        let rules = tallies(findings.iter().copied());
        let links = Links {
            view,
            sources: results.sources,
        };
        let by_hand: Vec<Entry> = findings
            .iter()
            .filter_map(|finding| by_hand(links, finding))
            .collect();
        let to_review = fixes(links, &findings, Confidence::Review);
        let safe_fixes = fixes(links, &findings, Confidence::Safe);
        let (modules, elsewhere) = sections(links, analysis, &findings);
        let name = view.package.root.file_name();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            title: name.map_or(String::new(), |name| name.to_string_lossy().into_owned()),
            python: view.package.python.min.to_string(),
            safe: sum.safe_fix,
            review: sum.review_fix,
            manual: sum.manual,
            safe_as_is: sum.safe_as_is,
            modules,
            elsewhere,
            rules: rules.into_iter().map(rule_row).collect(),
            fence: fence([&by_hand, &to_review, &safe_fixes]),
            by_hand,
            to_review,
            safe_fixes,
            proven: findings
                .iter()
                .filter_map(|finding| proof(view, finding))
                .collect(),
            functions: analysis.coverage.functions,
            understood: analysis
                .coverage
                .functions
                .saturating_sub(analysis.coverage.not_understood.len()),
            files: analysis.coverage.files,
            not_understood: gaps(view, analysis),
            headers_not_found: analysis.coverage.headers_not_found.clone(),
            not_analysed: not_analysed(view.package),
            new_files: analysis
                .new_files
                .iter()
                .map(|file| file.path.display().to_string())
                .collect(),
        }
    }
}

pub(super) fn module(
    view: View<'_>,
    module: &ModuleStatus,
    bar: Bar,
    causes: Vec<Cause>,
) -> Module {
    Module {
        name: module.name.clone(),
        file: view.root_path(module.file),
        init: match module.init {
            Init::Single => "single-phase",
            Init::Multi => "multi-phase",
        },
        declared: match module.declared {
            Declared::Already => "yes",
            Declared::Safe => "by a safe fix",
            Declared::Review => "by a fix to review",
            Declared::NeedsGil => "it says that it needs the GIL",
            Declared::No => "no",
        },
        is_ready: module.open.count() == 0 && module.open.is_complete,
        open: module.open.in_words(),
        bar,
        causes,
    }
}

fn rule_row((rule, tally): (&'static crate::rule::Rule, Tally)) -> RuleRow {
    RuleRow {
        code: rule.code,
        name: rule.name,
        summary: rule.summary,
        severity: rule.severity.name(),
        open: tally.open(),
        safe_fix: tally.safe_fix,
        review_fix: tally.review_fix,
        manual: tally.manual,
        safe_as_is: tally.safe_as_is,
    }
}

pub(super) fn by_hand(links: Links<'_>, finding: &Finding) -> Option<Entry> {
    let Outcome::Manual(advice) = &finding.outcome else {
        return None;
    };
    Some(Entry {
        kind: "hand",
        findings: vec![place(links, finding)],
        advice: advice.clone(),
        assumptions: Vec::new(),
        confirmed: Vec::new(),
        excerpt: excerpt(links.view, finding).trim_end().to_owned(),
        diff: Vec::new(),
        files: Vec::new(),
        needs_new_file: false,
    })
}

/// The fixes of one confidence, each once, in the order of the first finding it settles.
pub(super) fn fixes(links: Links<'_>, findings: &[&Finding], confidence: Confidence) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut known = BTreeMap::<&[Edit], usize>::new();
    for finding in findings {
        let Outcome::Fix(fix) = &finding.outcome else {
            continue;
        };
        if fix.confidence != confidence {
            continue;
        }
        let at = *known.entry(&fix.edits).or_insert_with(|| {
            let changed = Changed::new(links.view, fix);
            entries.push(Entry {
                kind: match confidence {
                    Confidence::Safe => "safe",
                    Confidence::Review => "review",
                },
                findings: Vec::new(),
                advice: fix.title.clone(),
                assumptions: fix.assumptions.iter().map(ToString::to_string).collect(),
                confirmed: fix.confirmed.iter().map(ToString::to_string).collect(),
                excerpt: String::new(),
                diff: changed.patch(),
                files: changed.files(),
                needs_new_file: !fix.needs.is_empty(),
            });
            entries.len() - 1
        });
        entries[at].findings.push(place(links, finding));
    }
    entries
}

fn place(links: Links<'_>, finding: &Finding) -> Place {
    Place {
        place: spot(links.view, finding),
        href: links.to(finding),
        function: finding.function.clone().unwrap_or_default(),
        code: finding.rule.code,
        name: finding.rule.name,
        severity: finding.rule.severity.name(),
        message: finding.message.clone(),
    }
}

fn spot(view: View<'_>, finding: &Finding) -> String {
    let file = view.package.files.get(finding.file);
    let line = file.position(finding.span.start()).line.0;
    format!("{}:{line}", view.root_path(finding.file))
}

fn proof(view: View<'_>, finding: &Finding) -> Option<Proof> {
    let Outcome::Safe(reason) = &finding.outcome else {
        return None;
    };
    Some(Proof {
        place: spot(view, finding),
        code: finding.rule.code,
        reason: reason.clone(),
    })
}

fn gaps(view: View<'_>, analysis: &Analysis) -> Vec<Gap> {
    let gaps = analysis.coverage.not_understood.iter();
    gaps.map(|gap| Gap {
        place: format!("{}:{}", view.root_path(gap.file), gap.line.0),
        function: gap.function.clone(),
        reason: gap.reason.clone(),
    })
    .collect()
}

fn fence(lists: [&Vec<Entry>; 3]) -> String {
    let texts = lists.into_iter().flatten().flat_map(|entry| {
        let diff = entry.diff.iter().map(DiffLine::text);
        diff.chain([entry.excerpt.as_str()])
    });
    let longest = texts.map(longest_row).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

fn longest_row(text: &str) -> usize {
    let rows = text.split(|letter| letter != '`');
    rows.map(str::len).max().unwrap_or(0)
}
