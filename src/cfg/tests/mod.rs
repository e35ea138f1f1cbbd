//! Which C becomes which graph.

mod analyses;
mod expressions;
mod jumps;
mod long;
mod places;
mod points;
mod reach;
mod scopes;
mod statements;

use std::path::PathBuf;

use crate::ast::{Function, Item};
use crate::lower::parse_and_lower;
use crate::parse::TypeNames;
use crate::preprocess::{FileIndex, Includes, Interest, Sources, VersionRange, preprocess};
use crate::source::{FileSet, SourceFile};

use super::{Cfg, build, dump};

const RANGE: VersionRange = VersionRange {
    min: 0x0309_0000,
    max: 0x030F_00F0,
};

fn never_returns(name: &str) -> bool {
    matches!(name, "abort" | "Py_FatalError")
}

/// The function that `text` defines.
fn function(text: &str) -> Function {
    let mut files = FileSet::default();
    let root = files.add(SourceFile::new(PathBuf::from("test.c"), text.into()));
    let index: Vec<FileIndex> = files
        .iter()
        .map(|(id, file)| FileIndex::new(id, file))
        .collect();
    let includes = Includes::new(&files, &index, &[]);
    let sources = Sources {
        files: &files,
        index: &index,
        includes: &includes,
    };
    let unit = preprocess(sources, root, &[], RANGE, &Interest::default());
    let tokens = &unit.items[0].raw.tokens;
    match parse_and_lower(tokens, &files, &TypeNames::new()).unwrap() {
        Item::Function(function) => function,
        other => panic!("no function: {other:?}"),
    }
}

fn graph(text: &str) -> (Function, Cfg) {
    let function = function(text);
    let cfg = build(&function, &never_returns);
    (function, cfg)
}

/// The graph of a function with this body and some variables to use.
fn of_body(body: &str) -> String {
    of(&format!(
        "int f(PyObject *self, PyObject *p, int n) {{ {body} }}"
    ))
}

fn of(text: &str) -> String {
    let (function, cfg) = graph(text);
    dump(&cfg, &function)
}
