//! The tutorial prints what the commands in it print.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use super::{hold, root};

/// What a shell prints for `command` in `folder`, with what differs between machines made equal.
fn run(command: &str, folder: &Path) -> String {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_ungil"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let identity = ["GIT_AUTHOR_", "GIT_COMMITTER_"].map(|who| {
        [
            (format!("{who}NAME"), "you"),
            (format!("{who}EMAIL"), "you@example.invalid"),
        ]
    });
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}; }} 2>&1")])
        .current_dir(folder)
        .env("PATH", path)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("COLUMNS", "80")
        .env_remove("UNGIL_OUTPUT_FORMAT")
        .envs(identity.into_iter().flatten())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let real = fs::canonicalize(folder).unwrap();
    let text = text.replace(&format!("{}/", real.display()), "");
    let python = Regex::new(r"for Python 3\.\d+").unwrap();
    python.replace_all(&text, "for Python 3.13").into_owned()
}

/// `page` with the outputs of its commands, one after the other in `folder`.
fn filled(page: &str, folder: &Path) -> String {
    let mut out = String::new();
    let mut lines = page.split_inclusive('\n');
    while let Some(line) = lines.next() {
        out += line;
        if line != "```console\n" {
            continue;
        }
        for line in lines.by_ref().take_while(|line| *line != "```\n") {
            if let Some(command) = line.strip_prefix("$ ") {
                out += line;
                out += &run(command.trim_end(), folder);
                if !out.ends_with('\n') {
                    out.push('\n');
                }
            }
        }
        out += "```\n";
    }
    out
}

#[test]
fn the_tutorial_prints_what_its_commands_print() {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(root().join("docs/example")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let path = root().join("docs/tutorial.md");
    let page = fs::read_to_string(&path).unwrap();
    let wanted = filled(&page, folder.path());
    hold(&path, &wanted);
    // The story it tells.
    let declared = fs::read_to_string(folder.path().join("inventory.c")).unwrap();
    assert!(declared.contains("Py_MOD_GIL_NOT_USED"), "{declared}");
    assert!(wanted.contains("No findings"), "{wanted}");
}
