//! Which header gives a file the functions that old Pythons lack: one that the user points at, or
//! the package's own `pythoncapi_compat.h`, as far as these have them, else a small one of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::new_file::{Contents, NewFile, Text};
use super::stock::Stock;
use super::{Header, Wanted};
use crate::compat::{self, HEADER_NAME};
use crate::source::FileId;

/// The headers of a run.
pub(super) struct Supply {
    /// Those with all newer functions, and what each gives to whom.
    full: Vec<(Header, BTreeSet<Wanted>)>,
    /// Ours, for all the rest.
    own: Option<Header>,
    /// The place in `full` of the header that ours includes.
    behind: Option<usize>,
}

impl Supply {
    pub(super) fn new(stock: &Stock<'_>, wanted: &BTreeSet<Wanted>) -> Self {
        let mut full: BTreeMap<Source, BTreeSet<Wanted>> = BTreeMap::new();
        let mut rest = wanted.clone();
        for file in wanted.iter().map(|need| need.0).collect::<BTreeSet<_>>() {
            let own = wanted.iter().filter(|need| need.0 == file);
            for (source, given) in stock.sources(file, own) {
                rest.retain(|need| !given.contains(need));
                full.entry(source).or_default().extend(given);
            }
        }
        let completed = stock.completed(&rest, full.keys());
        let sources: Vec<Source> = full.keys().cloned().collect();
        let mut full: Vec<(Header, BTreeSet<Wanted>)> = full
            .into_iter()
            .map(|(source, given)| (stock.header(&source, &given, wanted), given))
            .collect();
        let behind = completed.as_ref().map(|source| {
            let at = sources.iter().position(|other| other == source);
            at.unwrap_or_else(|| {
                let header = stock.header(source, &rest, wanted);
                full.push((header, BTreeSet::new()));
                full.len() - 1
            })
        });
        let own = (!rest.is_empty()).then(|| {
            let behind = behind.map(|at| &full[at].0);
            own_header(stock, &rest, completed.as_ref(), behind)
        });
        Self { full, own, behind }
    }

    /// The headers that serve `wanted`, and the files to include them in.
    pub(super) fn of(&self, wanted: &BTreeSet<Wanted>) -> Vec<(&Header, BTreeSet<FileId>)> {
        let mut rest = wanted.clone();
        for (_, given) in &self.full {
            rest.retain(|need| !given.contains(need));
        }
        let by_own: BTreeSet<FileId> = rest.iter().map(|need| need.0).collect();
        let full = self.full.iter().enumerate().map(|(at, (header, given))| {
            let files = wanted.intersection(given).map(|need| need.0);
            // Ours brings the one that it is behind.
            let brought = |file: &FileId| self.behind == Some(at) && by_own.contains(file);
            (header, files.filter(|file| !brought(file)).collect())
        });
        let mut served: Vec<(&Header, BTreeSet<FileId>)> = full.collect();
        if let Some(own) = &self.own {
            served.push((own, by_own));
        }
        served
    }

    /// The headers to be written.
    pub(super) fn new_files(self) -> Vec<NewFile> {
        let headers = self.full.into_iter().map(|full| full.0).chain(self.own);
        let new = headers.filter_map(|header| match header {
            Header::New(file) => Some(file),
            Header::Full(_) | Header::Unseen { .. } | Header::Own(..) => None,
        });
        new.collect()
    }
}

/// Where functions may come from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// A header of the package.
    There(FileId),
    /// A header that files of the package include as this, and that is not there: part of a
    /// submodule that is not checked out.
    Unseen(String),
    /// One that the user points at outside of the package.
    Copy,
}

/// Ours for `rest`, which completes `behind`.
fn own_header(
    stock: &Stock<'_>,
    rest: &BTreeSet<Wanted>,
    completed: Option<&Source>,
    behind: Option<&Header>,
) -> Header {
    let existing = stock.existing();
    let folder = match existing {
        Some((_, path)) => path.parent().unwrap_or(Path::new("")).to_path_buf(),
        None => stock.folder_of(rest),
    };
    let functions = rest.iter().map(|need| need.1).collect();
    let mut given = compat::with_uses(&functions);
    given.retain(|name| completed.is_some_and(|source| stock.gives(source, name)));
    let full = behind.map(|header| match header {
        Header::Unseen { operand, .. } => operand.clone(),
        other => compat::relative(&folder, other.path(stock.workspace)),
    });
    let contents = Contents {
        wanted: rest.clone(),
        text: Text::Written {
            full,
            given,
            limited: stock.limited,
        },
    };
    match existing {
        Some((id, path)) => {
            let old = String::from_utf8_lossy(stock.workspace.files.get(id).bytes());
            Header::Own(id, contents.text(path, &compat::provided(&old)))
        }
        None => Header::New(NewFile::new(
            stock.free_name(&folder, name(stock)),
            contents,
        )),
    }
}

fn name<'s>(stock: &'s Stock<'_>) -> &'s str {
    stock.config.compat_name.as_deref().unwrap_or(HEADER_NAME)
}

/// A copy of the header that the user points at, for `given`.
pub(super) fn copy(
    stock: &Stock<'_>,
    given: &BTreeSet<Wanted>,
    all: &BTreeSet<Wanted>,
) -> Option<Header> {
    let header = stock.config.compat_header.as_ref()?;
    let name = PathBuf::from(header.path.file_name()?);
    let contents = Contents {
        // What ours completes comes with it.
        wanted: if given.is_empty() { all } else { given }.clone(),
        text: Text::Copy {
            from: header.path.clone(),
            bytes: header.bytes.clone(),
        },
    };
    let path = stock.folder_of(all).join(name);
    Some(Header::New(NewFile::new(path, contents)))
}
