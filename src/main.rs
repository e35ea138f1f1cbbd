//! The `ungil` command.

use std::process::ExitCode;

/// The analyses make and drop small lists all the time: a quarter of the time went into that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ungil::cli::run(std::env::args_os())
}
