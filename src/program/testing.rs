//! Programs from texts, for tests.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Demand, Options, Program, Reading, Unread, load};
use crate::capi::MODEL_H;
use crate::facts::Functions;
use crate::preprocess::{FileIndex, Includes, VersionRange};
use crate::source::{FileId, FileSet, SourceFile};

/// Gives `ask` the program of these files: all items, with the model of `<Python.h>`. Other files
/// than C are there and are not read.
pub(crate) fn with_program<T>(texts: &[(&str, &str)], ask: impl FnOnce(&Program<'_>) -> T) -> T {
    let mut files = FileSet::default();
    let mut add = |path: &str, text: &str| {
        files.add(SourceFile::new(
            PathBuf::from(path),
            text.as_bytes().to_vec(),
        ))
    };
    let mut roots = Vec::new();
    for (path, text) in texts {
        let id = add(path, text);
        let is_read = path.ends_with(".c") || path.ends_with(".h");
        roots.extend(is_read.then_some(id));
    }
    let before = vec![add("<Python.h>", MODEL_H)];
    let index: Vec<FileIndex> = files
        .iter()
        .map(|(id, file)| FileIndex::new(id, file))
        .collect();
    let includes = Includes::new(&files, &index, &[]);
    let reading = |id: FileId| match files.get(id).path().extension() {
        _ if roots.contains(&id) || before.contains(&id) => Reading::Read,
        Some(ending) if ending == "src" => Reading::Template,
        _ => Reading::Unread,
    };
    let unread = Arc::new(Unread::new(&files, &index, &includes, reading));
    let range = VersionRange {
        min: 0x0309_0000,
        max: 0x030F_00F0,
    };
    let options = Options {
        range,
        roots,
        before,
        demand: Demand::Everything,
        headers: false,
        facts: Functions::default(),
        unread,
        known: None,
    };
    ask(&load(&files, &index, &includes, &options))
}
