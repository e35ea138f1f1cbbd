//! Serves what fixes need beside their own edits: the compatibility header and its `#include`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use memchr::memmem;
use rustc_hash::FxHashSet;

use super::workspace::Workspace;
use super::{Compat, Config};
use crate::compat::{self, HEADER_NAME, Target};
use crate::edit::{Edit, Fix, Need};
use crate::package::Package;
use crate::rule::{Finding, Outcome};
use crate::source::{ByteSpan, FileId};

/// A file that is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Its path, relative to the root of the run.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The header that serves the run.
enum Header {
    /// `pythoncapi_compat.h` of the package: never edited.
    Full(FileId),
    /// A header that an earlier run wrote, and its new text.
    Own(FileId, String),
    /// A header to be written.
    New(NewFile),
}

/// Adds to each fix the edits that its needs ask for; gives the file to be written, if any.
pub(super) fn serve(
    package: &Package,
    config: &Config,
    workspace: &Workspace,
    findings: &mut [Finding],
) -> Option<NewFile> {
    if config.compat == Compat::None {
        return None;
    }
    // `--compat header` serves Pythons older than those the package says it supports.
    let oldest = match config.compat {
        Compat::Header => 0,
        Compat::Auto | Compat::None => workspace.range.min,
    };
    let mut functions = BTreeSet::new();
    let mut files = BTreeSet::new();
    for (file, function) in findings
        .iter()
        .filter_map(fix_of)
        .flat_map(|fix| needs(fix, oldest))
    {
        files.insert(file);
        functions.insert(function);
    }
    let full = full_header(package, &functions);
    let rest: BTreeSet<&str> = match &full {
        Some(full) => functions.difference(&full.functions).copied().collect(),
        None => functions,
    };
    let own = (!rest.is_empty()).then(|| Served {
        header: own_header(package, &rest, &files),
        functions: rest,
    });
    let served: Vec<Served> = full.into_iter().chain(own).collect();
    for finding in findings.iter_mut() {
        if let Outcome::Fix(fix) = &mut finding.outcome {
            for served in &served {
                add_edits(workspace, oldest, fix, served);
            }
        }
    }
    served.into_iter().find_map(|served| match served.header {
        Header::New(file) => Some(file),
        Header::Full(_) | Header::Own(..) => None,
    })
}

/// A header and the functions that come from it.
struct Served {
    header: Header,
    functions: BTreeSet<&'static str>,
}

/// The package's own `pythoncapi_compat.h` with those of `functions` that it can have: of the
/// mutexes it knows nothing.
fn full_header(package: &Package, functions: &BTreeSet<&'static str>) -> Option<Served> {
    let id = package.compat_header?;
    let known = functions.iter().filter(|name| **name != "PyMutex");
    let functions: BTreeSet<&str> = known.copied().collect();
    (!functions.is_empty()).then_some(Served {
        header: Header::Full(id),
        functions,
    })
}

fn fix_of(finding: &Finding) -> Option<&Fix> {
    match &finding.outcome {
        Outcome::Fix(fix) => Some(fix),
        Outcome::Safe(_) | Outcome::Manual(_) => None,
    }
}

/// Files and functions of the needs that the supported Pythons make real.
fn needs(fix: &Fix, oldest: u32) -> impl Iterator<Item = (FileId, &'static str)> {
    fix.needs.iter().filter_map(move |need| {
        let Need::Compat { file, function } = need;
        compat::is_needed(function, oldest).then_some((*file, *function))
    })
}

fn own_header(package: &Package, functions: &BTreeSet<&str>, files: &BTreeSet<FileId>) -> Header {
    let own = package
        .files
        .iter()
        .find(|(_, file)| file.path().ends_with(HEADER_NAME));
    if let Some((id, file)) = own {
        let text = String::from_utf8_lossy(file.bytes());
        let all = functions
            .iter()
            .copied()
            .chain(compat::provided(&text))
            .collect();
        return Header::Own(id, compat::header(&all));
    }
    let folders = files
        .iter()
        .map(|id| package.files.get(*id).path().parent());
    let folder = folders
        .map(|folder| folder.unwrap_or(Path::new("")))
        .reduce(shared_folder);
    let path = folder.unwrap_or(Path::new("")).join(HEADER_NAME);
    Header::New(NewFile {
        path,
        bytes: compat::header(functions).into_bytes(),
    })
}

fn shared_folder<'p>(left: &'p Path, right: &'p Path) -> &'p Path {
    left.ancestors()
        .find(|folder| right.starts_with(folder))
        .unwrap_or(Path::new(""))
}

fn add_edits(workspace: &Workspace, oldest: u32, fix: &mut Fix, served: &Served) {
    let header = &served.header;
    let own = needs(fix, oldest).filter(|(_, function)| served.functions.contains(function));
    let (files, functions): (BTreeSet<FileId>, BTreeSet<&str>) = own.unzip();
    if let Header::Full(header) = header {
        let header = workspace.files.get(*header);
        let is_missing = |name: &&&str| memmem::find(header.bytes(), name.as_bytes()).is_none();
        if let Some(name) = functions.iter().find(is_missing) {
            let path = header.path().display();
            fix.assume(format!(
                "`{path}` is too old: it lacks `{name}`; put a newer one there"
            ));
        }
    }
    for id in files {
        if let Header::Own(own, text) = header {
            let old = workspace.files.get(*own);
            if old.bytes() != text.as_bytes() {
                let end = u32::try_from(old.bytes().len()).expect("files fit");
                fix.replace(*own, ByteSpan::new(0, end), text.as_bytes());
            }
        }
        match include(workspace, id, header) {
            Some(Some(edit)) => fix.edits.push(edit),
            Some(None) => fix.assume(format!(
                "`{}` must be included behind `Python.h`",
                path(workspace, header).display()
            )),
            None => {}
        }
    }
    // Stable: insertions at one place keep the order in which the rule made them.
    fix.edits.sort_by_key(|edit| (edit.file, edit.span));
}

/// The edit that includes the header in `id`: `None` if it does already, `Some(None)` if there is
/// no place for it.
fn include(workspace: &Workspace, id: FileId, header: &Header) -> Option<Option<Edit>> {
    if let Header::Full(header) | Header::Own(header, _) = header {
        let mut reached = FxHashSet::default();
        workspace.includes.reach(id, &mut reached);
        if reached.contains(header) {
            return None;
        }
    }
    let target = Target {
        path: path(workspace, header),
        spelling: None,
    };
    let tokens = workspace.index[id.index()].tokens();
    Some(compat::include_edit(
        id,
        workspace.files.get(id),
        tokens,
        target,
    ))
}

fn path<'h>(workspace: &'h Workspace, header: &'h Header) -> &'h Path {
    match header {
        Header::Full(id) | Header::Own(id, _) => workspace.files.get(*id).path(),
        Header::New(file) => &file.path,
    }
}
