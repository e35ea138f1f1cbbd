//! What each rule makes of its cases: `tests/fixtures/<rule-name>/<outcome>_<what>.c` with
//! `snapshots/<rule-name>/<outcome>_<what>.snap`.
//!
//! `safe_`: all that the rule finds is safely fixed, or safe as it is, and at least one fix is
//! made. `review_`: there are fixes to review and none that is safe. `declines_`: no fix, be it
//! that there is nothing to find, that the code is safe as it is, or that it is left to people.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use support::cases::{
    self, Case, Files, OLDEST, REFUSED_BEFORE, Ran, entries, fix, kind, on_threads,
};
use support::compile::Headers;
use support::{free_threaded_python, snapshots};
use ungil::diff::{DEFAULT_CONTEXT, FileChange, FileMode, patch};
use ungil::edit::{Confidence, Fix};
use ungil::rule::{Finding, Outcome};
use ungil::source::{ByteSpan, FileId};
use ungil::transforms::ALL;

/// Cases a rule has at least.
const AT_LEAST: usize = 3;
/// Folders of fixtures that are no rule's.
const OTHER_FIXTURES: [&str; 1] = ["execution"];
/// Folders of snapshots that are no rule's.
const OTHER_SNAPSHOTS: [&str; 2] = ["cli", "stages"];
/// What the program says of a case and does to it, as the snapshot has it.
fn told(case: &Case) -> String {
    let ran = Ran::new(&case.files);
    assert_eq!(ran.analysis.coverage.not_understood, [], "{}", case.path());
    check_name(case, &ran);
    let mut result = ran.settled(Confidence::Safe);
    if ran.result(Confidence::Review) != result {
        result = ran.settled(Confidence::Review);
    }
    let mut text = String::new();
    for finding in ran.findings() {
        text += &in_words(&ran, finding);
        text.push('\n');
    }
    if text.is_empty() {
        text.push_str("Nothing is found.\n");
    }
    let proof = ran.analysis.validation;
    if proof.validated + proof.demoted > 0 {
        text += &format!(
            "The checker: {} proven, {} not.\n",
            proof.validated, proof.demoted
        );
    }
    text + &diff(&case.files, &result)
}

/// Asserts what the name of the case says of its rule.
fn check_name(case: &Case, ran: &Ran) {
    let findings = ran.findings().into_iter();
    let own = findings.filter(|finding| finding.rule.code == case.rule.code);
    let kinds: Vec<&str> = own.map(kind).collect();
    let (outcome, what) = case.name.split_once('_').unwrap_or_default();
    let holds = match outcome {
        "safe" => kinds.contains(&"safe") && kinds.iter().all(|kind| kind.starts_with("safe")),
        "review" => kinds.contains(&"review") && !kinds.contains(&"safe"),
        "declines" => !kinds.contains(&"review") && !kinds.contains(&"safe"),
        _ => false,
    };
    assert!(holds && !what.is_empty(), "{}: {kinds:?}", case.path());
}

fn in_words(ran: &Ran, finding: &Finding) -> String {
    let place = |file: FileId, span: ByteSpan| {
        let file = ran.package.files.get(file);
        format!(
            "{}:{}",
            file.path().display(),
            file.position(span.start()).line.0
        )
    };
    let mut text = format!(
        "{}: {}: {}\n  {}: {}\n",
        place(finding.file, finding.span),
        finding.rule.code,
        finding.message,
        kind(finding),
        match &finding.outcome {
            Outcome::Fix(Fix { title, .. }) => title,
            Outcome::Safe(reason) | Outcome::Manual(reason) => reason,
        }
    );
    for assumption in fix(finding).into_iter().flat_map(|fix| &fix.assumptions) {
        text += &format!("  to confirm: {assumption}\n");
    }
    for note in &finding.notes {
        text += &format!("  note: {}: {}\n", place(note.file, note.span), note.text);
    }
    text
}

/// The patch from `before` to `after`, without what only git reads.
fn diff(before: &Files, after: &Files) -> String {
    let changes = after.iter().map(|(path, new)| FileChange {
        path,
        old: before.get(path).map(String::as_bytes),
        new: new.as_bytes(),
        mode: FileMode::Regular,
    });
    let changes: Vec<FileChange<'_>> = changes.collect();
    let patch = String::from_utf8(patch(&changes, DEFAULT_CONTEXT)).unwrap();
    let lines = patch.lines().filter(|line| {
        let of_git = ["diff --git ", "index ", "new file mode "];
        !of_git.iter().any(|start| line.starts_with(start))
    });
    let lines: Vec<&str> = lines.collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("\n{}\n", lines.join("\n")),
    }
}

