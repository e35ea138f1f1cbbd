//! `ungil review` and `ungil undo` on temporary repositories: typed at a terminal, piped, scripted.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::fs;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use serde_json::Value;
use support::run;

/// How long a picture may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A module that does not say that it runs without the GIL.
fn module(name: &str) -> String {
    format!(
        "#include <Python.h>\n\n\
         static struct PyModuleDef {name}_def = {{PyModuleDef_HEAD_INIT, \"{name}\", NULL, -1, NULL}};\n\n\
         PyMODINIT_FUNC\nPyInit_{name}(void)\n{{\n    return PyModule_Create(&{name}_def);\n}}\n"
    )
}

/// A repository with the modules `one`, `two` and `three`, committed.
struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.git(&["init", "-q"]);
        fs::write(repository.path().join("setup.py"), "").unwrap();
        for name in ["one", "three", "two"] {
            fs::write(repository.path().join(format!("{name}.c")), module(name)).unwrap();
        }
        repository.git(&["add", "."]);
        repository.git(&["commit", "-qm", "all"]);
        repository
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"];
        let mut git = Command::new("git");
        let output = run(git.args(identity).args(arguments).current_dir(self.path()));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Files that differ from the commit.
    fn changed(&self) -> Vec<String> {
        let status = self.git(&["status", "--porcelain"]);
        status.lines().map(|line| line[3..].to_owned()).collect()
    }

    fn ungil(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ungil"))
            .args(arguments)
            .current_dir(self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that refuses does not read.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let arguments = [&["review", "--output-format", "json"], arguments].concat();
        let output = self.ungil(&arguments, "");
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
    }

    fn ids(&self) -> Vec<String> {
        let answer = self.json(&["--list"]);
        let fixes = answer["fixes"].as_array().unwrap();
        fixes
            .iter()
            .map(|fix| fix["id"].as_str().unwrap().to_owned())
            .collect()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `ungil review` at a terminal.
struct Terminal {
    screen: vt100::Parser,
    output: Receiver<Vec<u8>>,
    keys: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    child: Box<dyn Child + Send + Sync>,
}

fn size(columns: u16) -> PtySize {
    PtySize {
        rows: 40,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn non_zero(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap()
}

impl Terminal {
    fn new(repository: &Repository, columns: u16) -> Self {
        let pair = native_pty_system().openpty(size(columns)).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_ungil"));
        command.args(["review"]);
        command.cwd(repository.path());
        command.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, output) = channel();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // At the end of the program a terminal gives an error and not an end.
            while let Ok(length @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            screen: vt100::Parser::new(non_zero(40), non_zero(columns), 0),
            output,
            keys: pair.master.take_writer().unwrap(),
            master: pair.master,
            child,
        }
    }

    /// Waits until the screen holds `text`.
    fn shows(&mut self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let contents = self.screen.screen().contents();
            if contents.contains(text) {
                return contents;
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.screen.process(&bytes),
                Err(_) => panic!("no `{text}` in\n{contents}"),
            }
        }
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for the end of the program; gives its exit status and what it left on the screen.
    fn ends(mut self) -> (u32, String) {
        let end = Instant::now() + PATIENCE;
        // The channel closes with the program.
        while let Ok(bytes) = self
            .output
            .recv_timeout(end.saturating_duration_since(Instant::now()))
        {
            self.screen.process(&bytes);
        }
        let status = self.child.wait().unwrap();
        assert!(
            !self.screen.screen().alternate_screen(),
            "the terminal is not restored"
        );
        (status.exit_code(), self.screen.screen().contents())
    }

    fn killed(mut self) {
        let pid = self.child.process_id().unwrap().to_string();
        run(Command::new("kill").args(["-9", &pid]));
        self.child.wait().unwrap();
    }
}

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
fn a_new_size_is_drawn() {
    let repository = Repository::new();
    let mut terminal = Terminal::new(&repository, 160);
    terminal.shows(" why ");
    terminal
        .screen
        .screen_mut()
        .set_size(non_zero(40), non_zero(50));
    terminal.master.resize(size(50)).unwrap();
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
    let output = repository.ungil(&["review", "--list"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains(&format!("(process {pid})")),
        "{}",
        said(&output)
    );
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
