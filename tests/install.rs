//! What is installed beside the program, and what other tools run it by.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn ungil(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ungil"));
    let root = env!("CARGO_MANIFEST_DIR");
    command.args(arguments).current_dir(root).output().unwrap()
}

/// The commands that the help lists.
fn commands() -> BTreeSet<String> {
    let help = String::from_utf8(ungil(&["-h"]).stdout).unwrap();
    let list = help.split("Commands:\n").nth(1).unwrap().lines();
    let names = list.take_while(|line| !line.is_empty());
    names
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        .collect()
}

#[test]
fn completions_are_scripts_that_know_the_commands() {
    let script = ungil(&["completions", "bash"]).stdout;
    let mut bash = Command::new("bash")
        .arg("-n")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    bash.stdin.take().unwrap().write_all(&script).unwrap();
    assert!(bash.wait().unwrap().success());
    let script = String::from_utf8(script).unwrap();
    for command in commands() {
        assert!(script.contains(&command), "{command}");
    }
    for shell in ["elvish", "fish", "powershell", "zsh"] {
        let script = String::from_utf8(ungil(&["completions", shell]).stdout).unwrap();
        assert!(script.contains("unsafe-fixes"), "{shell}");
    }
}

#[test]
fn every_command_has_its_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("man1");
    assert!(ungil(&["man", path.to_str().unwrap()]).status.success());
    for command in commands().iter().filter(|command| *command != "help") {
        let page = fs::read_to_string(path.join(format!("ungil-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    let main = fs::read_to_string(path.join("ungil.1")).unwrap();
    assert!(main.contains("ungil\\-review(1)"), "{main}");
}

#[test]
fn hooks_and_action_run_commands_that_there_are() {
    let read = |name| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    let hooks = read(".pre-commit-hooks.yaml");
    let entries = hooks
        .lines()
        .filter_map(|line| line.strip_prefix("  entry: ungil "));
    let default = read("action.yml");
    let default = default
        .lines()
        .find_map(|line| line.strip_prefix("    default: "));
    let used: Vec<&str> = entries.chain(default).collect();
    assert_eq!(used, ["check", "verify", "check"]);
    assert!(used.iter().all(|command| commands().contains(*command)));
}