#[test]
fn cases_are_as_their_snapshots_say() {
    let told = on_threads(|| {
        let cases = cases::all().into_par_iter();
        let told = cases.map(|case| catch_unwind(|| told(&case)).map(|text| (case, text)));
        told.collect::<Vec<_>>()
    });
    let failed = told.into_iter().filter(|told| {
        let Ok((case, text)) = told else { return true };
        let settings = snapshots::settings(case.rule.name);
        let check = || settings.bind(|| insta::assert_snapshot!(case.name.as_str(), text));
        catch_unwind(AssertUnwindSafe(check)).is_err()
    });
    assert_eq!(
        failed.count(),
        0,
        "cases are not as they should be: see above"
    );
}

#[test]
fn cases_compile_before_and_after() {
    let pythons = [Path::new("python3"), &free_threaded_python()].map(Headers::of);
    let failed = on_threads(|| {
        let cases = cases::all().into_par_iter();
        cases
            .flat_map_iter(|case| compiled(&case, &pythons))
            .collect::<Vec<String>>()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// What compilers say of the C of a case before its fixes and after.
fn compiled(case: &Case, pythons: &[Headers]) -> Vec<String> {
    let oldest = pythons.iter().map(|python| python.version).min().unwrap();
    let result = Ran::since(oldest.min(OLDEST), &case.files).result(Confidence::Review);
    let mut said = Vec::new();
    if !REFUSED_BEFORE.contains(&&*case.path()) {
        said.extend(refused(case, &case.files, pythons));
    }
    if result != case.files {
        said.extend(refused(case, &result, pythons));
    }
    said
}

/// What compilers say of files.
fn refused(case: &Case, files: &Files, pythons: &[Headers]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        fs::write(folder.path().join(path), text).unwrap();
    }
    let is_c = |path: &&PathBuf| path.extension().is_some_and(|it| it == "c");
    let mut said = Vec::new();
    for path in files.keys().filter(is_c) {
        for python in pythons {
            let output = python.check(&folder.path().join(path));
            if !output.status.success() {
                let errors = String::from_utf8_lossy(&output.stderr);
                said.push(format!("{}: {errors}", case.path()));
            }
        }
    }
    said
}

fn names(folder: &Path) -> BTreeSet<String> {
    let paths = entries(folder).into_iter();
    let names = paths.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
    names.collect()
}

#[test]
fn every_rule_has_cases_and_every_snapshot_a_case() {
    let rules: BTreeSet<String> = ALL.iter().map(|rule| rule.name.to_owned()).collect();
    let with = |others: &[&str]| {
        let others = others.iter().map(ToString::to_string);
        rules
            .iter()
            .cloned()
            .chain(others)
            .collect::<BTreeSet<String>>()
    };
    let is_folder = |name: &String| cases::folder().join(name).is_dir();
    let fixtures: BTreeSet<String> = names(&cases::folder())
        .into_iter()
        .filter(is_folder)
        .collect();
    assert_eq!(fixtures, with(&OTHER_FIXTURES));
    assert_eq!(names(&snapshots::folder()), with(&OTHER_SNAPSHOTS));
    for rule in &rules {
        let cases = names(&cases::folder().join(rule));
        assert!(cases.len() >= AT_LEAST, "{rule} has {cases:?}");
        let snapshots = names(&snapshots::folder().join(rule));
        assert_eq!(snapshots, cases, "snapshots and cases of {rule}");
    }
}

/// A snapshot that is no case's is named by the test that makes it.
#[test]
fn other_snapshots_belong_to_a_test() {
    for folder in OTHER_SNAPSHOTS {
        for path in entries(&snapshots::folder().join(folder)) {
            let text = fs::read_to_string(&path).unwrap();
            let source = text.lines().find_map(|line| line.strip_prefix("source: "));
            let source = source.unwrap_or_else(|| panic!("{path:?} names no test"));
            let test = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(source));
            let name = format!("\"{}\"", path.file_stem().unwrap().to_str().unwrap());
            assert!(test.unwrap().contains(&name), "{source} has no {name}");
        }
    }
}
