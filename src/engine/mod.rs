//! The stages in order, for a whole package; pure.

mod config;

pub use config::{Compat, Config, ErrorBehaviour};

use crate::package::Package;
use crate::rule::Finding;
use crate::source::{FileId, LineNumber};

/// What a run found.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Findings of all selected rules in run order; also those proven safe as they are.
    pub findings: Vec<Finding>,
    /// What was looked at, and what was not understood.
    pub coverage: Coverage,
    /// The extension modules of the package, by file and name.
    pub modules: Vec<ModuleStatus>,
    /// How fixes fared in validation.
    pub validation: Validation,
}

/// The coverage ledger: silence about a function that is not listed here means "looked at".
#[derive(Debug, Default)]
pub struct Coverage {
    /// Files whose C was looked at.
    pub files: usize,
    /// Functions met.
    pub functions: usize,
    /// Functions that rules could not look at, by file and line.
    pub not_understood: Vec<NotUnderstood>,
    /// Names of quoted headers that are in no folder of the run, sorted.
    pub headers_not_found: Vec<String>,
}

/// One function that was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotUnderstood {
    /// Its file.
    pub file: FileId,
    /// Where it begins.
    pub line: LineNumber,
    /// Its name; empty if not even that is known.
    pub function: String,
    /// Why: lower case, no full stop.
    pub reason: String,
}

/// How a module says, or is made to say, that it runs without the GIL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// The source already says so.
    Already,
    /// A safe fix makes it say so.
    Safe,
    /// A fix makes it say so once a person has confirmed what is left.
    Review,
    /// It does not say so.
    No,
}

/// How a module is initialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Init {
    /// `PyModule_Create`.
    Single,
    /// `PyModuleDef_Init`.
    Multi,
}

/// One extension module of the package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleStatus {
    /// Its name, from `PyInit_name`.
    pub name: String,
    /// The file with its `PyInit_` function.
    pub file: FileId,
    /// How it is initialised.
    pub init: Init,
    /// Whether it says that it runs without the GIL.
    pub declared: Declared,
    /// Findings that stand against that.
    pub open: usize,
}

/// How fixes fared when their result was analysed again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Validation {
    /// Fixes whose result was proven.
    pub validated: usize,
    /// Fixes that lost confidence because it was not.
    pub demoted: usize,
}

/// Runs every selected rule over `package`.
#[must_use]
pub fn analyze(package: &Package, config: &Config) -> Analysis {
    let _ = config;
    Analysis {
        coverage: Coverage {
            files: package.analysed().count(),
            ..Coverage::default()
        },
        ..Analysis::default()
    }
}
