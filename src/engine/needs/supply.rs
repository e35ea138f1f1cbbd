//! Which header gives a file the functions that old Pythons lack: the package's own
//! `pythoncapi_compat.h` as far as that has them, else a small one of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustc_hash::FxHashSet;

use super::new_file::{Contents, NewFile};
use super::{Header, Wanted};
use crate::compat::{self, HEADER_NAME, Target};
use crate::engine::workspace::Workspace;
use crate::package::Package;
use crate::source::FileId;

/// The headers of a run.
pub(super) struct Supply {
    /// Those of the package, and what each gives to whom.
    full: BTreeMap<FileId, (Header, BTreeSet<Wanted>)>,
    /// Ours, for all the rest.
    own: Option<Header>,
    /// The header of the package that ours includes.
    behind: Option<FileId>,
}

impl Supply {
    pub(super) fn new(
        package: &Package,
        workspace: &Workspace,
        target: Target,
        wanted: &BTreeSet<Wanted>,
    ) -> Self {
        let stock = Stock {
            package,
            workspace,
            limited: target.limited,
        };
        let mut full: BTreeMap<FileId, (Header, BTreeSet<Wanted>)> = BTreeMap::new();
        let mut rest = wanted.clone();
        for file in wanted.iter().map(|need| need.0).collect::<BTreeSet<_>>() {
            let own = wanted.iter().filter(|need| need.0 == file);
            let Some((header, given)) = stock.full_header(file, own) else {
                continue;
            };
            rest.retain(|need| !given.contains(need));
            let of = full
                .entry(header)
                .or_insert((Header::Full(header), BTreeSet::new()));
            of.1.extend(given);
        }
        let behind = stock.behind(&rest);
        let own = (!rest.is_empty()).then(|| stock.own_header(&rest, behind));
        Self { full, own, behind }
    }

    /// The headers that serve `wanted`, and the files to include them in.
    pub(super) fn of(&self, wanted: &BTreeSet<Wanted>) -> Vec<(&Header, BTreeSet<FileId>)> {
        let mut rest = wanted.clone();
        for (_, given) in self.full.values() {
            rest.retain(|need| !given.contains(need));
        }
        let by_own: BTreeSet<FileId> = rest.iter().map(|need| need.0).collect();
        let full = self.full.iter().map(|(id, (header, given))| {
            let files = wanted.intersection(given).map(|need| need.0);
            // Ours brings the one that it is behind.
            let brought = |file: &FileId| self.behind == Some(*id) && by_own.contains(file);
            (header, files.filter(|file| !brought(file)).collect())
        });
        let mut served: Vec<(&Header, BTreeSet<FileId>)> = full.collect();
        if let Some(own) = &self.own {
            served.push((own, by_own));
        }
        served
    }

    /// The header to be written, if there is one.
    pub(super) fn new_file(self) -> Option<NewFile> {
        match self.own? {
            Header::New(file) => Some(file),
            Header::Full(_) | Header::Own(..) => None,
        }
    }
}

/// The headers that are there.
struct Stock<'a> {
    package: &'a Package,
    workspace: &'a Workspace,
    /// Whether the package is compiled for the limited API.
    limited: bool,
}

impl Stock<'_> {
    /// The `pythoncapi_compat.h` for `file`, and what it gives of `wanted`: the one that the
    /// file's units include, else the nearest if that gives all.
    fn full_header<'w>(
        &self,
        file: FileId,
        wanted: impl Iterator<Item = &'w Wanted> + Clone,
    ) -> Option<(FileId, BTreeSet<Wanted>)> {
        let given = |header| {
            let given = wanted.clone().filter(|need| self.has(header, need.1));
            given.copied().collect()
        };
        if let Some(header) = self.included_header(file) {
            return Some((header, given(header)));
        }
        let header = self.nearest_header(file)?;
        let all = wanted.clone().all(|need| self.has(header, need.1));
        all.then(|| (header, given(header)))
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

    /// The first `pythoncapi_compat.h` that `file` includes, or one that it is included by.
    fn included_header(&self, file: FileId) -> Option<FileId> {
        let includes = &self.workspace.includes;
        let mut units = FxHashSet::default();
        let mut reached = FxHashSet::default();
        let mut waiting = vec![file];
        while let Some(unit) = waiting.pop() {
            if units.insert(unit) {
                includes.reach(unit, &mut reached);
                waiting.extend(includes.includers(unit).iter().map(|by| by.file));
            }
        }
        let mut headers = self.package.compat_headers.iter().copied();
        headers.find(|header| reached.contains(header))
    }

    /// Whether `header` defines `function` for some Python.
    fn has(&self, header: FileId, function: &str) -> bool {
        let mut words =
            self.workspace.index[header.index()].identifiers(self.workspace.files.get(header));
        words.any(|word| word == function.as_bytes())
    }

    /// The package's only `pythoncapi_compat.h`, if our header stands beside it in some unit: it
    /// may get in an update what it lacks, so ours must include it first.
    fn behind(&self, rest: &BTreeSet<Wanted>) -> Option<FileId> {
        let [only] = self.package.compat_headers[..] else {
            return None;
        };
        let own = self.existing().map(|(id, _)| id);
        let mut files = rest.iter().map(|need| need.0).chain(own);
        files
            .any(|file| self.included_header(file).is_some())
            .then_some(only)
    }

    /// The header that an earlier run wrote.
    fn existing(&self) -> Option<(FileId, &Path)> {
        let mut files = self.package.files.iter();
        files.find_map(|(id, file)| {
            file.path()
                .ends_with(HEADER_NAME)
                .then(|| (id, file.path()))
        })
    }

    fn own_header(&self, rest: &BTreeSet<Wanted>, behind: Option<FileId>) -> Header {
        let existing = self.existing();
        let folder = match existing {
            Some((_, path)) => path.parent().unwrap_or(Path::new("")),
            None => self.folder_of(rest),
        };
        let contents = self.contents(rest, behind, folder);
        match existing {
            Some((id, _)) => {
                let old = String::from_utf8_lossy(self.workspace.files.get(id).bytes());
                Header::Own(id, contents.text(rest, &compat::provided(&old)))
            }
            None => Header::New(NewFile::new(folder.join(HEADER_NAME), contents)),
        }
    }

    /// The folder that all files of `wanted` share.
    fn folder_of(&self, wanted: &BTreeSet<Wanted>) -> &Path {
        let folder = |need: &Wanted| self.workspace.files.get(need.0).path().parent();
        let folders = wanted
            .iter()
            .map(|need| folder(need).unwrap_or(Path::new("")));
        folders.reduce(shared_folder).unwrap_or(Path::new(""))
    }

    /// What a header of ours in `folder` is made from.
    fn contents(
        &self,
        wanted: &BTreeSet<Wanted>,
        behind: Option<FileId>,
        folder: &Path,
    ) -> Contents {
        let functions = wanted.iter().map(|need| need.1).collect();
        let mut given = compat::with_uses(&functions);
        given.retain(|name| behind.is_some_and(|header| self.has(header, name)));
        let full = behind.map(|id| self.workspace.files.get(id).path());
        Contents {
            wanted: wanted.clone(),
            full: full.map(|header| compat::relative(folder, header)),
            given,
            limited: self.limited,
        }
    }
}

fn shared_folder<'p>(left: &'p Path, right: &'p Path) -> &'p Path {
    left.ancestors()
        .find(|folder| right.starts_with(folder))
        .unwrap_or(Path::new(""))
}
