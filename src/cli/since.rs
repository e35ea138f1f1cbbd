//! What changed since a commit.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, anyhow};

use super::git;
use super::session::Session;
use crate::diff::changed_lines;
use crate::engine::lines_of;
use crate::review::Items;
use crate::rule::Finding;
use crate::source::FileId;

/// What differs from a commit in the files of the working tree.
pub(super) struct Since<'a> {
    session: &'a Session,
    files: BTreeMap<FileId, Changed>,
}

/// What changed in one file.
struct Changed {
    /// First and last line of each change, from 1, in order.
    lines: Vec<(u32, u32)>,
    items: Items,
}

impl<'a> Since<'a> {
    /// Compares `files` with the commit `revision`.
    ///
    /// # Errors
    /// If there is no repository, or it has no such commit.
    pub(super) fn new(
        session: &'a Session,
        revision: &str,
        files: BTreeSet<FileId>,
    ) -> anyhow::Result<Self> {
        let repository = session.roots.repository.as_deref();
        let repository = repository.context("`--since` needs a git repository")?;
        let name = format!("{revision}^{{commit}}");
        let arguments = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &name,
        ];
        let commit = git::output(repository, arguments)
            .map_err(|_| anyhow!("`--since`: git does not know the commit `{revision}`"))?;
        let commit = String::from_utf8_lossy(&commit).trim().to_owned();
        let changed = files.into_iter().map(|file| {
            let source = session.package.files.get(file);
            let old = content(repository, &commit, source.path())?;
            let changed = Changed {
                lines: changed_lines(&old, source.bytes()),
                items: Items::new(source),
            };
            Ok((file, changed))
        });
        Ok(Self {
            session,
            files: changed.collect::<anyhow::Result<_>>()?,
        })
    }

    /// Whether something in the function or declaration around `finding` changed.
    pub(super) fn touches(&self, finding: &Finding) -> bool {
        let source = self.session.package.files.get(finding.file);
        let Some(changed) = self.files.get(&finding.file) else {
            return false;
        };
        let item = changed.items.span(changed.items.around(finding.span));
        let (first, last) = lines_of(source, item.join(finding.span));
        let meets = |&(from, to): &(u32, u32)| from <= last.0 && first.0 <= to;
        changed.lines.iter().any(meets)
    }
}

/// The bytes of a file in a commit; empty if the commit does not have it, so that all of its lines
/// are new.
fn content(repository: &Path, commit: &str, path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut object = OsString::from(format!("{commit}:"));
    object.push(path);
    let ask = |what: &str| git::output(repository, ["cat-file".as_ref(), what.as_ref(), &*object]);
    if ask("-e").is_err() {
        return Ok(Vec::new());
    }
    ask("blob").map_err(|error| anyhow!("cannot ask git for the old `{}`: {error}", path.display()))
}
