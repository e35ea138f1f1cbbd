//! The command line as types.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::capi::PyVersion;
use crate::diff::DEFAULT_CONTEXT;
use crate::engine::Compat;
use crate::render::OutputFormat;
use crate::rule::Errors;
use crate::series::Split;

/// Make CPython C extensions safe for free-threaded Python.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100, after_help = EXIT_STATUS)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
    #[command(flatten)]
    pub(super) global: GlobalArgs,
}

const EXIT_STATUS: &str = "Exit status: 0 no findings, or done; 1 findings remain, or the diff is \
                           not empty; 2 wrong usage, bad configuration, or refused; 3 some code \
                           was not analysed (with --strict); 4 written, and undone because \
                           verification failed; 130 interrupted";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Report findings; never writes a source file
    Check(CheckArgs),
    /// Print the patch that `migrate` would apply; never writes a source file
    Diff(DiffArgs),
    /// Write all applicable fixes, or none if one file cannot be written
    #[command(alias = "fix")]
    Migrate(MigrateArgs),
    /// Accept or reject fixes one by one, then write the accepted ones
    Review(ReviewArgs),
    /// Check changed files: references, critical sections, compiler, tests
    Verify(VerifyArgs),
    /// Write a Python script that calls the functions of a module from several threads
    Stress(StressArgs),
    /// Write a series of patches and a description for a pull request; sends nothing
    Pr(PrArgs),
    /// Undo the last write of `migrate` or `review`
    Undo,
    /// Show the page of a rule or topic, or say why a line has a finding or has none
    Explain(ExplainArgs),
    /// Show the current settings and where each of them comes from
    Config(AnalysisArgs),
    /// List all rules
    Rules,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages
    Man {
        /// Folder to write to
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// Heads the options of all commands in the help.
const GLOBAL: &str = "Global options";

#[derive(Debug, Args)]
pub(super) struct GlobalArgs {
    /// When to use colours
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "WHEN",
        help_heading = GLOBAL
    )]
    pub(super) color: Color,
    /// Print less; twice: only errors
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "verbose", help_heading = GLOBAL)]
    quiet: u8,
    /// Print more
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = GLOBAL)]
    verbose: u8,
}

impl GlobalArgs {
    /// 0 is normal, each `-v` one more, each `-q` one less.
    pub(super) fn loudness(&self) -> i16 {
        i16::from(self.verbose) - i16::from(self.quiet)
    }
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(super) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    pub(super) fn choice(self) -> anstream::ColorChoice {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
    }
}

/// What is analysed, and how.
#[derive(Debug, Clone, Args)]
pub(super) struct AnalysisArgs {
    /// Files and folders
    #[arg(default_value = ".")]
    pub(super) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) options: OptionArgs,
}

