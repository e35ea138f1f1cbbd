//! Results of fixes, edited by a person.

use std::fs;

use super::repository::{Repository, said};
use super::terminal::{ROWS, Terminal};

/// An editor that puts a comment behind the brace of the function.
const MINE: &str = "sed -i 's|^{|{ /* mine */|'";
/// One that opens a parenthesis too many, and takes it back when it sees it again.
const CARELESS: &str = "sed -i 's|return|return (|;s|return ( (|/* again */ return|'";

#[test]
fn an_edited_result_is_checked_kept_and_written() {
    let repository = Repository::new();
    let mut terminal = Terminal::with_editor(&repository, (120, ROWS), MINE);
    terminal.shows(" 1/3 ");
    terminal.types("e");
    terminal.shows("1 accepted 0 rejected 2 open");
    terminal.types("K");
    terminal.shows("{ /* mine */");
    terminal.killed();
    assert_eq!(repository.changed(), [""; 0]);

    let answer = repository.json(&["--list"]);
    assert_eq!(answer["fixes"][0]["decision"], "edited");
    assert_eq!(repository.json(&["--write"])["written"], 1);
    let text = fs::read_to_string(repository.path().join("one.c")).unwrap();
    assert!(text.contains("\n{ /* mine */\n"), "{text}");
    assert!(text.contains("Py_MOD_GIL_NOT_USED"), "{text}");
    let output = repository.ungil(&["undo"], "");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(repository.changed(), [""; 0]);
}

#[test]
fn a_result_that_does_not_parse_is_shown_and_edited_again() {
    let repository = Repository::new();
    let answers = "e\nd\ne\ne\ne\nq\nn\n";
    let output = repository.ungil_with(CARELESS, &["review", "--plain"], answers);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        shown.matches("the result does not parse").count(),
        3,
        "{shown}"
    );
    assert!(shown.contains("the edit was discarded"), "{shown}");
    let answer = repository.json(&["--list"]);
    assert_eq!(answer["fixes"][0]["decision"], "edited");
    // What was not answered is not decided.
    assert_eq!(answer["accepted"], 1);
    repository.ungil_with(CARELESS, &["review", "--plain"], "e\nk\nn\n");
    assert_eq!(repository.json(&["--list"])["accepted"], 2);
}

#[test]
fn an_edit_that_cures_nothing_is_told() {
    let repository = Repository::new();
    // What the fix is for goes again.
    let editor = "sed -i 's|PyUnstable_Module_SetGIL.*|; /* later */|'";
    let output = repository.ungil_with(editor, &["review", "--plain"], "e\nd\n");
    let shown = String::from_utf8_lossy(&output.stdout);
    let doubt = "UG202 still says: module `one` does not declare that it runs without the GIL";
    assert!(shown.contains(doubt), "{shown}");
    let silenced =
        "sed -i 's|PyUnstable_Module_SetGIL.*|;|;s|^PyInit_.*|& /* ungil: ignore[UG202] */|'";
    let output = repository.ungil_with(silenced, &["review", "--plain"], "e\n");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("1 fix accepted as edited"), "{shown}");
}

#[test]
fn an_empty_text_rejects_and_an_editor_that_fails_decides_nothing() {
    let repository = Repository::new();
    let output = repository.ungil_with("sed -i d", &["review", "--plain"], "e\n");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(repository.json(&["--list"])["rejected"], 1);
    for (editor, message) in [
        ("false", "nothing was edited: `false` ended with"),
        ("true", "nothing was edited; y accepts the fix"),
    ] {
        let output = repository.ungil_with(editor, &["review", "--plain"], "e\n");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains(message), "{shown}");
    }
    assert_eq!(repository.json(&["--list"])["open"], 2);
}

#[test]
fn a_kill_while_the_editor_is_open_loses_nothing_but_the_edit() {
    let repository = Repository::new();
    let killer = "kill -9 $PPID; true";
    let output = repository.ungil_with(killer, &["review", "--plain"], "y\ne\ny\n");
    assert_eq!(output.status.code(), None, "{}", said(&output));
    let answer = repository.json(&["--list"]);
    assert_eq!(
        (&answer["accepted"], &answer["open"]),
        (&1.into(), &2.into())
    );
    assert_eq!(repository.changed(), [""; 0]);
}

#[test]
fn an_edit_of_a_function_that_is_laid_out_anew_is_stale() {
    let repository = Repository::new();
    repository.ungil_with(MINE, &["review", "--plain"], "e\n");
    assert_eq!(repository.json(&["--list"])["accepted"], 1);
    let path = repository.path().join("one.c");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("    return", "\treturn")).unwrap();
    let answer = repository.json(&["--list"]);
    assert_eq!(answer["accepted"], 0);
    assert_eq!(answer["stale"][0]["decision"], "edited");
}
