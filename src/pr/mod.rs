//! A pull request: a series of patches in the order in which reviewers accept them, and its
//! description.
//!
//! ```text
//! findings ─ series::staged ─┐
//!      stress scripts, ci ───┼─ steps ─ letters
//!               changelog ───┘     └─── page ─ pull-request.md
//! ```

mod changelog;
mod ci;
mod page;
mod safety;
mod step;
mod subject;
mod text;

pub use changelog::with_line;
pub use ci::{Ci, PYTHON, ci};
pub use page::description;
pub use step::{Step, steps};

use std::path::{Path, PathBuf};

use crate::engine::{Analysis, NewFile};
use crate::package::Package;
use crate::series::Part;

/// What a pull request is made of.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    /// The files.
    pub package: &'a Package,
    /// The folder of the project, below that of the package.
    pub project: &'a Path,
    /// What was found in them.
    pub analysis: &'a Analysis,
    /// The findings whose fixes take part; they do not clash.
    pub parts: &'a [Part<'a>],
    /// The files that come with these fixes.
    pub new_files: &'a [NewFile],
    /// Scripts that call the modules from several threads, for the folder of the tests.
    pub tests: &'a [Extra],
    /// What becomes of the workflows.
    pub ci: &'a Ci,
    /// The changelog, if its form is known.
    pub changelog: Option<&'a Extra>,
    /// Where older Pythons get what the fixes use of newer ones, in sentences without full stops.
    pub compat: &'a [String],
    /// What a person has to do beside, in sentences.
    pub by_hand: &'a [String],
}

/// A file that changes, or comes, for other reasons than a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extra {
    /// Its path as those of the package are.
    pub path: PathBuf,
    /// What is in it so far; `None` for a new file.
    pub old: Option<Vec<u8>>,
    /// What will be in it.
    pub new: Vec<u8>,
}
