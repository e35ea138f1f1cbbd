//! Everything that touches the world: arguments, files, terminal, exit status.

mod abi3t;
mod args;
mod baseline;
mod changes;
mod check;
mod config;
mod diff;
mod explain;
mod folder;
mod git;
mod install;
mod interrupt;
mod migrate;
mod output;
mod pager;
mod pages;
mod paint;
mod plan;
mod pr;
mod rest;
mod review;
mod rules;
mod session;
mod silence;
mod since;
mod stats;
mod store;
mod stress;
mod talk;
mod undo;
mod vcs;
mod verify;
mod word;
mod write;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use interrupt::Interrupt;
use talk::Talk;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// Clean, or everything done.
    Clean,
    /// Findings remain, or the diff is not empty.
    Findings,
    /// Wrong usage, bad configuration, or refused.
    Refused,
    /// Something was not understood, under `--strict`.
    CoverageGap,
    /// Edits were written, and taken back because verification failed.
    TakenBack,
}

impl Status {
    fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::Refused => 2,
            Self::CoverageGap => 3,
            Self::TakenBack => 4,
        }
    }
}

/// Runs the command line `arguments`, the program's name first.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Printing the help into a closed pipe is no failure.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let talk = Talk::new(cli.global.color.choice(), cli.global.loudness());
    match dispatch(&cli, &talk) {
        Ok(status) => ExitCode::from(status.code()),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            talk.error(&format!("{error:#}"));
            ExitCode::from(Status::Refused.code())
        }
    }
}

fn dispatch(cli: &Cli, talk: &Talk) -> anyhow::Result<Status> {
    let interrupt = Interrupt::install()?;
    match &cli.command {
        Command::Check(args) if args.abi3t => abi3t::run(args, talk),
        Command::Check(args) => check::run(args, talk, &interrupt),
        Command::Diff(args) => diff::run(args, talk, &interrupt),
        Command::Migrate(args) => migrate::run(args, talk, &interrupt),
        Command::Review(args) => review::run(args, talk, &interrupt),
        Command::Verify(args) => verify::run(args, talk),
        Command::Stress(args) => stress::run(args, talk, &interrupt),
        Command::Pr(args) => pr::run(args, talk, &interrupt),
        Command::Undo => undo::run(talk, &interrupt),
        Command::Explain(args) => explain::run(args, talk),
        Command::Config(args) => config::run(args, talk),
        Command::Completions { shell } => install::completions(*shell),
        Command::Man { folder } => install::manual(folder, talk),
        Command::Rules => rules::list(talk),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
