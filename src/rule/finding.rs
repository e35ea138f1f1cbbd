//! What a rule says of one place.

use crate::edit::Fix;
use crate::source::{ByteSpan, FileId};

use super::Rule;

/// What is to be done about a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A change that can be applied.
    Fix(Fix),
    /// The use is proven safe as it is; shown by `check --show-safe`.
    Safe(String),
    /// No fix: why not, and what to do by hand.
    Manual(String),
}

/// One place a rule has something to say about.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The file.
    pub file: FileId,
    /// The bytes the message is about.
    pub span: ByteSpan,
    /// The enclosing function.
    pub function: Option<String>,
    /// The C-API call it is about, for the statistics by call.
    pub api: Option<&'static str>,
    /// What is true of this place: lower case, no full stop, C names in backticks.
    pub message: String,
    /// Steps that lead to the problem, in order, for the report.
    pub notes: Vec<Note>,
    /// What to do.
    pub outcome: Outcome,
}

impl Finding {
    /// The file, and the name of the function that it is in.
    #[must_use]
    pub fn place(&self) -> (FileId, Option<&str>) {
        (self.file, self.function.as_deref())
    }

    /// The change that can be applied, if there is one.
    #[must_use]
    pub const fn fix(&self) -> Option<&Fix> {
        match &self.outcome {
            Outcome::Fix(fix) => Some(fix),
            Outcome::Safe(_) | Outcome::Manual(_) => None,
        }
    }
}

/// A further place that explains a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The file.
    pub file: FileId,
    /// The bytes.
    pub span: ByteSpan,
    /// What is true there.
    pub text: String,
}
