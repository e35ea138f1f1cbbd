//! The description: what changes, what is open, how it was checked, and the audit.

use std::collections::BTreeMap;

use minijinja::value::Serde;
use serde::Serialize;

use super::safety::{Standing, paragraph, quoted};
use super::{Material, PYTHON, Step};
use crate::edit::{Confidence, FixId};
use crate::engine::ModuleStatus;
use crate::render::cell;
use crate::review::slashed;
use crate::rule::{Finding, Outcome};
use crate::template::environment;

/// What the template reads.
#[derive(Serialize)]
struct Page {
    title: &'static str,
    declared: String,
    left: String,
    steps: Vec<Row>,
    propagates: bool,
    compat: Vec<String>,
    confirm: Vec<Confirm>,
    by_hand: Vec<String>,
    open: Vec<Entry>,
    gaps: Vec<String>,
    safe: usize,
    review: usize,
    proven: usize,
    understood: usize,
    functions: usize,
    commands: Vec<String>,
    has_tests: bool,
    tests: String,
    docs: String,
    audit: Vec<Section>,
}

#[derive(Serialize)]
struct Row {
    number: usize,
    subject: String,
    added: usize,
    gone: usize,
    findings: usize,
}

#[derive(Serialize)]
struct Confirm {
    number: usize,
    text: String,
}

#[derive(Serialize)]
struct Section {
    title: String,
    rows: Vec<Entry>,
}

/// A finding.
#[derive(Serialize)]
struct Entry {
    place: String,
    function: Option<String>,
    rule: &'static str,
    message: String,
    verdict: String,
    todo: String,
}

/// The description of a pull request with these patches, in Markdown.
#[must_use]
pub fn description(material: Material<'_>, steps: &[Step<'_>]) -> String {
    let mut environment = environment();
    environment.add_filter("cell", cell);
    environment
        .render_named_str(
            "pull-request.md",
            include_str!("pull-request.md"),
            Serde(page(material, steps)),
        )
        .expect("the template is part of the program and reads what the page has")
}

fn page(material: Material<'_>, steps: &[Step<'_>]) -> Page {
    let analysis = material.analysis;
    let coverage = &analysis.coverage;
    let standing = Standing::new(material);
    let names = |names: &[&str]| quoted(names.iter().copied());
    let settled = settled(steps);
    let is_safe = |at: &usize| material.parts[*at].fix.confidence == Confidence::Safe;
    let safe = (0..material.parts.len()).filter(is_safe).count();
    let is_proven = |finding: &&Finding| matches!(finding.outcome, Outcome::Safe(_));
    let lost = coverage.not_understood.len();
    Page {
        title: match standing.left.is_empty() {
            true => "Support free-threaded Python",
            false => "Prepare for free-threaded Python",
        },
        declared: names(&standing.declared),
        left: names(&standing.left),
        steps: rows(material, steps),
        propagates: material.parts.iter().any(|part| part.fix.propagates),
        compat: material.compat.to_vec(),
        confirm: confirm(steps),
        by_hand: material.by_hand.to_vec(),
        open: open(material, &settled),
        gaps: gaps(material),
        safe,
        review: material.parts.len() - safe,
        proven: analysis.findings.iter().filter(is_proven).count(),
        understood: coverage.functions.saturating_sub(lost),
        functions: coverage.functions,
        commands: commands(material, &standing),
        has_tests: !material.tests.is_empty(),
        tests: folder_of_tests(material),
        docs: paragraph(material, &standing),
        audit: audit(material, &settled),
    }
}

/// The findings that patches settle: their numbers, and whether something must be confirmed.
type Settled = BTreeMap<FixId, (usize, Confidence)>;

fn settled(steps: &[Step<'_>]) -> Settled {
    let numbered = (1..).zip(steps);
    let of = |(number, step): (usize, &Step<'_>)| {
        let parts = step.settles();
        parts
            .map(|part| (part.id, (number, part.fix.confidence)))
            .collect::<Vec<_>>()
    };
    numbered.flat_map(of).collect()
}

fn rows(material: Material<'_>, steps: &[Step<'_>]) -> Vec<Row> {
    let row = |(number, step): (usize, &Step<'_>)| {
        let (added, gone) = step.lines(material.package);
        Row {
            number,
            subject: step.subject.clone(),
            added,
            gone,
            findings: step.settles().count(),
        }
    };
    (1..).zip(steps).map(row).collect()
}

