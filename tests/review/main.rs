//! `ungil review` and `ungil undo` on temporary repositories: typed at a terminal, piped, scripted.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod alternatives;
mod confirmed;
mod edit;
mod many;
mod repository;
#[path = "../support/mod.rs"]
mod support;
mod terminal;

use std::fs;

use repository::{Repository, module, said};
use terminal::{ROWS, Terminal, non_zero, size};

/// The row that holds `text`, from 0.
fn row(contents: &str, text: &str) -> usize {
    let found = contents.lines().position(|line| line.contains(text));
    found.unwrap_or_else(|| panic!("no `{text}` in\n{contents}"))
}

#[test]
fn the_reason_stands_beside_the_diff_below_it_or_in_its_place() {
    let repository = Repository::new();
    for columns in [160, 100, 60, 59] {
        let mut terminal = Terminal::new(&repository, columns);
        let contents = terminal.shows("y accept");
        assert!(contents.contains(" 1/3 "), "{contents}");
        assert!(contents.contains("PyInit_one"), "{contents}");
        assert!(contents.contains("Py_MOD_GIL_NOT_USED"), "{contents}");
        let progress = if columns < 100 { "3 ?" } else { "3 open" };
        assert!(contents.contains(progress), "{contents}");
        let diff = row(&contents, "one.c:");
        match columns {
            100.. => assert_eq!(row(&contents, " why "), diff),
            60.. => assert!(row(&contents, " why ") > diff),
            _ => {
                assert!(!contents.contains(" why "), "{contents}");
                terminal.types("i");
                let contents = terminal.shows(" why ");
                assert!(contents.contains("level"), "{contents}");
            }
        }
        terminal.types("Q");
        assert_eq!(terminal.ends().0, 1);
    }
}

#[test]
fn a_terminal_of_a_few_rows_is_drawn_and_takes_keys() {
    let repository = Repository::new();
    for (columns, rows) in [(80, 5), (40, 5), (20, 3), (10, 2), (5, 1)] {
        let mut terminal = Terminal::sized(&repository, columns, rows);
        terminal.shows(if rows == 1 { "@@" } else { "1/3" });
        terminal.types("?iizy");
        terminal.types("uQ");
        assert_eq!(terminal.ends().0, 1, "{columns}x{rows}");
    }
    // The answers to a question are its end.
    let mut terminal = Terminal::sized(&repository, 20, 3);
    terminal.types("yq");
    terminal.shows("[c]ancel");
    terminal.types("cuQ");
    assert_eq!(terminal.ends().0, 1);
}

#[test]
fn what_is_to_be_confirmed_is_in_sight_and_no_key_is_cut() {
    let repository = Repository::new();
    let method = "static double n;\nstatic PyObject *\nf(PyObject *s, PyObject *a)\n{\n    n++;\n    \
                  Py_RETURN_NONE;\n}\nstatic PyMethodDef m[] = {{\"f\", f, METH_NOARGS, NULL}, \
                  {NULL}};\n";
    let text = module("one").replace("static struct", &format!("{method}\nstatic struct"));
    let text = text.replace("NULL, -1, NULL}", "NULL, -1, m}");
    fs::write(repository.path().join("one.c"), text).unwrap();
    repository.commit();
    for (columns, rows) in [(80, 24), (60, 20)] {
        let mut terminal = Terminal::sized(&repository, columns, rows);
        terminal.shows("confirm ");
        // Alone, the reason is whole.
        terminal.types("i");
        terminal.shows("ungil explain UG2");
        terminal.types("?");
        terminal.shows("accept this and all later safe ones in the file");
        terminal.types("\u{1b}[6~\u{1b}[6~\u{1b}[6~");
        terminal.shows("?     all keys");
        terminal.types(" Q");
        assert_eq!(terminal.ends().0, 1);
    }
}

#[test]
fn a_new_size_is_drawn() {
    let repository = Repository::new();
    let mut terminal = Terminal::new(&repository, 160);
    terminal.shows(" why ");
    terminal
        .screen
        .screen_mut()
        .set_size(non_zero(40), non_zero(50));
    terminal.master.resize(size(50, ROWS)).unwrap();
    // Short numbers belong to a narrow screen, on which the reason gives its place to the diff.
    let contents = terminal.shows("0 ✓");
    assert!(!contents.contains(" why "), "{contents}");
    terminal.types("\u{3}");
    assert_eq!(terminal.ends().0, 1);
}

