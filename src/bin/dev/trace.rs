//! `cargo dev trace`: what was considered for the lookups on one line.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use ungil::engine::{Config, trace};
use ungil::source::LineNumber;

use crate::dump::{in_package, on_large_stack};

/// Show how the borrowed references on a line were decided.
///
/// For each lookup: where its container comes from, the exits that were considered with the reason
/// each was refused, the definitions that belong with it, the ways to count that were tried, and
/// the decision.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The line: `src/spam.c:120`.
    #[arg(value_name = "FILE:LINE")]
    line: String,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let texts = on_large_stack(|| texts_of(args))?;
    io::stdout().lock().write_all(texts.join("\n").as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn texts_of(args: &Args) -> Result<Vec<String>> {
    let place = args.line.rsplit_once(':');
    let place = place.and_then(|(path, line)| Some((path, line.parse().ok()?)));
    let (path, line) = place.context("a file and a line are needed: `spam.c:120`")?;
    let (package, file) = in_package(path)?;
    let texts = trace(&package, &Config::default(), file, LineNumber(line));
    if texts.is_empty() {
        bail!("there is no lookup on this line that was analysed, and no finding");
    }
    Ok(texts)
}
