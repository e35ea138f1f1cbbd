//! What packagers install beside the program: completions of shells, manual pages.

use std::fs;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use super::Status;
use super::args::Cli;
use super::talk::{Talk, write_results};

pub(super) fn completions(shell: Shell) -> anyhow::Result<Status> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "ungil", &mut script);
    write_results(&script)?;
    Ok(Status::Clean)
}

/// Writes `ungil.1` and a page for each command.
pub(super) fn manual(folder: &Path, talk: &Talk) -> anyhow::Result<Status> {
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .with_context(|| format!("cannot write to `{}`", folder.display()))?;
    talk.info(&format!("The manual pages are in {}", folder.display()));
    Ok(Status::Clean)
}
