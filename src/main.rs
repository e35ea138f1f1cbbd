//! The `ungil` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ungil::cli::run(std::env::args_os())
}
