//! `ungil undo`: takes the last write back.

use std::env;

use anyhow::Context;

use super::Status;
use super::interrupt::Interrupt;
use super::store::{Store, UndoError, Writes};
use super::talk::{Talk, write_results};

pub(super) fn run(talk: &Talk, interrupt: &Interrupt) -> anyhow::Result<Status> {
    let folder = env::current_dir().context("the current folder cannot be read")?;
    let Some(store) = Store::find(&folder)? else {
        talk.error("there is no write to undo: no `.ungil` folder here or in a parent folder");
        return Ok(Status::Refused);
    };
    let writes = store.writes();
    // What was cut off is the last write, and is taken back by being repaired.
    if repair(&writes, talk, interrupt)? {
        return Ok(Status::Clean);
    }
    match writes.undo(interrupt) {
        Ok(files) => {
            for file in &files {
                talk.detail(&format!("restored {}", file.display()));
            }
            let (count, word) = (files.len(), plural(files.len()));
            talk.info(&format!(
                "The last write was undone: {count} {word} restored"
            ));
            Ok(Status::Clean)
        }
        Err(error) => {
            if let UndoError::Changed { patch, .. } = &error {
                write_results(patch)?;
            }
            talk.error(&error.to_string());
            Ok(Status::Refused)
        }
    }
}

/// Completes what a kill cut off, and says so. Returns whether there was anything.
pub(super) fn repair(writes: &Writes, talk: &Talk, interrupt: &Interrupt) -> anyhow::Result<bool> {
    let Some((restored, foreign)) = writes.repair(interrupt)? else {
        return Ok(false);
    };
    talk.warning(&format!(
        "an earlier write was interrupted and has been undone: {restored} {} restored",
        plural(restored)
    ));
    for file in foreign {
        talk.warning(&format!(
            "`{}` has changed since the write and stays as it is",
            file.display()
        ));
    }
    Ok(true)
}

fn plural(files: usize) -> &'static str {
    if files == 1 { "file" } else { "files" }
}
