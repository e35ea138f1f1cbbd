//! Programs from texts, for tests.

use std::path::PathBuf;

use super::{Demand, Options, Program, load};
use crate::capi::MODEL_H;
use crate::facts::Functions;
use crate::preprocess::{FileIndex, Includes, VersionRange};
use crate::source::{FileSet, SourceFile};

/// Gives `ask` the program of these files: all items, with the model of `<Python.h>`.
pub(crate) fn with_program<T>(texts: &[(&str, &str)], ask: impl FnOnce(&Program<'_>) -> T) -> T {
    with_program_beside(texts, &[], ask)
}

/// The same with files that are not read, as templates.
pub(crate) fn with_program_beside<T>(
    texts: &[(&str, &str)],
    unread: &[(&str, &str)],
    ask: impl FnOnce(&Program<'_>) -> T,
) -> T {
    let mut files = FileSet::default();
    let mut add = |path: &str, text: &str| {
        files.add(SourceFile::new(
            PathBuf::from(path),
            text.as_bytes().to_vec(),
        ))
    };
    let roots = texts.iter().map(|(path, text)| add(path, text)).collect();
    for (path, text) in unread {
        add(path, text);
    }
    let before = vec![add("<Python.h>", MODEL_H)];
    let index: Vec<FileIndex> = files
        .iter()
        .map(|(id, file)| FileIndex::new(id, file))
        .collect();
    let includes = Includes::new(&files, &index, &[]);
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
        known: None,
    };
    ask(&load(&files, &index, &includes, &options))
}