fn confirm(steps: &[Step<'_>]) -> Vec<Confirm> {
    let of = |(number, step): (usize, &Step<'_>)| {
        let texts = step.to_confirm().into_iter();
        texts
            .map(|text| Confirm { number, text })
            .collect::<Vec<_>>()
    };
    (1..).zip(steps).flat_map(of).collect()
}

fn entry(material: Material<'_>, id: FixId, settled: &Settled) -> Entry {
    let finding = &material.analysis.findings[id.0 as usize];
    let file = material.package.files.get(finding.file);
    let line = file.position(finding.span.start()).line.0;
    let todo = match &finding.outcome {
        Outcome::Fix(fix) => {
            let open = fix.assumptions.iter().map(ToString::to_string);
            let open = open.collect::<Vec<_>>().join("; ");
            match open.as_str() {
                "" => format!("A fix is ready: {}", fix.title),
                open => format!("A fix is ready if {open}"),
            }
        }
        Outcome::Manual(why) => format!("By hand: {why}"),
        Outcome::Safe(_) => String::new(),
    };
    let verdict = match (&finding.outcome, settled.get(&id)) {
        (_, Some((number, Confidence::Review))) => format!("patch {number}, to confirm"),
        (_, Some((number, Confidence::Safe))) => format!("patch {number}"),
        (Outcome::Safe(why), None) => format!("safe as it is: {why}"),
        (_, None) => format!("open. {todo}"),
    };
    Entry {
        place: format!("{}:{line}", slashed(file.path())),
        function: finding.function.clone(),
        rule: finding.rule.code,
        message: finding.message.clone(),
        verdict,
        todo,
    }
}

/// All findings, by file and place.
fn by_place(material: Material<'_>) -> Vec<(FixId, &Finding)> {
    let mut all: Vec<_> = (0..).map(FixId).zip(&material.analysis.findings).collect();
    all.sort_by_key(|(_, finding)| (finding.file, finding.span, finding.rule.code));
    all
}

fn open(material: Material<'_>, settled: &Settled) -> Vec<Entry> {
    let all = by_place(material).into_iter();
    let left = all.filter(|(id, finding)| {
        !matches!(finding.outcome, Outcome::Safe(_)) && !settled.contains_key(id)
    });
    left.map(|(id, _)| entry(material, id, settled)).collect()
}

/// The functions that were not understood, with the reason.
fn gaps(material: Material<'_>) -> Vec<String> {
    let gaps = material.analysis.coverage.not_understood.iter();
    let line = gaps.map(|gap| {
        let path = slashed(material.package.files.get(gap.file).path());
        format!("{path}:{} `{}`: {}", gap.line.0, gap.function, gap.reason)
    });
    line.collect()
}

fn audit(material: Material<'_>, settled: &Settled) -> Vec<Section> {
    let modules = &material.analysis.modules;
    let mut sections: BTreeMap<usize, Vec<Entry>> = BTreeMap::new();
    for (id, finding) in by_place(material) {
        let holds = |module: &ModuleStatus| module.files.contains(&finding.file);
        let at = modules.iter().position(holds).unwrap_or(modules.len());
        let entry = entry(material, id, settled);
        sections.entry(at).or_default().push(entry);
    }
    let section = |(at, rows)| Section {
        title: modules.get(at).map_or_else(
            || "Build files, and what is in no module".to_owned(),
            |module: &ModuleStatus| format!("Module <code>{}</code>", module.name),
        ),
        rows,
    };
    sections.into_iter().map(section).collect()
}

fn folder_of_tests(material: Material<'_>) -> String {
    let first = material.tests.first();
    let folder = first.and_then(|test| test.path.parent());
    folder.map(slashed).unwrap_or_default()
}

fn commands(material: Material<'_>, standing: &Standing<'_>) -> Vec<String> {
    let project = match slashed(material.project).as_str() {
        "" => ".".to_owned(),
        below => format!("./{below}"),
    };
    let mut commands = vec![
        "git am 0*.patch".to_owned(),
        format!("python{PYTHON} -m pip install {project} pytest"),
    ];
    for test in material.tests {
        commands.push(format!("python{PYTHON} -m pytest {}", slashed(&test.path)));
    }
    if standing.left.is_empty() {
        // A module that needs the GIL is an error then.
        commands.push(format!(
            "python{PYTHON} -W error::RuntimeWarning -m pytest {project}"
        ));
    }
    commands
}
