//! Fixes with alternatives: shown one after the other, accepted as shown.

use std::fs;

use super::repository::{Repository, said};
use super::terminal::Terminal;

fn text(repository: &Repository, name: &str) -> String {
    fs::read_to_string(repository.path().join(name)).unwrap()
}

#[test]
fn an_alternative_is_shown_accepted_kept_and_written() {
    let repository = Repository::new();
    let mut terminal = Terminal::new(&repository, 120);
    let contents = terminal.shows("y accept");
    assert!(
        contents.contains("2: declare that module `one` needs"),
        "{contents}"
    );
    terminal.types("\t");
    let contents = terminal.shows("Py_MOD_GIL_USED");
    assert!(contents.contains("safe: with the GIL"), "{contents}");
    // Wider keys mean the fix itself, which is not what the person looks at.
    terminal.types("a");
    terminal.shows("y accepts the alternative that is shown");
    terminal.types("y");
    terminal.shows("1 accepted 0 rejected 2 open");
    terminal.killed();

    let mut terminal = Terminal::new(&repository, 120);
    terminal.shows(" 2/3 ");
    terminal.types("K");
    terminal.shows("Py_MOD_GIL_USED");
    terminal.types("o");
    terminal.shows("Py_MOD_GIL_NOT_USED");
    terminal.types("o");
    terminal.shows("Py_MOD_GIL_USED");
    terminal.types("w");
    terminal.shows("1 fix written to 1 file");
    terminal.types("Q");
    assert_eq!(terminal.ends().0, 1);
    assert!(text(&repository, "one.c").contains("Py_MOD_GIL_USED)"));
    // Who says that they need the GIL is not asked again.
    assert_eq!(repository.ids().len(), 2);
}

#[test]
fn a_script_names_an_alternative_by_its_number() {
    let repository = Repository::new();
    let ids = repository.ids();
    let shown = repository.json(&["--show", &ids[1], "--alternative", "2"]);
    let fix = &shown["fixes"][0];
    assert_eq!(fix["alternative"], 2);
    assert_eq!(fix["alternatives"][1]["title"], fix["title"]);
    assert!(fix["diff"].as_str().unwrap().contains("Py_MOD_GIL_USED"));
    assert_eq!(fix["decision"], "undecided");

    let output = repository.ungil(&["review", "--accept", &ids[1], "--alternative", "3"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("no alternative 3"),
        "{}",
        said(&output)
    );

    repository.json(&["--accept", &ids[1], "--alternative", "2"]);
    let answer = repository.json(&["--list"]);
    assert_eq!(answer["fixes"][1]["alternative"], 2);
    assert_eq!(answer["fixes"][1]["decision"], "accepted");
    repository.json(&["--accept", &ids[0], "--write"]);
    assert!(text(&repository, "one.c").contains("Py_MOD_GIL_NOT_USED)"));
    assert!(text(&repository, "three.c").contains("Py_MOD_GIL_USED)"));
}

#[test]
fn other_commands_take_the_fix_itself() {
    let repository = Repository::new();
    let output = repository.ungil(&["diff", "--unsafe-fixes"], "");
    let patch = String::from_utf8_lossy(&output.stdout);
    assert!(patch.contains("Py_MOD_GIL_NOT_USED"), "{patch}");
    assert!(!patch.contains("Py_MOD_GIL_USED"), "{patch}");
}
