//! The same C written otherwise is decided alike: each way to write it, over all rule cases.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod changes;
mod code;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use changes::Change;
use rayon::prelude::*;
use support::cases::{self, Case, Files, REFUSED_BEFORE, Ran, kind, on_threads};
use support::compile::Headers;
use support::free_threaded_python;

/// Cases that a way to write them has to be of use for.
const APPLIES_AT_LEAST: usize = 2;

/// Where the decision still depends on how the code is written: the change, the cases, and why.
/// What is decided alike again must go from here.
const KNOWN: &[(&str, &[&str], &str)] = &[
    (
        "arrow-by-star",
        &[
            "buffer-in-object-domain/safe_field",
            "direct-object-field/review_count_set",
            "direct-object-field/safe_size",
            "direct-object-field/safe_type",
            "unlocked-dict-iteration/review_emptied_elsewhere",
            "unlocked-list-store/declines_items_moved",
            "unlocked-list-store/review_field",
            "unlocked-object-state/declines_detached",
            "unlocked-object-state/review_counter",
            "unlocked-object-state/review_inherited_method",
            "unlocked-object-state/review_replaced_reference",
            "unlocked-object-state/review_tree_behind_a_field",
        ],
        "rules about fields of objects look for `a->b` only, and say nothing of `(*a).b`",
    ),
    (
        "counts-by-functions",
        &[
            "borrowed-dict-item/safe_stored_then_counted",
            "borrowed-list-item/safe_field_counted_behind",
        ],
        "a store whose reference `Py_IncRef` takes right behind it counts as one without",
    ),
    (
        "counts-by-functions",
        &["lazy-static-cache/safe_import"],
        "`Py_DecRef` counts as a call of which two may be made, `Py_DECREF` does not",
    ),
    (
        "assigned-apart",
        &["borrowed-dict-item/declines_two_in_condition"],
        "of two lookups in one condition both are declined, of one behind another test none",
    ),
    (
        "declared-apart",
        &["unchecked-list-item/declines_size_in_declaration"],
        "a section begins at a statement: it does not part declarations from each other",
    ),
    (
        "declared-on-top",
        &["unchecked-list-item/declines_size_in_declaration"],
        "as for `declared-apart`",
    ),
    (
        "declared-at-first-use",
        &["unchecked-list-item/safe_under_a_section"],
        "as for `declared-apart`",
    ),
    (
        "return-by-goto",
        &["unchecked-list-item/safe_helper_in_loop"],
        "a `goto` to a label that only returns is no exit to release something in front of",
    ),
    (
        "counts-by-functions",
        &["borrowed-sequence-fast-item/review_callback_between_reads"],
        "a copy is not released where `Py_DecRef` released the sequence",
    ),
];

/// Rule and outcome of each finding, in the order of the places.
fn decisions(files: &Files) -> Vec<(&'static str, &'static str)> {
    let ran = Ran::new(files);
    assert_eq!(ran.analysis.coverage.not_understood, [], "{files:#?}");
    let findings = ran.findings().into_iter();
    findings
        .map(|finding| (finding.rule.code, kind(finding)))
        .collect()
}

/// The one file of C of a case that is no package.
fn file(case: &Case) -> Option<(&PathBuf, &String)> {
    let (path, text) = case.files.first_key_value()?;
    let is_c = case.files.len() == 1 && path.extension().is_some_and(|it| it == "c");
    is_c.then_some((path, text))
}

/// A case written otherwise.
fn changed(case: &Case, (_, change): &Change) -> Option<Files> {
    let (path, text) = file(case)?;
    Some(Files::from([(path.clone(), change(text)?)]))
}

/// What is decided otherwise, by change and case, with what it was and is.
fn differences(case: &Case) -> Vec<(&'static str, String, String)> {
    let before = decisions(&case.files);
    let differ = changes::ALL.iter().filter_map(|change| {
        let files = changed(case, change)?;
        let after = decisions(&files);
        let text = files.values().next()?;
        (before != after).then(|| {
            (
                change.0,
                case.path(),
                format!("{before:?}\n{after:?}\n{text}"),
            )
        })
    });
    differ.collect()
}

#[test]
fn how_code_is_written_decides_nothing() {
    let found = on_threads(|| {
        let cases = cases::all().into_par_iter();
        let found = cases.flat_map_iter(|case| differences(&case));
        found
            .map(|(change, case, what)| ((change, case), what))
            .collect::<BTreeMap<_, _>>()
    });
    let known = KNOWN.iter().flat_map(|(change, cases, _)| {
        let cases = cases.iter().map(|case| (*case).to_owned());
        cases.map(move |case| (*change, case))
    });
    let known: Vec<(&str, String)> = known.collect();
    let new = found.iter().filter(|(place, _)| !known.contains(place));
    let new: Vec<String> = new
        .map(|(place, what)| format!("{place:?}:\n{what}"))
        .collect();
    assert!(new.is_empty(), "{}", new.join("\n"));
    for place in known {
        assert!(found.contains_key(&place), "{place:?} is decided alike now");
    }
}

#[test]
fn every_way_to_write_it_has_cases_and_compiles() {
    let headers = Headers::of(&free_threaded_python());
    let mut cases = cases::all();
    cases.retain(|case| !REFUSED_BEFORE.contains(&&*case.path()));
    for change in changes::ALL {
        let changed = cases
            .iter()
            .filter_map(|case| Some((case.path(), changed(case, change)?)));
        let changed: Vec<(String, Files)> = changed.collect();
        assert!(
            changed.len() >= APPLIES_AT_LEAST,
            "{}: {}",
            change.0,
            changed.len()
        );
        let folder = tempfile::tempdir().unwrap();
        changed.par_iter().for_each(|(case, files)| {
            let (_, text) = files.first_key_value().unwrap();
            let path = folder.path().join(case.replace('/', "_") + ".c");
            fs::write(&path, text).unwrap();
            let output = headers.check(&path);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{}, {case}: {said}\n{text}",
                change.0
            );
        });
    }
}
