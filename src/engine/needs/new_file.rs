//! The compatibility headers that a run adds: a copy of the one that the user points at, and one
//! with just what the chosen fixes use and no other header has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Wanted;
use crate::compat::{self, Style};
use crate::edit::{Fix, Need};

/// A file that is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Its path, relative to the root of the run.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
    contents: Contents,
}

impl NewFile {
    pub(super) fn new(path: PathBuf, contents: Contents) -> Self {
        Self {
            bytes: contents.bytes(&path),
            path,
            contents,
        }
    }

    /// The file as far as `fixes` use it: what only the other fixes of the run need stays out.
    /// `None` if they use nothing of it.
    #[must_use]
    pub fn of<'f>(&self, fixes: impl IntoIterator<Item = &'f Fix>) -> Option<Self> {
        let needs = fixes.into_iter().flat_map(|fix| &fix.needs);
        let needs = needs.map(|Need::Compat { file, function }| (*file, *function));
        let contents = Contents {
            wanted: needs
                .filter(|need| self.contents.wanted.contains(need))
                .collect(),
            ..self.contents.clone()
        };
        (!contents.wanted.is_empty()).then(|| Self::new(self.path.clone(), contents))
    }

    /// The file that it is a copy of.
    #[must_use]
    pub fn copied_from(&self) -> Option<&Path> {
        match &self.contents.text {
            Text::Copy { from, .. } => Some(from),
            Text::Written { .. } => None,
        }
    }
}

/// What a header is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Contents {
    /// Who uses which function of it.
    pub wanted: BTreeSet<Wanted>,
    pub text: Text,
}

/// Where the text of a header comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Text {
    /// A file that the user points at, with the notice of its licence.
    Copy { from: PathBuf, bytes: Vec<u8> },
    /// From what stands for each function.
    Written {
        /// How it includes the header that it completes.
        full: Option<String>,
        /// The functions that this one has.
        given: BTreeSet<&'static str>,
        /// Whether it is compiled for the limited API.
        limited: bool,
    },
}

impl Contents {
    fn bytes(&self, path: &Path) -> Vec<u8> {
        match &self.text {
            Text::Copy { bytes, .. } => bytes.clone(),
            Text::Written { .. } => self.text(path, &BTreeSet::new()).into_bytes(),
        }
    }

    /// The written header at `path`, and the functions `kept`.
    pub(super) fn text(&self, path: &Path, kept: &BTreeSet<&'static str>) -> String {
        let Text::Written {
            full,
            given,
            limited,
        } = &self.text
        else {
            return String::new();
        };
        let functions = self.wanted.iter().map(|need| need.1).collect();
        let mut functions = compat::with_uses(&functions);
        functions.retain(|name| !given.contains(name));
        functions.extend(kept);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let style = Style {
            stem: &stem,
            full: full.as_deref(),
            limited: *limited,
        };
        compat::header(&functions, style)
    }
}
