//! What the stages of the front end make of a function of the rule cases.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use support::cases::{Ran, all, on_threads};
use support::snapshots;
use ungil::engine::{Config, Stage, dump, trace};
use ungil::source::LineNumber;

/// A loop with an exit, and a macro that leaves the function.
const FUNCTIONS: [(&str, &str); 2] = [
    (
        "borrowed-list-item/safe_loop_with_error_exit",
        "joined_length",
    ),
    ("borrowed-dict-item/safe_return_in_macro", "check_entry"),
];

/// What `stage` makes of a function of a case, which all configurations read alike.
fn dumped(stage: Stage, case: &str, function: &str) -> String {
    on_threads(|| {
        let case = all().into_iter().find(|it| it.path() == case).unwrap();
        let package = Ran::new(&case.files).package;
        let (file, _) = package.files.iter().next().unwrap();
        let mut texts = dump(&package, &Config::default(), stage, file, function);
        let text = texts.pop().unwrap();
        assert!(texts.is_empty(), "{function} has variants");
        text
    })
}

#[test]
fn tokens_tree_and_flow_graph_of_functions() {
    let stages = [
        (Stage::Tokens, ["tokens_of_loop", "tokens_of_macro"]),
        (Stage::Tree, ["tree_of_loop", "tree_of_macro"]),
        (Stage::Cfg, ["cfg_of_loop", "cfg_of_macro"]),
    ];
    for (stage, names) in stages {
        for (name, (case, function)) in names.into_iter().zip(FUNCTIONS) {
            let text = dumped(stage, case, function);
            snapshots::settings("stages").bind(|| insta::assert_snapshot!(name, text));
        }
    }
}

#[test]
fn what_was_considered_for_a_lookup() {
    let text = on_threads(|| {
        let (path, _) = FUNCTIONS[0];
        let case = all().into_iter().find(|it| it.path() == path).unwrap();
        let package = Ran::new(&case.files).package;
        let (id, file) = package.files.iter().next().unwrap();
        let text = String::from_utf8_lossy(file.bytes());
        let before = text.split("PyList_GetItem(").next().unwrap();
        let line = u32::try_from(before.lines().count()).unwrap();
        trace(&package, &Config::default(), id, LineNumber(line)).join("\n")
    });
    snapshots::settings("stages").bind(|| insta::assert_snapshot!("trace_of_loop", text));
}
