//! Units, their order, and what fits only together.

use std::path::PathBuf;

use super::{Part, Split, series};
use crate::diff::FileMode;
use crate::edit::{Fix, FixId};
use crate::package::{FileInfo, FileKind, Package, PythonRange};
use crate::rule::{Check, Finding, Outcome, Rule, Severity};
use crate::source::{ByteSpan, FileId, FileSet, SourceFile};

const fn rule(code: &'static str) -> Rule {
    Rule {
        code,
        name: "test-rule",
        summary: "",
        severity: Severity::Memory,
        docs: "",
        since: "0.1.0",
        best: None,
        triggers: &[],
        check: Check::Code(|_, _| {}),
    }
}

static ITEM: Rule = rule("UG101");
static DECLARES: Rule = rule("UG201");
static LOOP: Rule = rule("UG301");

const TEXT: &str = "0123456789";

fn package() -> Package {
    let mut files = FileSet::default();
    for path in ["a.c", "b.c"] {
        files.add(SourceFile::new(PathBuf::from(path), TEXT.into()));
    }
    let info = FileInfo {
        kind: FileKind::C,
        selected: true,
        mode: FileMode::Regular,
    };
    Package {
        root: PathBuf::from("/project"),
        files,
        infos: vec![info, info],
        skipped: Vec::new(),
        python: PythonRange {
            min: PythonRange::DEFAULT_MIN,
            max: None,
            source: String::new(),
        },
        compat_headers: Vec::new(),
        foreign: FileSet::default(),
        is_whole: true,
    }
}

/// A finding in `file` whose fix makes `edits`: from, to, text.
fn finding(rule: &'static Rule, file: u32, edits: &[(u32, u32, &str)]) -> Finding {
    let mut fix = Fix::safe("fix");
    for &(start, end, text) in edits {
        fix.replace(FileId(file), ByteSpan::new(start, end), text);
    }
    Finding {
        rule,
        file: FileId(file),
        span: ByteSpan::new(edits[0].0, edits[0].0 + 1),
        function: Some("f".into()),
        api: None,
        message: String::new(),
        notes: Vec::new(),
        outcome: Outcome::Fix(fix),
    }
}

/// Subject and new text of each patch.
fn patches(findings: &[Finding], split: Split) -> Vec<(String, String)> {
    let package = package();
    let parts: Vec<Part<'_>> = (0..)
        .map(FixId)
        .zip(findings)
        .map(|(id, finding)| match &finding.outcome {
            Outcome::Fix(fix) => Part { id, finding, fix },
            _ => panic!("a fix"),
        })
        .collect();
    let series = series(&package, &parts, &[], split);
    let shown = series.iter().map(|patch| {
        let changes = patch.changes(&package);
        let texts = changes.iter().map(|change| {
            let new = String::from_utf8_lossy(change.new);
            format!("{}={new}", change.path.display())
        });
        (patch.subject.clone(), texts.collect::<Vec<_>>().join(" "))
    });
    shown.collect()
}

#[test]
fn rules_come_by_code_and_declarations_last() {
    let findings = [
        finding(&DECLARES, 0, &[(9, 9, "D")]),
        finding(&LOOP, 0, &[(5, 5, "L")]),
        finding(&ITEM, 0, &[(1, 1, "I")]),
        finding(&ITEM, 1, &[(1, 1, "J")]),
    ];
    let wanted = [
        ("UG101 test-rule", "a.c=0I123456789 b.c=0J123456789"),
        ("UG301 test-rule", "a.c=0I1234L56789"),
        ("UG201 test-rule", "a.c=0I1234L5678D9"),
    ];
    let wanted = wanted.map(|(subject, text)| (subject.to_owned(), text.to_owned()));
    assert_eq!(patches(&findings, Split::Rule), wanted);
    let files: Vec<String> = patches(&findings, Split::File)
        .into_iter()
        .map(|(subject, _)| subject)
        .collect();
    assert_eq!(files, ["a.c", "b.c", "a.c"]);
}

#[test]
fn findings_of_one_fix_share_a_patch() {
    let both = [(1, 2, "x"), (5, 6, "y")];
    let findings = [finding(&ITEM, 0, &both), finding(&LOOP, 0, &both)];
    assert_eq!(patches(&findings, Split::Fix).len(), 1);
    assert_eq!(patches(&findings, Split::Rule).len(), 1);
}

#[test]
fn insertions_at_one_place_keep_the_order_of_the_rules() {
    // The first rule to run has the later code.
    let findings = [
        finding(&LOOP, 0, &[(3, 3, "L")]),
        finding(&ITEM, 0, &[(3, 3, "I")]),
    ];
    let texts: Vec<String> = patches(&findings, Split::Rule)
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(texts, ["a.c=012I3456789", "a.c=012LI3456789"]);
}

#[test]
fn a_fix_that_fits_only_with_a_later_one_comes_with_it() {
    // Braces around 2..6, and the same `}` after 4..6: the second fix borrows the end of the
    // third and the beginning of the first.
    let findings = [
        finding(&ITEM, 0, &[(2, 2, "{"), (8, 8, "}")]),
        finding(&DECLARES, 0, &[(4, 4, "{"), (6, 6, "}")]),
        finding(&LOOP, 0, &[(2, 2, "{"), (6, 6, "}")]),
    ];
    let all = patches(&findings, Split::Rule);
    assert_eq!(all.len(), 2, "{all:?}");
    assert_eq!(all[1].0, "UG301 test-rule; UG201 test-rule");
    assert_eq!(all[1].1, "a.c=01{23{45}67}89");
}
