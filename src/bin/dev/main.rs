//! Commands for those who work on `ungil` itself: `cargo dev --help`.

mod compile;
mod corpus;
mod dump;
mod offers;
mod process;
mod report;
mod sandbox;
mod trace;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;

#[derive(Parser)]
#[command(
    name = "cargo dev",
    about = "Commands for those who work on ungil itself"
)]
enum Command {
    Corpus(corpus::Args),
    Dump(dump::Args),
    Trace(trace::Args),
}

fn main() -> io::Result<ExitCode> {
    let done = match Command::parse() {
        Command::Corpus(args) => corpus::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Trace(args) => trace::run(&args),
    };
    done.or_else(|error| {
        writeln!(io::stderr(), "error: {error:#}")?;
        Ok(ExitCode::from(2))
    })
}
