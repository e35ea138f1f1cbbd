//! Runs one rule over C text, for tests.

use std::path::{Path, PathBuf};

use crate::ast::Function;
use crate::capi::MODEL_H;
use crate::cfg;
use crate::diff::{FileChange, FileMode, patch};
use crate::edit::{Confidence, EditSet, Fix, FixId, apply};
use crate::facts::Functions;
use crate::preprocess::{FileIndex, Includes, VersionRange};
use crate::program::{CallIndex, Demand, Options, Program, load};
use crate::provenance;
use crate::roles::Roles;
use crate::rule::{Errors, Finding, Outcome, PackageCx, Rule};
use crate::sections::{Imbalance, check_balance};
use crate::source::{ByteSpan, FileId, FileSet, SourceFile};
use crate::validate::{Reload, Validator};

const RANGE: VersionRange = VersionRange {
    min: 0x0309_0000,
    max: 0x030F_00F0,
};

const CODE: FileId = FileId(0);

/// What the rules say of `text`, line by line, and the diff of all fixes.
///
/// # Panics
/// If fixes clash, the result does not parse, or a second run changes it again.
pub(crate) fn run(rules: &[&'static Rule], text: &str) -> String {
    run_with(rules, text, Errors::default())
}

/// The same with what is asked of errors that were swallowed.
pub(crate) fn run_with(rules: &[&'static Rule], text: &str, errors: Errors) -> String {
    let (said, result) = once(rules, text, errors);
    let (_, again) = once(rules, &result, errors);
    assert_eq!(again, result, "a second run changes more");
    said + &diff(text, &result)
}

fn once(rules: &[&'static Rule], text: &str, errors: Errors) -> (String, String) {
    with_program(text, |program, reload| {
        assert_eq!(program.gaps, [], "does not parse:\n{text}");
        let cx = PackageCx::new(program, RANGE).with_errors(errors);
        let mut findings = Vec::new();
        for rule in rules {
            rule.check.code(&cx, &mut findings);
        }
        prove(&cx, &mut findings, reload);
        findings.sort_by_key(|finding| finding.span);
        let file = program.files.get(CODE);
        let line = |finding: &Finding| file.position(finding.span.start()).line.0;
        let mut said = String::new();
        for finding in &findings {
            said += &describe(finding, line(finding));
        }
        let fixes = findings.iter().filter_map(Finding::fix);
        (said, applied(file, fixes))
    })
}

/// Has the validator prove the fixes, as a run of the program does; those that fail are findings
/// without a fix from here on.
fn prove(cx: &PackageCx<'_>, findings: &mut [Finding], reload: &Reload<'_>) {
    Validator::new(cx.program.files, cx.program, cx.summaries(), reload).fixes(findings);
}

fn applied<'f>(file: &SourceFile, fixes: impl Iterator<Item = &'f Fix>) -> String {
    let (set, conflicts) = EditSet::merge((0..).map(FixId).zip(fixes));
    assert_eq!(conflicts, [], "fixes clash");
    let bytes = apply(file.bytes(), set.edits(CODE)).bytes;
    String::from_utf8(bytes).expect("edits are text")
}

/// What one rule, which may ask triage, says of `text`, with notes and advice, and the diff of its
/// fixes.
///
/// # Panics
/// As [`run`], and if a critical section of the result is left open on some path.
pub(crate) fn run_triaged(rule: &Rule, text: &str) -> String {
    run_choosing(rule, text, |fix| fix)
}

/// As [`run_triaged`], with the first alternative of each fix that has one in place of the fix.
pub(crate) fn run_alternative(rule: &Rule, text: &str) -> String {
    run_choosing(rule, text, |fix| fix.alternatives.first().unwrap_or(fix))
}

fn run_choosing(rule: &Rule, text: &str, choose: fn(&Fix) -> &Fix) -> String {
    let (said, result) = once_triaged(rule, text, choose);
    let (_, again) = once_triaged(rule, &result, choose);
    assert_eq!(again, result, "a second run changes more");
    with_package(&result, |cx| {
        for (_, function) in cx.program.functions() {
            assert_eq!(imbalances(function), [], "unbalanced:\n{result}");
        }
    });
    said + &diff(text, &result)
}

/// What one rule, which may ask triage, says of `text`, with notes and advice.
pub(crate) fn report(rule: &Rule, text: &str) -> String {
    once_triaged(rule, text, |fix| fix).0
}

/// Lets `ask` look at `text` as a package of one file, with triage.
pub(crate) fn with_package<T>(text: &str, ask: impl FnOnce(&PackageCx<'_>) -> T) -> T {
    with_reload(text, |cx, _| ask(cx))
}

fn with_reload<T>(text: &str, ask: impl FnOnce(&PackageCx<'_>, &Reload<'_>) -> T) -> T {
    with_program(text, |program, reload| {
        assert_eq!(program.gaps, [], "does not parse:\n{text}");
        let calls = CallIndex::new(program);
        let roles = Roles::new(program);
        let triage = provenance::Cx::new(program, &calls, &roles);
        ask(&PackageCx::new(program, RANGE).with_triage(&triage), reload)
    })
}

fn imbalances(function: &Function) -> Vec<Imbalance> {
    check_balance(
        &cfg::build(function, &crate::capi::never_returns),
        &function.tree,
    )
}

fn once_triaged(rule: &Rule, text: &str, choose: fn(&Fix) -> &Fix) -> (String, String) {
    with_reload(text, |cx, reload| {
        let mut findings = Vec::new();
        rule.check.code(cx, &mut findings);
        prove(cx, &mut findings, reload);
        for finding in &mut findings {
            if let Outcome::Fix(fix) = &finding.outcome {
                finding.outcome = Outcome::Fix(choose(fix).clone());
            }
        }
        let file = cx.file(CODE);
        let said = findings.iter().map(|finding| in_full(file, finding));
        let fixes = findings.iter().filter_map(Finding::fix);
        (said.collect(), applied(file, fixes))
    })
}

fn in_full(file: &SourceFile, finding: &Finding) -> String {
    let line = |span: ByteSpan| file.position(span.start()).line.0;
    let mut lines = vec![format!("{}: {}", line(finding.span), finding.message)];
    let notes = finding.notes.iter();
    lines.extend(notes.map(|note| format!("  {}: {}", line(note.span), note.text)));
    match &finding.outcome {
        Outcome::Safe(reason) => lines.push(format!("  safe as it is: {reason}")),
        Outcome::Manual(advice) => lines.push(format!("  by hand: {advice}")),
        Outcome::Fix(fix) => {
            let confidence = match fix.confidence {
                Confidence::Safe => "safe",
                Confidence::Review => "review",
            };
            lines.push(format!("  {confidence}: {}", fix.title));
            let assumptions = fix.assumptions.iter();
            lines.extend(assumptions.map(|what| format!("  assumes that {what}")));
        }
    }
    lines.join("\n") + "\n"
}

fn asked(fix: &Fix) -> String {
    let texts: Vec<String> = fix.assumptions.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

fn describe(finding: &Finding, line: u32) -> String {
    match &finding.outcome {
        Outcome::Fix(fix) if fix.confidence == Confidence::Safe => String::new(),
        Outcome::Fix(fix) => format!("{line}: review: {}\n", asked(fix)),
        Outcome::Safe(why) => format!("{line}: safe: {why}\n"),
        Outcome::Manual(why) => format!("{line}: {why}\n"),
    }
}

fn with_program<T>(text: &str, ask: impl FnOnce(&Program<'_>, &Reload<'_>) -> T) -> T {
    let mut files = FileSet::default();
    let mut add = |path: &str, text: &str| {
        files.add(SourceFile::new(
            PathBuf::from(path),
            text.as_bytes().to_vec(),
        ))
    };
    let root = add("m.c", text);
    let model = add("<Python.h>", MODEL_H);
    let index: Vec<FileIndex> = files
        .iter()
        .map(|(id, file)| FileIndex::new(id, file))
        .collect();
    let includes = Includes::new(&files, &index, &[]);
    let options = |demand| Options {
        range: RANGE,
        roots: vec![root],
        before: vec![model],
        demand,
        headers: false,
        facts: Functions::default(),
        unread: std::sync::Arc::default(),
        known: None,
    };
    let reload: &Reload<'_> = &|changed, places, look| {
        let mut index = index.clone();
        index[root.index()] = FileIndex::new(root, changed.get(root));
        let options = options(Demand::Places(places));
        look(&load(changed, &index, &includes, &options));
    };
    let program = load(&files, &index, &includes, &options(Demand::Everything));
    ask(&program, reload)
}

/// The diff without its head and line numbers.
fn diff(before: &str, after: &str) -> String {
    let change = FileChange {
        path: Path::new("m.c"),
        old: Some(before.as_bytes()),
        new: after.as_bytes(),
        mode: FileMode::Regular,
    };
    let text = String::from_utf8(patch(&[change], 2)).expect("text stays text");
    let lines = text.lines().skip(4);
    lines
        .map(|line| if line.starts_with("@@") { "@@" } else { line })
        .flat_map(|line| [line, "\n"])
        .collect()
}