/// Options of all commands that analyse.
#[derive(Debug, Clone, Args)]
pub(super) struct OptionArgs {
    /// Rules to run: codes, names or code prefixes
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(super) select: Vec<String>,
    /// Rules not to run
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub(super) ignore: Vec<String>,
    /// Analyse only these functions
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) function: Vec<String>,
    /// Leave out files and folders
    #[arg(long, value_name = "GLOB")]
    pub(super) exclude: Vec<String>,
    /// Also apply fixes that a person must confirm
    #[arg(long)]
    pub(super) unsafe_fixes: bool,
    /// Also change build files: setup.py, pyproject.toml
    #[arg(long)]
    pub(super) build_files: bool,
    /// Oldest supported Python [default: as stated by the project]
    #[arg(long, value_name = "X.Y")]
    pub(super) min_python: Option<PyVersion>,
    /// How to provide new functions to older Pythons
    #[arg(long, value_enum, value_name = "HOW")]
    pub(super) compat: Option<Compat>,
    /// Compatibility header to use: a `pythoncapi_compat.h`, copied if it is not part of the project
    #[arg(long, value_name = "FILE")]
    pub(super) compat_header: Option<PathBuf>,
    /// Name of the new header, written if no other header has a function [default: pyapi_compat.h]
    #[arg(long, value_name = "NAME")]
    pub(super) compat_name: Option<String>,
    /// What to do with errors that old lookups swallowed [default: propagate]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(super) errors: Option<Errors>,
    /// Folder for `#include "..."`
    #[arg(short = 'I', value_name = "DIR")]
    pub(super) include_dirs: Vec<PathBuf>,
    /// Define a macro
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub(super) defines: Vec<String>,
    /// Number of threads; 0 means one for each core
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub(super) jobs: usize,
    /// Fail if some code could not be analysed
    #[arg(long)]
    pub(super) strict: bool,
    /// Write statistics of the run as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) stats_file: Option<PathBuf>,
    /// Configuration file [default: ungil.toml or pyproject.toml of the project]
    #[arg(long, value_name = "FILE", conflicts_with = "isolated")]
    pub(super) config: Option<PathBuf>,
    /// Read no configuration file
    #[arg(long)]
    pub(super) isolated: bool,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
    /// How to write findings
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        env = "UNGIL_OUTPUT_FORMAT"
    )]
    pub(super) output_format: OutputFormat,
    /// Write findings to a file instead of the standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output_file: Option<PathBuf>,
    /// Also show uses that are proven safe, with the proof
    #[arg(long)]
    pub(super) show_safe: bool,
    /// Count findings by rule instead of listing them
    #[arg(long)]
    pub(super) statistics: bool,
    /// Show statistics of the run
    #[arg(long)]
    pub(super) stats: bool,
    /// Instead of findings, show what prevents a build for the stable ABI `abi3t` of Python 3.15
    #[arg(long, conflicts_with_all = ["show_safe", "statistics", "stats", "since", "baseline"])]
    pub(super) abi3t: bool,
    /// Only findings in functions, or on lines, that changed since a commit
    #[arg(long, value_name = "REV")]
    pub(super) since: Option<String>,
    /// Only findings that are not in the baseline
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Write the findings of this run to the baseline
    #[arg(long, requires = "baseline", conflicts_with = "since")]
    pub(super) write_baseline: bool,
}

#[derive(Debug, Args)]
pub(super) struct DiffArgs {
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
    /// Lines of context
    #[arg(short = 'U', long = "unified", value_name = "N", default_value_t = DEFAULT_CONTEXT)]
    pub(super) context: usize,
    /// Write several patches, one for each of these, to apply in order
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(super) split_by: Option<Split>,
    /// How to write patches
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) format: DiffFormat,
    /// Write numbered patches into a new folder
    #[arg(short, long, value_name = "DIR")]
    pub(super) output_dir: Option<PathBuf>,
    /// Instead of a patch, show how much changes in each file
    #[arg(long, conflicts_with_all = ["split_by", "format", "output_dir", "side_by_side"])]
    pub(super) stat: bool,
    /// Instead of a patch, show old and new text side by side
    #[arg(long, conflicts_with_all = ["split_by", "format", "output_dir"])]
    pub(super) side_by_side: bool,
    /// Do not use a pager
    #[arg(long)]
    pub(super) no_pager: bool,
}

/// How patches are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum DiffFormat {
    /// Unified diffs, for `git apply` and `patch -p1`.
    #[default]
    Patch,
    /// Mails with reasons, for `git am`; one for each rule unless `--split-by` says otherwise.
    Mbox,
}

#[derive(Debug, Args)]
pub(super) struct MigrateArgs {
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
    #[command(flatten)]
    pub(super) guard: GuardArgs,
    #[command(flatten)]
    pub(super) verify: VerifyWriteArgs,
}

/// Proof of what is in the files.
#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
    /// Check the changes since this commit [default: the last write of `ungil`, otherwise HEAD]
    #[arg(long, value_name = "REV")]
    pub(super) since: Option<String>,
    #[command(flatten)]
    pub(super) checks: ChecksArgs,
}

/// A script that shows races.
#[derive(Debug, Args)]
pub(super) struct StressArgs {
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
    /// Only the module of this name
    #[arg(long, value_name = "NAME")]
    pub(super) module: Option<String>,
    /// Script to write, of which your own parts are kept [default: stress_MODULE.py, or test_stress_MODULE.py with --pytest]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output_file: Option<PathBuf>,
    /// Make each function a test of pytest
    #[arg(long)]
    pub(super) pytest: bool,
}

