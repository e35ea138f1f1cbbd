//! Texts in, patches out.

mod multi;
mod single;

use std::path::PathBuf;

use crate::capi::MODEL_H;
use crate::diff::{FileChange, FileMode, patch};
use crate::edit::{EditSet, FixId, apply};
use crate::facts::Functions;
use crate::modules::TRIGGERS;
use crate::preprocess::{FileIndex, Includes, VersionRange};
use crate::program::{Demand, Options, load};
use crate::rule::{Finding, Outcome, PackageCx};
use crate::source::{FileId, FileSet, SourceFile};
use crate::transforms::ALL;

/// The findings of the module rules on `files` and the patch of their fixes, without its headers.
fn report(files: &[(&str, &str)], min: u32) -> String {
    let mut set = FileSet::default();
    for (path, text) in files {
        set.add(SourceFile::new(
            PathBuf::from(path),
            text.as_bytes().to_vec(),
        ));
    }
    let model = set.add(SourceFile::new(PathBuf::from("<Python.h>"), MODEL_H.into()));
    let index: Vec<FileIndex> = set
        .iter()
        .map(|(id, file)| FileIndex::new(id, file))
        .collect();
    let includes = Includes::new(&set, &index, &[]);
    let range = VersionRange {
        min,
        max: 0x030F_00F0,
    };
    let options = Options {
        range,
        roots: set
            .iter()
            .map(|(id, _)| id)
            .filter(|id| *id != model)
            .collect(),
        before: vec![model],
        demand: Demand::Words(TRIGGERS.iter().map(ToString::to_string).collect()),
        headers: false,
        facts: Functions::default(),
        unread: std::sync::Arc::default(),
        known: None,
    };
    let program = load(&set, &index, &includes, &options);
    let cx = PackageCx::new(&program, range);
    let mut findings = Vec::new();
    for rule in ALL.iter().filter(|rule| rule.code.starts_with("UG2")) {
        rule.check.code(&cx, &mut findings);
    }
    show(files, &findings)
}

/// What is said of each finding without a fix, then the patch of the fixes.
fn show(files: &[(&str, &str)], findings: &[Finding]) -> String {
    let mut out = String::new();
    let mut edits = EditSet::default();
    for (number, finding) in (0u32..).zip(findings) {
        match &finding.outcome {
            Outcome::Fix(fix) => edits.add(FixId(number), fix).unwrap(),
            Outcome::Safe(text) => out += &format!("{} safe: {text}\n", finding.rule.code),
            Outcome::Manual(text) => out += &format!("{} manual: {text}\n", finding.rule.code),
        }
    }
    let after: Vec<Vec<u8>> = (0u32..)
        .zip(files)
        .map(|(id, (_, text))| apply(text.as_bytes(), edits.edits(FileId(id))).bytes)
        .collect();
    let changes: Vec<FileChange<'_>> = files
        .iter()
        .zip(&after)
        .map(|((path, old), new)| FileChange {
            path: path.as_ref(),
            old: Some(old.as_bytes()),
            new,
            mode: FileMode::Regular,
        })
        .collect();
    let patch = String::from_utf8(patch(&changes, 2)).unwrap();
    let hunks = patch.split_inclusive('\n').filter(|line| {
        !["diff ", "index ", "--- ", "@@"]
            .iter()
            .any(|head| line.starts_with(head))
            && (files.len() > 1 || !line.starts_with("+++"))
    });
    out.extend(hunks);
    out
}

fn fixed(text: &str) -> String {
    report(&[("m.c", text)], 0x0309_0000)
}
