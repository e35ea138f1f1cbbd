//! Where a file gets the functions that old Pythons lack: from a header that the user points at, or
//! the package's own `pythoncapi_compat.h`, as far as these have them; by what is written into
//! another compatibility header of the package, a small one of ours, or the file itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::defined::Defined;
use super::grown::grown;
use super::new_file::{Contents, NewFile, Text};
use super::ours::Ours;
use super::packing::Packing;
use super::stock::Stock;
use super::{Header, Wanted};
use crate::compat::{self, HEADER_NAME};
use crate::source::FileId;

/// The headers of a run.
pub(super) struct Supply {
    /// Each with what it gives to whom.
    shares: Vec<Share>,
    /// The place in `shares` of ours, and of the header that it includes.
    own: Option<usize>,
    behind: Option<usize>,
    /// What stands against ours, by the file that includes it.
    doubts: BTreeMap<FileId, Vec<String>>,
}

/// A header, and what it gives to whom.
pub(super) type Share = (Header, BTreeSet<Wanted>);

impl Supply {
    pub(super) fn new(
        stock: &Stock<'_>,
        (packing, defined): (&Packing, &Defined<'_>),
        wanted: &BTreeSet<Wanted>,
    ) -> Self {
        let mut full: BTreeMap<Source, BTreeSet<Wanted>> = BTreeMap::new();
        let mut rest = wanted.clone();
        for file in files(wanted) {
            let own = wanted.iter().filter(|need| need.0 == file);
            for (source, given) in stock.sources(file, own) {
                rest.retain(|need| !given.contains(need));
                full.entry(source).or_default().extend(given);
            }
        }
        let ours = Ours {
            stock,
            packing,
            defined,
        };
        let mut written = into_headers(&ours, &mut rest);
        let (in_files, mut doubts) = ours.divided(&mut rest);
        written.extend(in_files);
        let completed = stock.completed(&rest, full.keys());
        let sources: Vec<Source> = full.keys().cloned().collect();
        let header = |(source, given): (Source, BTreeSet<Wanted>)| {
            (stock.header(&source, &given, wanted), given)
        };
        let mut shares: Vec<Share> = full.into_iter().map(header).collect();
        ours.doubt_copies(&shares, &mut doubts);
        let behind = completed.as_ref().map(|source| {
            let at = sources.iter().position(|other| other == source);
            at.unwrap_or_else(|| {
                shares.push((stock.header(source, &rest, wanted), BTreeSet::new()));
                shares.len() - 1
            })
        });
        let own = (!rest.is_empty()).then(|| {
            let behind = behind.map(|at| &shares[at].0);
            let header = own_header(stock, &rest, completed.as_ref(), behind);
            shares.push((header, rest));
            shares.len() - 1
        });
        shares.extend(written);
        Self {
            shares,
            own,
            behind,
            doubts,
        }
    }

    /// The headers that serve `wanted`, and what each gives.
    pub(super) fn of(&self, wanted: &BTreeSet<Wanted>) -> Vec<(&Header, BTreeSet<Wanted>)> {
        let given = |at: usize| wanted.intersection(&self.shares[at].1).copied();
        let by_own: BTreeSet<FileId> = self
            .own
            .into_iter()
            .flat_map(given)
            .map(|need| need.0)
            .collect();
        let shares = self.shares.iter().enumerate().map(|(at, (header, _))| {
            // Ours brings the one that it is behind.
            let brought = |need: &Wanted| self.behind == Some(at) && by_own.contains(&need.0);
            (header, given(at).filter(|need| !brought(need)).collect())
        });
        shares.collect()
    }

    pub(super) fn shares(&self) -> &[Share] {
        &self.shares
    }

    /// What stands against `header` in `file`.
    pub(super) fn doubts(&self, header: &Header, file: FileId) -> &[String] {
        let is_ours = matches!(header, Header::New(_) | Header::Own(..));
        let doubts = self.doubts.get(&file).filter(|_| is_ours);
        doubts.map_or(&[], Vec::as_slice)
    }

    /// The headers to be written.
    pub(super) fn new_files(self) -> Vec<NewFile> {
        let headers = self.shares.into_iter().map(|share| share.0);
        let new = headers.filter_map(|header| match header {
            Header::New(file) => Some(file),
            _ => None,
        });
        new.collect()
    }
}

pub(super) fn files(wanted: &BTreeSet<Wanted>) -> BTreeSet<FileId> {
    wanted.iter().map(|need| need.0).collect()
}

/// Moves out of `rest` what goes into other compatibility headers of the package.
fn into_headers(ours: &Ours<'_>, rest: &mut BTreeSet<Wanted>) -> Vec<Share> {
    if ours.stock.existing().is_some() {
        return Vec::new();
    }
    let grown = grown(ours.stock, (ours.packing, ours.defined), &files(rest));
    let headers: BTreeSet<FileId> = grown.values().copied().collect();
    let shares = headers.into_iter().map(|header| {
        let given = taken(rest, |need| grown.get(&need.0) == Some(&header));
        (Header::Grown(header), given)
    });
    shares.collect()
}

/// Moves what `is_wanted` out of `rest`.
pub(super) fn taken(
    rest: &mut BTreeSet<Wanted>,
    is_wanted: impl Fn(&Wanted) -> bool,
) -> BTreeSet<Wanted> {
    let (taken, kept) = std::mem::take(rest).into_iter().partition(is_wanted);
    *rest = kept;
    taken
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
pub(super) fn own_header(
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
