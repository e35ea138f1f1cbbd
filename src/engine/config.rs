//! What a user may ask of an analysis, resolved.

use std::path::PathBuf;

use crate::facts::{Confirmed, Functions};
use crate::rule::{Errors, Rule, Selection, Selector};

/// How older Pythons get the functions that fixes use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compat {
    /// The project's own `pythoncapi_compat.h`, else a small generated header, where the supported
    /// versions ask for one.
    #[default]
    Auto,
    /// Always through a header.
    Header,
    /// Never: the result needs a Python that has the functions.
    None,
}

/// A compatibility header that the user points at.
#[derive(Debug, Clone)]
pub struct GivenHeader {
    /// Its path, absolute.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What a user asks of an analysis. The supported Pythons are part of the package.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Rules that run.
    pub selection: Selection,
    /// How older Pythons are served.
    pub compat: Compat,
    /// The compatibility header to use, in place where it is part of the package, else as a copy.
    pub compat_header: Option<GivenHeader>,
    /// Name of the header that is written for what no other one has; the usual one if `None`.
    pub compat_name: Option<String>,
    /// What becomes of errors that borrowing lookups swallowed.
    pub errors: Errors,
    /// Folders for quoted headers, relative to the package's root or absolute.
    pub include_dirs: Vec<String>,
    /// Macros from outside, as (name, value).
    pub defines: Vec<(String, String)>,
    /// Whether fixes of build files may be made; else their findings say what could be done.
    pub build_files: bool,
    /// Functions to look at; all if empty.
    pub functions: Vec<String>,
    /// What is said of functions: it wins over what the files say, and over what their code shows.
    pub facts: Functions,
    /// What the project has confirmed: fixes that rest on nothing else are safe.
    pub confirmed: Confirmed,
    /// Whether every function is parsed for the coverage ledger, and not only those that a rule
    /// may have something to say of.
    pub full_coverage: bool,
    /// Whether fixes keep their alternatives, which are proven as the fixes are.
    pub alternatives: bool,
}

impl Config {
    /// The same for some rules alone, of which there is at least one.
    pub(super) fn only(&self, rules: impl Iterator<Item = &'static Rule>) -> Self {
        let mut rules: Vec<_> = rules.collect();
        rules.sort_by_key(|rule| rule.code);
        rules.dedup_by_key(|rule| rule.code);
        Self {
            selection: Selection {
                select: rules.into_iter().map(Selector::of).collect(),
                ignore: Vec::new(),
            },
            ..self.clone()
        }
    }
}
