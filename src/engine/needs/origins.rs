//! What a run says of where newer functions come from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::supply::Supply;
use super::{Header, Wanted};
use crate::edit::{Fix, Need};
use crate::engine::workspace::Workspace;

/// Where the functions come from that a run's fixes use and that not all supported Pythons have;
/// those of new files tell of themselves.
#[derive(Debug, Default)]
pub struct Origins {
    by_need: BTreeMap<Wanted, Origin>,
}

/// Where a function comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A header of the package, as it is.
    Header(PathBuf),
    /// It is written into a header of the package.
    Grown(PathBuf),
    /// It is written into the file that calls it.
    InFile {
        /// Why there is no header for it.
        why: String,
    },
}

impl Origins {
    /// Each origin of what `fixes` use, and the functions from there.
    #[must_use]
    pub fn of<'f>(
        &self,
        fixes: impl IntoIterator<Item = &'f Fix>,
    ) -> BTreeMap<&Origin, BTreeSet<Wanted>> {
        let needs = fixes.into_iter().flat_map(|fix| &fix.needs);
        let mut found: BTreeMap<&Origin, BTreeSet<Wanted>> = BTreeMap::new();
        for Need::Compat { file, function } in needs {
            let need = (*file, *function);
            if let Some(origin) = self.by_need.get(&need) {
                found.entry(origin).or_default().insert(need);
            }
        }
        found
    }
}

impl Supply {
    pub(super) fn origins(&self, workspace: &Workspace) -> Origins {
        let path = |header: &Header| -> PathBuf { Path::to_path_buf(header.path(workspace)) };
        let origin = |header: &Header| match header {
            Header::Full(_) | Header::Unseen { .. } => Some(Origin::Header(path(header))),
            Header::Grown(_) => Some(Origin::Grown(path(header))),
            Header::InFile(why) => Some(Origin::InFile { why: why.clone() }),
            Header::Own(..) | Header::New(_) => None,
        };
        let by_need = self.shares().iter().filter_map(|(header, given)| {
            let origin = origin(header)?;
            Some(given.iter().map(move |need| (*need, origin.clone())))
        });
        Origins {
            by_need: by_need.flatten().collect(),
        }
    }
}
