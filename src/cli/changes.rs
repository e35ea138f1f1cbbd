//! What merged fixes make of the files.

use super::args::GuardArgs;
use super::session::Session;
use super::vcs::{Refusal, check_clean};
use crate::diff::{FileChange, FileMode};
use crate::edit::{EditSet, Fix, apply};
use crate::engine::NewFile;
use crate::source::FileId;

/// The changes of a run, not yet written.
pub(super) struct Changes {
    /// Files that change, with their new bytes, in order of their paths.
    changed: Vec<(FileId, Vec<u8>)>,
    /// Files that come with them.
    new_files: Vec<NewFile>,
}

impl Changes {
    /// What `edits`, merged from `fixes`, make of the files of `session`.
    pub(super) fn new<'f>(
        session: &Session,
        edits: &EditSet,
        fixes: impl IntoIterator<Item = &'f Fix> + Clone,
    ) -> Self {
        let files = &session.package.files;
        let apply_to = |id| (id, apply(files.get(id).bytes(), edits.edits(id)).bytes);
        let new_files = session.analysis.new_files.iter();
        Self {
            changed: edits.files().map(apply_to).collect(),
            new_files: new_files
                .filter_map(|file| file.of(fixes.clone()))
                .collect(),
        }
    }

    pub(super) fn new_files(&self) -> &[NewFile] {
        &self.new_files
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }

    /// Each file with its bytes before and after.
    pub(super) fn list<'a>(&'a self, session: &'a Session) -> Vec<FileChange<'a>> {
        let change = |(id, new): &'a (FileId, Vec<u8>)| {
            let file = session.package.files.get(*id);
            FileChange {
                path: file.path(),
                old: Some(file.bytes()),
                new,
                mode: session.package.info(*id).mode,
            }
        };
        let new_files = self.new_files.iter().map(|file| FileChange {
            path: &file.path,
            old: None,
            new: &file.bytes,
            mode: FileMode::Regular,
        });
        self.changed.iter().map(change).chain(new_files).collect()
    }
}

/// Checks that git could bring back what `changes` write over.
pub(super) fn guard(
    session: &Session,
    args: GuardArgs,
    changes: &[FileChange<'_>],
) -> Result<(), Refusal> {
    let paths: Vec<_> = changes.iter().map(|change| change.path).collect();
    let repository = session.roots.repository.as_deref();
    match (repository, args.allow_dirty, args.allow_no_vcs) {
        (None, _, true) | (Some(_), true, _) => Ok(()),
        (repository, _, _) => check_clean(repository, &paths),
    }
}
