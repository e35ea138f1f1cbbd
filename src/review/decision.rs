//! What a person decides, and how it is written down.

use serde::{Deserialize, Serialize};

use super::edited::Edited;

/// Names a fix: six letters, more if two fixes of a run would get the same six.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupId(pub String);

impl std::fmt::Display for GroupId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a person says of a fix.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Nothing yet.
    #[default]
    Undecided,
    /// It is to be written.
    Accepted,
    /// It is to be written, with this text in place of its own.
    Edited(Edited),
    /// The alternative with this title is to be written in its place.
    Alternative(String),
    /// It is not to be written; the reason is empty if none was given.
    Rejected(String),
    /// Put off: asked again when nothing else is left.
    Skipped,
}

impl Decision {
    /// Whether a person still has to say yes or no.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Undecided | Self::Skipped)
    }

    /// Whether it is to be written, in whatever form.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        *self == Self::Accepted || self.is_varied()
    }

    /// Whether it is to be written with another text.
    #[must_use]
    pub fn is_edited(&self) -> bool {
        matches!(self, Self::Edited(_))
    }

    /// Whether other changes than its own are to be written.
    #[must_use]
    pub fn is_varied(&self) -> bool {
        self.is_edited() || matches!(self, Self::Alternative(_))
    }

    /// One word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Undecided => "undecided",
            Self::Accepted | Self::Alternative(_) => "accepted",
            Self::Edited(_) => "edited",
            Self::Rejected(_) => "rejected",
            Self::Skipped => "skipped",
        }
    }
}

/// A fix as the records name it, so that a decision can still be shown when its fix is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The fix.
    pub id: GroupId,
    /// Code of its rule.
    pub rule: String,
    /// Path of its file with `/`, relative to the package's root.
    pub file: String,
    /// The function it stands in; empty outside of functions.
    pub function: String,
}

/// One step of a review, as a line of its journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "do")]
pub enum Record {
    /// All of these fixes got one decision; undone together.
    Decide {
        /// The decision.
        to: Decision,
        /// The fixes.
        groups: Vec<Mark>,
    },
    /// The last step was taken back.
    Undo,
    /// The step that was taken back last was made again.
    Redo,
    /// Accepted fixes went to their files.
    Written {
        /// The fixes.
        groups: Vec<GroupId>,
    },
    /// Fixes got other ids because a write changed the function around them.
    Renamed {
        /// Old and new id.
        groups: Vec<(GroupId, GroupId)>,
    },
}
