//! Runs one rule over C text, for tests.

use std::path::{Path, PathBuf};

use crate::capi::MODEL_H;
use crate::diff::{FileChange, FileMode, patch};
use crate::edit::{Confidence, EditSet, FixId, apply};
use crate::preprocess::{FileIndex, Includes, VersionRange};
use crate::program::{Demand, Options, Program, load};
use crate::rule::{Finding, Outcome, PackageCx, Rule};
use crate::source::{FileId, FileSet, SourceFile};

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
    let (said, result) = once(rules, text);
    let (_, again) = once(rules, &result);
    assert_eq!(again, result, "a second run changes more");
    said + &diff(text, &result)
}

fn once(rules: &[&'static Rule], text: &str) -> (String, String) {
    with_program(text, |program| {
        assert_eq!(program.gaps, [], "does not parse:\n{text}");
        let cx = PackageCx::new(program, RANGE);
        let mut findings = Vec::new();
        for rule in rules {
            (rule.check)(&cx, &mut findings);
        }
        findings.sort_by_key(|finding| finding.span);
        let file = program.files.get(CODE);
        let line = |finding: &Finding| file.position(finding.span.start()).line.0;
        let mut said = String::new();
        for finding in &findings {
            said += &describe(finding, line(finding));
        }
        let fixes = findings
            .iter()
            .filter_map(|finding| match &finding.outcome {
                Outcome::Fix(fix) => Some(fix),
                Outcome::Safe(_) | Outcome::Manual(_) => None,
            });
        let (set, conflicts) = EditSet::merge((0..).map(FixId).zip(fixes));
        assert_eq!(conflicts, [], "{text}");
        let bytes = apply(file.bytes(), set.edits(CODE)).bytes;
        (said, String::from_utf8(bytes).expect("edits are text"))
    })
}

fn describe(finding: &Finding, line: u32) -> String {
    match &finding.outcome {
        Outcome::Fix(fix) if fix.confidence == Confidence::Safe => String::new(),
        Outcome::Fix(fix) => format!("{line}: review: {}\n", fix.assumptions.join("; ")),
        Outcome::Safe(why) => format!("{line}: safe: {why}\n"),
        Outcome::Manual(why) => format!("{line}: {why}\n"),
    }
}

fn with_program<T>(text: &str, ask: impl FnOnce(&Program<'_>) -> T) -> T {
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
    let options = Options {
        range: RANGE,
        roots: vec![root],
        before: vec![model],
        demand: Demand::Everything,
    };
    ask(&load(&files, &index, &includes, &options))
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