#[test]
fn decisions_survive_a_kill_and_edits_of_other_functions() {
    let repository = Repository::new();
    let mut terminal = Terminal::new(&repository, 120);
    terminal.shows(" 1/3 ");
    terminal.types("y");
    terminal.shows("1 accepted 0 rejected 2 open");
    terminal.types("Nnot ours\r");
    terminal.shows("1 accepted 1 rejected 1 open");
    terminal.killed();
    assert_eq!(repository.changed(), [""; 0]);

    let path = repository.path().join("one.c");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("/* more */\nint other;\n\n{text}")).unwrap();
    let mut terminal = Terminal::new(&repository, 120);
    let contents = terminal.shows("1 accepted 1 rejected 1 open");
    // What is left comes first.
    assert!(contents.contains(" 3/3 "), "{contents}");
    terminal.types("K");
    terminal.shows("rejected: not ours");
    terminal.types("uu");
    terminal.shows("0 accepted 0 rejected 3 open");
    terminal.types("U");
    terminal.shows("1 accepted 0 rejected 2 open");
    terminal.types("Q");
    assert_eq!(terminal.ends().0, 1);
}

#[test]
fn leaving_asks_and_writes_and_undo_takes_it_back() {
    let repository = Repository::new();
    let mut terminal = Terminal::new(&repository, 120);
    terminal.shows(" 1/3 ");
    terminal.types("yn");
    terminal.shows("1 accepted 1 rejected 1 open");
    terminal.types("q");
    terminal.shows("Write 1 fix now?");
    terminal.types("c");
    terminal.types("w");
    terminal.shows("1 fix written to 1 file");
    assert_eq!(repository.changed(), ["one.c"]);
    // The rest is analysed again, and decisions are still there.
    terminal.shows("0 accepted 1 rejected 1 open");
    terminal.types("yq");
    terminal.shows("Write 1 fix now?");
    terminal.types("y");
    let (status, contents) = terminal.ends();
    assert_eq!(status, 0, "{contents}");
    assert!(contents.contains("2 fixes written"), "{contents}");
    assert_eq!(repository.changed(), ["one.c", "two.c"]);
    for left in [&["one.c"][..], &[]] {
        let output = repository.ungil(&["undo"], "");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert_eq!(repository.changed(), left);
    }
    assert_eq!(repository.ungil(&["undo"], "").status.code(), Some(2));
}