/// A pull request.
#[derive(Debug, Args)]
pub(super) struct PrArgs {
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
    /// New folder to write patches and pull-request.md to
    #[arg(short, long, value_name = "DIR")]
    pub(super) output_dir: PathBuf,
    /// Author of the patches [default: you, as git knows you]
    #[arg(long, value_name = "NAME <ADDRESS>")]
    pub(super) author: Option<String>,
    /// Replace the files of an earlier run
    #[arg(long)]
    pub(super) force: bool,
}

/// Commands of the user that prove more.
#[derive(Debug, Clone, Args)]
pub(super) struct ChecksArgs {
    /// Compile with this command [default: check changed files with `cc` and `python3`]
    #[arg(long, value_name = "CMD")]
    pub(super) compile: Option<String>,
    /// Test with this command
    #[arg(long, value_name = "CMD")]
    pub(super) test: Option<String>,
    /// Run a script of `ungil stress` with this command, such as `python3.13t stress_m.py`
    #[arg(long, value_name = "CMD")]
    pub(super) stress: Option<String>,
}

/// Proof of what was just written.
#[derive(Debug, Args)]
pub(super) struct VerifyWriteArgs {
    /// Verify the result, and undo the write if verification fails
    #[arg(long)]
    verify: bool,
    /// With --verify: compile with this command
    #[arg(long, value_name = "CMD", requires = "verify")]
    compile: Option<String>,
    /// With --verify: test with this command
    #[arg(long, value_name = "CMD", requires = "verify")]
    test: Option<String>,
    /// With --verify: run a script of `ungil stress` with this command
    #[arg(long, value_name = "CMD", requires = "verify")]
    stress: Option<String>,
}

impl VerifyWriteArgs {
    /// What is to be checked; `None` if nothing is.
    pub(super) fn checks(&self) -> Option<ChecksArgs> {
        self.verify.then(|| ChecksArgs {
            compile: self.compile.clone(),
            test: self.test.clone(),
            stress: self.stress.clone(),
        })
    }
}

/// What may be written over.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct GuardArgs {
    /// Write even if files have uncommitted changes
    #[arg(long)]
    pub(super) allow_dirty: bool,
    /// Write even outside a git repository
    #[arg(long)]
    pub(super) allow_no_vcs: bool,
}

#[derive(Debug, Args)]
pub(super) struct ReviewArgs {
    #[command(flatten)]
    pub(super) analysis: AnalysisArgs,
    #[command(flatten)]
    pub(super) guard: GuardArgs,
    #[command(flatten)]
    pub(super) verify: VerifyWriteArgs,
    /// Ask line by line instead of on a full screen [default with TERM=dumb]
    #[arg(long, conflicts_with_all = ["list", "show", "accept", "reject", "write"])]
    pub(super) plain: bool,
    #[command(flatten)]
    pub(super) batch: BatchArgs,
}

/// A review without a person at a terminal.
#[derive(Debug, Args)]
#[command(next_help_heading = "Without a terminal")]
pub(super) struct BatchArgs {
    /// List all fixes with their ids and decisions
    #[arg(long)]
    pub(super) list: bool,
    /// Show the reason and the diff of a fix
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(super) show: Vec<String>,
    /// Accept a fix, all undecided ones of a rule, or all undecided safe ones
    #[arg(long, value_name = "ID|RULE|safe", value_delimiter = ',')]
    pub(super) accept: Vec<String>,
    /// Reject a fix, or all undecided ones of a rule
    #[arg(long, value_name = "ID|RULE", value_delimiter = ',')]
    pub(super) reject: Vec<String>,
    /// Confirm a statement that `--list` names, for all fixes that rest on it; kept in the configuration
    #[arg(long, value_name = "CLAIM=NAME")]
    pub(super) confirm: Vec<String>,
    /// Reason, which is kept with the decision
    #[arg(long, value_name = "TEXT", requires = "reject")]
    pub(super) reason: Option<String>,
    /// Accept or show this alternative of the fix; 1 is the fix itself
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..))]
    pub(super) alternative: Option<u8>,
    /// Write the accepted fixes
    #[arg(long)]
    pub(super) write: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(super) output_format: AnswerFormat,
}

/// How a review without a terminal answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum AnswerFormat {
    #[default]
    Text,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// Code or name of a rule, a topic that its page names, `limits`, or a line of a file
    #[arg(value_name = "RULE|TOPIC|FILE:LINE")]
    pub(super) subject: String,
    #[command(flatten)]
    pub(super) options: OptionArgs,
}
