//! The compatibility header that a run writes, with just what the chosen fixes use.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Wanted;
use crate::compat;
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
        let bytes = contents.text(&contents.wanted, &BTreeSet::new());
        Self {
            bytes: bytes.into_bytes(),
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
}

/// What a header of ours is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Contents {
    /// Who uses which function of it.
    pub wanted: BTreeSet<Wanted>,
    /// How it includes the header of the package that it stands behind.
    pub full: Option<String>,
    /// The functions that this one has.
    pub given: BTreeSet<&'static str>,
    /// Whether it is compiled for the limited API.
    pub limited: bool,
}

impl Contents {
    /// The header for `wanted`, and for the functions `kept`.
    pub(super) fn text(&self, wanted: &BTreeSet<Wanted>, kept: &BTreeSet<&'static str>) -> String {
        let functions = wanted.iter().map(|need| need.1).collect();
        let mut functions = compat::with_uses(&functions);
        functions.retain(|name| !self.given.contains(name));
        functions.extend(kept);
        compat::header(&functions, self.full.as_deref(), self.limited)
    }
}