#[test]
fn a_second_process_is_refused() {
    let repository = Repository::new();
    let mut terminal = Terminal::new(&repository, 80);
    terminal.shows("y accept");
    let pid = terminal.child.process_id().unwrap();
    let output = repository.ungil(&["review", "--accept", "safe"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains(&format!("(process {pid})")),
        "{}",
        said(&output)
    );
    // To look is no work on the project.
    terminal.types("n");
    terminal.shows("1 ✗");
    let answer = repository.json(&["--list"]);
    assert_eq!(answer["rejected"], 1);
    let id = answer["fixes"][1]["id"].as_str().unwrap();
    assert!(repository.json(&["--show", id])["fixes"][0]["diff"].is_string());
    terminal.types("Q");
    terminal.ends();
}

#[test]
fn prompts_can_be_answered_through_a_pipe() {
    let repository = Repository::new();
    let output = repository.ungil(&["review", "--plain"], "y\n/PyInit_two\n?\nn\ny\ny\n");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", said(&output));
    assert!(shown.contains("[1/3] "), "{shown}");
    assert!(shown.contains("=== one.c"), "{shown}");
    assert!(shown.contains("Write 2 fixes now?"), "{shown}");
    assert_eq!(repository.changed(), ["one.c", "three.c"]);
}

#[test]
fn the_end_of_the_input_writes_nothing_and_keeps_decisions() {
    let repository = Repository::new();
    assert_eq!(
        repository
            .ungil(&["review", "--plain"], "y\n")
            .status
            .code(),
        Some(1)
    );
    assert_eq!(repository.changed(), [""; 0]);
    assert_eq!(repository.json(&["--list"])["accepted"], 1);
}

#[test]
fn without_a_terminal_the_options_are_named() {
    let repository = Repository::new();
    let output = repository.ungil(&["review"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("--list"), "{}", said(&output));
    let output = repository.ungil(&["review", "--accept", "nosuch"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("`nosuch`"), "{}", said(&output));
}

#[test]
fn a_script_decides_by_id_and_writes() {
    let repository = Repository::new();
    let ids = repository.ids();
    assert_eq!(ids.len(), 3);
    let shown = repository.json(&["--show", &ids[1]]);
    assert_eq!(shown["fixes"][0]["path"], "three.c");
    let diff = shown["fixes"][0]["diff"].as_str().unwrap();
    assert!(diff.contains("\n+"), "{diff}");
    let reject = ["--reject", &ids[1], "--reason", "not ours"];
    for _ in 0..2 {
        let answer = repository.json(&reject);
        assert_eq!(answer["fixes"][0]["reason"], "not ours");
        assert_eq!(answer["rejected"], 1);
    }
    let answer = repository.json(&["--accept", &ids[0], "--write"]);
    assert_eq!(
        (&answer["written"], &answer["open"]),
        (&1.into(), &1.into())
    );
    assert_eq!(repository.changed(), ["one.c"]);
    assert_eq!(repository.ids(), ids[1..]);
    // The changes in `one.c` are ours; those in `two.c` are not.
    let path = repository.path().join("two.c");
    fs::write(&path, format!("{}\n", module("two"))).unwrap();
    let output = repository.ungil(&["review", "--accept", &ids[2], "--write"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("uncommitted changes"),
        "{}",
        said(&output)
    );
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        format!("{}\n", module("two"))
    );
}

/// Two lookups that define one variable: strong references or not, but both of them.
const SHARED: &str = "#include <Python.h>\n\nstatic PyObject *\nf(PyObject *d, PyObject *a, \
                      PyObject *b)\n{\n    PyObject *v = PyDict_GetItemWithError(d, a);\n    if \
                      (v == NULL && !PyErr_Occurred())\n        v = PyDict_GetItemWithError(d, \
                      b);\n    Py_XINCREF(v);\n    return v;\n}\n";

#[test]
fn findings_with_the_same_changes_are_one_fix_and_a_write_says_what_remains() {
    let repository = Repository::empty();
    fs::write(repository.path().join("setup.py"), "").unwrap();
    fs::write(repository.path().join("one.c"), module("one")).unwrap();
    fs::write(repository.path().join("two.c"), SHARED).unwrap();
    repository.commit();
    let answer = repository.json(&["--list", "--min-python", "3.9", "--select", "UG1"]);
    let fixes = answer["fixes"].as_array().unwrap();
    assert_eq!(fixes.len(), 1, "{answer}");
    assert_eq!(fixes[0]["also"][0]["line"], 8);
    let id = fixes[0]["id"].as_str().unwrap();
    let options = ["--min-python", "3.9", "--compat", "header"];
    let command = [&["review", "--accept", id, "--write"][..], &options].concat();
    let said = said(&repository.ungil(&command, ""));
    assert!(said.contains("New file: `pyapi_compat.h`"), "{said}");
    assert!(said.contains("commit it"), "{said}");
    assert!(said.contains("1 finding remains: 1 with a"), "{said}");
    repository.ungil(&["undo"], "");
    let said = self::said(&repository.ungil(&["migrate", "--select", "UG1"], ""));
    assert!(said.contains("No findings remain"), "{said}");
}

#[test]
fn to_look_leaves_no_folder() {
    let repository = Repository::new();
    assert_eq!(repository.ids().len(), 3);
    assert!(!repository.path().join(".ungil").exists());
}

#[test]
fn a_decision_about_a_changed_function_is_stale() {
    let repository = Repository::new();
    let ids = repository.ids();
    repository.json(&["--accept", &ids[0]]);
    let path = repository.path().join("one.c");
    fs::write(
        &path,
        module("one").replace("    return", "    int i = 0;\n    return"),
    )
    .unwrap();
    let answer = repository.json(&["--list"]);
    assert_eq!(answer["accepted"], 0);
    assert_eq!(answer["stale"][0]["id"], ids[0].as_str());
    assert_eq!(answer["stale"][0]["decision"], "accepted");
}

#[test]
fn migrate_is_taken_back_unless_files_changed() {
    let repository = Repository::new();
    let output = repository.ungil(&["migrate", "--unsafe-fixes"], "");
    assert!(
        repository.changed().contains(&"one.c".to_owned()),
        "{}",
        said(&output)
    );
    let path = repository.path().join("one.c");
    let written = fs::read(&path).unwrap();
    fs::write(&path, "mine\n").unwrap();
    let output = repository.ungil(&["undo"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains("changed since the write"),
        "{}",
        said(&output)
    );
    let patch = String::from_utf8_lossy(&output.stdout);
    assert!(patch.starts_with("diff --git a/one.c b/one.c"), "{patch}");
    fs::write(&path, written).unwrap();
    assert_eq!(repository.ungil(&["undo"], "").status.code(), Some(0));
    assert_eq!(repository.changed(), [""; 0]);
}
