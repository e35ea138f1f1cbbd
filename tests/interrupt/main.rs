//! Ctrl-C and a kill leave files as they were, or as they were to become.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod kill;
#[path = "../support/mod.rs"]
mod support;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use support::run;
use support::tree::Tree;

/// The example with a pipe that keeps the program from going on until somebody reads it.
fn tree() -> Tree {
    let tree = Tree::example().committed();
    run(Command::new("mkfifo").arg("pipe").current_dir(tree.path()));
    tree.write("out", "as before\n");
    tree
}

/// Starts `ungil` with `arguments`, which waits for a reader of the pipe after its analysis;
/// returns once it listens for Ctrl-C.
fn start(tree: &Tree, arguments: &[&str]) -> Child {
    let mut command = tree.command(arguments);
    command.args(["--stats-file=pipe", "--config=pyproject.toml", "-v"]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("configuration from"), "{line}");
    // What is said later must find a reader.
    std::thread::spawn(move || stderr.lines().count());
    child
}

fn press_ctrl_c(child: &Child) {
    run(Command::new("kill").args(["-INT", &child.id().to_string()]));
}

/// Reads what the program waits for somebody to read.
fn drain(tree: &Tree) {
    let mut pipe = File::open(tree.path().join("pipe")).unwrap();
    std::io::copy(&mut pipe, &mut std::io::sink()).unwrap();
}

/// Names and bytes of all files but the pipe.
fn contents(tree: &Tree) -> Vec<(PathBuf, Vec<u8>)> {
    let names = tree.names().into_iter();
    let names = names.filter(|name| !name.ends_with("pipe") && !name.starts_with(".ungil"));
    names
        .map(|name| {
            let bytes = tree.read(name.to_str().unwrap());
            (name, bytes)
        })
        .collect()
}

const RUNS: [&[&str]; 3] = [
    &["migrate", "--allow-dirty"],
    &["check", "-o", "out"],
    &["diff", "--split-by=fix", "-o", "series"],
];

#[test]
fn a_run_that_is_cut_off_changes_nothing() {
    for arguments in RUNS {
        let tree = tree();
        let before = contents(&tree);
        let mut child = start(&tree, arguments);
        press_ctrl_c(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}");
        assert_eq!(contents(&tree), before, "{arguments:?}");
    }
}

#[test]
fn a_run_that_is_cut_off_while_it_writes_does_all_or_nothing() {
    for arguments in RUNS {
        let tree = tree();
        let before = contents(&tree);
        let mut child = start(&tree, arguments);
        drain(&tree);
        // The program writes now; how far it is, nobody knows.
        press_ctrl_c(&child);
        child.wait().unwrap();
        let after = contents(&tree);
        let whole = {
            let tree = self::tree();
            let mut child = start(&tree, arguments);
            drain(&tree);
            child.wait().unwrap();
            contents(&tree)
        };
        assert_ne!(before, whole, "{arguments:?}");
        assert!(after == before || after == whole, "{arguments:?}");
    }
}
