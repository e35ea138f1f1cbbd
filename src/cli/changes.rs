//! What merged fixes make of the files.

use std::collections::BTreeSet;

use super::args::GuardArgs;
use super::session::Session;
use super::talk::counted;
use super::vcs::{Refusal, check_clean};
use crate::diff::{FileChange, FileMode};
use crate::edit::{EditSet, Fix, apply};
use crate::engine::{NewFile, Origin};
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

    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }

    /// Where older Pythons get what `fixes` use of newer ones, a line for each place. A header that
    /// the sources include and a source distribution leaves out breaks every install from it.
    pub(super) fn about_older_pythons<'f>(
        &self,
        session: &Session,
        fixes: impl IntoIterator<Item = &'f Fix>,
    ) -> Vec<String> {
        let mut lines: Vec<String> = self.new_files.iter().map(about_new_file).collect();
        let (mut files, mut reason) = (BTreeSet::new(), None);
        for (origin, needs) in session.analysis.origins.of(fixes) {
            match origin {
                Origin::Header(path) => lines.push(format!(
                    "Functions of newer Pythons that the changes call are defined in `{}`",
                    path.display()
                )),
                Origin::Grown(path) => lines.push(format!(
                    "Functions of newer Pythons that the changes call are added to `{}`, which \
                     already defines such functions",
                    path.display()
                )),
                Origin::InFile { why } => {
                    files.extend(needs.iter().map(|need| need.0));
                    reason.get_or_insert(why);
                }
            }
        }
        if let Some(reason) = reason {
            lines.push(format!(
                "Functions of newer Pythons that the changes call are defined in {}, not in a \
                 new header, which would need a confirmation first: {reason}",
                counted(files.len(), "file that calls them", "files that call them")
            ));
        }
        lines
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

fn about_new_file(file: &NewFile) -> String {
    let path = file.path.display();
    let from = match file.copied_from() {
        Some(from) => format!("a copy of `{}`", from.display()),
        None => "which defines functions of newer Pythons that the changes call".to_owned(),
    };
    format!(
        "New file: `{path}`, {from}. The sources do not compile without it: commit it, and \
         include it in your source distribution"
    )
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
