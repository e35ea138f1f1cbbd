//! The compatibility headers that are there, and the folders that one may stand in.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::defined::in_units;
use super::supply::{Source, copy};
use super::{Header, Wanted};
use crate::capi;
use crate::compat::{self, FULL_HEADER_NAME};
use crate::engine::Config;
use crate::engine::workspace::Workspace;
use crate::package::Package;
use crate::source::FileId;

/// The headers that are there.
pub(super) struct Stock<'a> {
    pub(super) package: &'a Package,
    pub(super) workspace: &'a Workspace,
    pub(super) config: &'a Config,
    /// Whether the package is compiled for the limited API.
    pub(super) limited: bool,
}

impl Stock<'_> {
    /// Where `file` gets what of `wanted`: from a header that its units include and that defines
    /// it, from the `pythoncapi_compat.h` that they include, else from the one that the user
    /// points at, or the nearest if that gives all.
    pub(super) fn sources<'w>(
        &self,
        file: FileId,
        wanted: impl Iterator<Item = &'w Wanted> + Clone,
    ) -> Vec<(Source, BTreeSet<Wanted>)> {
        let source = match (self.included(file), self.pointed_at()) {
            (Some(source), _) => Some((source, false)),
            (None, Some(source)) if !self.limited => Some((source, false)),
            _ => self
                .nearest_header(file)
                .map(|header| (Source::There(header), true)),
        };
        let Some((source, must_give_all)) = source else {
            return Vec::new();
        };
        let given = wanted.clone().filter(|need| self.gives(&source, need.1));
        let given: BTreeSet<Wanted> = given.copied().collect();
        let fits = !must_give_all || wanted.clone().count() == given.len();
        if fits {
            vec![(source, given)]
        } else {
            Vec::new()
        }
    }

    /// Whether `source` defines `function` for some Python.
    pub(super) fn gives(&self, source: &Source, function: &str) -> bool {
        match source {
            Source::There(header) => self.has(*header, function),
            Source::Unseen(_) => compat::in_full(function),
            Source::Copy => self
                .config
                .compat_header
                .as_ref()
                .is_some_and(|header| crate::package::is_word_of(&header.bytes, function)),
        }
    }

    /// `source` as a header, of which a run uses `given`.
    pub(super) fn header(
        &self,
        source: &Source,
        given: &BTreeSet<Wanted>,
        all: &BTreeSet<Wanted>,
    ) -> Header {
        match source {
            Source::There(header) => Header::Full(*header),
            Source::Unseen(operand) => self.unseen(operand),
            Source::Copy => copy(self, given, all).unwrap_or_else(|| self.unseen(FULL_HEADER_NAME)),
        }
    }

    fn unseen(&self, operand: &str) -> Header {
        let missing = self.workspace.includes.missing().iter();
        let by = missing.filter(|missing| missing.name == *operand);
        Header::Unseen {
            operand: operand.to_owned(),
            by: by.map(|missing| missing.file).collect(),
        }
    }

    /// What the user points at: a header of the package, or one to be copied.
    fn pointed_at(&self) -> Option<Source> {
        let header = self.config.compat_header.as_ref()?;
        let inside = header.path.strip_prefix(&self.package.root).ok();
        let there = inside.and_then(|path| {
            let mut files = self.package.files.iter();
            files.find(|(_, file)| file.path() == path)
        });
        let there = there
            .map(|(id, _)| id)
            .or(self.package.compat_headers.first().copied());
        Some(there.map_or(Source::Copy, Source::There))
    }

    /// None for the limited API: such a header does not compile there.
    fn nearest_header(&self, file: FileId) -> Option<FileId> {
        if self.limited {
            return None;
        }
        let folder = |id| self.workspace.files.get(id).path().parent();
        let folder = |id| folder(id).unwrap_or(Path::new(""));
        let shared = |id| shared_folder(folder(file), folder(id)).components().count();
        let headers = self.package.compat_headers.iter().copied();
        headers.max_by_key(|id| (shared(*id), std::cmp::Reverse(*id)))
    }

    /// The first `pythoncapi_compat.h` that `file` includes, or one that it is included by. One
    /// that is not there counts for all files: it is the package's own all the same.
    pub(super) fn included(&self, file: FileId) -> Option<Source> {
        let includes = &self.workspace.includes;
        let reached = in_units(includes, file);
        let mut headers = self.package.compat_headers.iter().copied();
        if let Some(header) = headers.find(|header| reached.contains(header)) {
            return Some(Source::There(header));
        }
        let mut missing = includes.missing().iter();
        let unseen = missing.find(|missing| {
            let path = Path::new(&missing.name);
            path.ends_with(FULL_HEADER_NAME)
        });
        let is_needed = self.package.compat_headers.is_empty() && !self.limited;
        let unseen = unseen.filter(|_| is_needed && self.config.compat_header.is_none());
        unseen.map(|missing| Source::Unseen(missing.name.clone()))
    }

    /// Whether `header` defines `function` for some Python.
    fn has(&self, header: FileId, function: &str) -> bool {
        let file = self.workspace.files.get(header);
        let mut words = self.workspace.index[header.index()].identifiers(file);
        words.any(|word| word == function.as_bytes())
    }

    /// The full header that ours completes, if it stands beside it in some unit: it may get in an
    /// update what it lacks, so ours must include it first.
    pub(super) fn completed<'s>(
        &self,
        rest: &BTreeSet<Wanted>,
        mut used: impl Iterator<Item = &'s Source>,
    ) -> Option<Source> {
        if rest.is_empty() {
            return None;
        }
        if let Some(source) = self.pointed_at().filter(|_| !self.limited) {
            return Some(source);
        }
        if let Some(unseen) = used.find(|source| matches!(source, Source::Unseen(_))) {
            return Some(unseen.clone());
        }
        let [only] = self.package.compat_headers[..] else {
            return None;
        };
        let own = self.existing().map(|(id, _)| id);
        let mut files = rest.iter().map(|need| need.0).chain(own);
        files
            .any(|file| self.included(file).is_some())
            .then_some(Source::There(only))
    }

    /// The header that an earlier run wrote.
    pub(super) fn existing(&self) -> Option<(FileId, &Path)> {
        let mut files = self.package.files.iter();
        files.find_map(|(id, file)| {
            let is_header = file.path().extension().is_some_and(|ending| ending == "h");
            (is_header && capi::stands_in(file.bytes())).then(|| (id, file.path()))
        })
    }

    /// A path in `folder` for a header called `name`, which no file of the package has: one of that
    /// name elsewhere could be included in its place.
    pub(super) fn free_name(&self, folder: &Path, name: &str) -> PathBuf {
        let (stem, ending) = name.rsplit_once('.').unwrap_or((name, "h"));
        let numbered = (2..).map(|number| format!("{stem}{number}.{ending}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let is_taken = |name: &String| {
            let mut files = self.package.files.iter();
            files.any(|(_, file)| file.path().file_name().is_some_and(|own| *own == **name))
        };
        let free = names.find(|name| !is_taken(name));
        folder.join(free.unwrap_or_else(|| name.to_owned()))
    }

    /// The folder for a header that all files of `wanted` include: theirs; of several the one that
    /// they share, if C of the package stands there, or one that they all include headers of
    /// already; else the first.
    pub(super) fn folder_of(&self, wanted: &BTreeSet<Wanted>) -> PathBuf {
        let folder = |id: FileId| {
            let path = self.workspace.files.get(id).path();
            path.parent().unwrap_or(Path::new(""))
        };
        let files: BTreeSet<FileId> = wanted.iter().map(|need| need.0).collect();
        let folders: BTreeSet<&Path> = files.iter().map(|id| folder(*id)).collect();
        let shared = folders.iter().copied().reduce(shared_folder);
        let shared = shared.unwrap_or(Path::new(""));
        let has_code = self.package.analysed().any(|(id, _)| folder(id) == shared);
        if has_code {
            return shared.to_path_buf();
        }
        let included = |id: &FileId| -> BTreeSet<&Path> {
            let targets = self.workspace.includes.targets(*id).iter();
            targets
                .map(|to| folder(to.file))
                .chain([folder(*id)])
                .collect()
        };
        let common = files
            .iter()
            .map(included)
            .reduce(|one, other| &one & &other);
        let common = common.into_iter().flatten().next();
        let first = folders.into_iter().next().unwrap_or(shared);
        common.unwrap_or(first).to_path_buf()
    }
}

fn shared_folder<'p>(left: &'p Path, right: &'p Path) -> &'p Path {
    left.ancestors()
        .find(|folder| right.starts_with(folder))
        .unwrap_or(Path::new(""))
}
