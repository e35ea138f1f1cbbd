//! Headers with which a package makes up for older Pythons under a name of its own. What they lack
//! is written into them: no build has to know of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::Header;
use super::defined::Defined;
use super::packing::Packing;
use super::place::Placer;
use super::stock::Stock;
use crate::compat;
use crate::engine::installed::is_installed;
use crate::package::FileKind;
use crate::source::{ByteOffset, FileId};

/// Most lines of such a header: longer ones are for something else as well.
const MOST_LINES: usize = 400;

/// What decides whether a version of Python is read.
const VERSIONS: [&[u8]; 3] = [b"PY_VERSION_HEX", b"PY_MAJOR_VERSION", b"PY_MINOR_VERSION"];

/// The header for each of `files` that includes one: of a folder the one that most include.
pub(super) fn grown(
    stock: &Stock<'_>,
    (packing, defined): (&Packing, &Defined<'_>),
    files: &BTreeSet<FileId>,
) -> BTreeMap<FileId, FileId> {
    let functions = compat::all_functions();
    // An earlier run may have written into it.
    let headers = candidates(stock, packing).filter(|id| defined.are_in(*id));
    let headers: Vec<FileId> = headers.collect();
    let serves = |header: FileId, file: FileId| {
        let header = Header::Grown(header);
        let placer = Placer {
            package: stock.package,
            workspace: stock.workspace,
            header: &header,
            functions: &functions,
            limited: stock.limited,
        };
        placer.edits(file, ByteOffset(u32::MAX)).is_some()
    };
    let folder = |id: FileId| stock.workspace.files.get(id).path().parent();
    let mut folders: BTreeMap<Option<&Path>, Vec<FileId>> = BTreeMap::new();
    for file in files {
        folders.entry(folder(*file)).or_default().push(*file);
    }
    let mut found = BTreeMap::new();
    for files in folders.values() {
        let served = |header: &FileId| -> Vec<FileId> {
            let mut served = files.clone();
            served.retain(|file| serves(*header, *file));
            served
        };
        let most = headers.iter().rev().map(|header| (served(header), *header));
        if let Some((served, header)) = most.max_by_key(|(served, _)| served.len()) {
            found.extend(served.into_iter().map(|file| (file, header)));
        }
    }
    found
}

fn candidates(stock: &Stock<'_>, packing: &Packing) -> impl Iterator<Item = FileId> {
    let workspace = stock.workspace;
    stock.package.analysed().filter_map(move |(id, file)| {
        let is_own = stock.package.info(id).kind == FileKind::Header
            && !is_installed(workspace, file.path())
            && !packing.copies(file.path());
        let lines = file.bytes().iter().filter(|byte| **byte == b'\n').count();
        let fits = is_own && lines <= MOST_LINES && workspace.includes.brings_python(id);
        (fits && is_for_older_pythons(stock, id)).then_some(id)
    })
}

/// Whether the header says so by its name, or defines what the C API has for some Python.
fn is_for_older_pythons(stock: &Stock<'_>, id: FileId) -> bool {
    let file = stock.workspace.files.get(id);
    let name = file
        .path()
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    if name.to_ascii_lowercase().contains("compat") {
        return true;
    }
    let index = &stock.workspace.index[id.index()];
    let mut words = index.identifiers(file);
    let defines_api = index.tokens().windows(2).any(|pair| {
        let text = |at: usize| file.slice(pair[at].span);
        text(0) == b"define" && text(1).starts_with(b"Py")
    });
    defines_api && words.any(|word| VERSIONS.contains(&word))
}
