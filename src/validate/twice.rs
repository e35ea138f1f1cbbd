//! Functions, variables and macros that the result defines twice in one translation unit.
//!
//! ```c
//! #define NAME(f) Int##f
//! #include "template.h"        /* static int helper_lock_held(Map *self) came into it */
//! #undef NAME
//! #define NAME(f) Str##f
//! #include "template.h"        /* and comes again */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::Failure;
use super::original::Original;
use super::proof::{Failed, original_span};
use crate::edit::Applied;
use crate::preprocess::Twice;
use crate::program::Program;
use crate::source::{ByteSpan, FileId};

/// What `result` defines twice and the original did not.
pub(super) fn failures(
    original: &Original<'_>,
    result: &Program<'_>,
    applied: &BTreeMap<FileId, Applied>,
) -> Vec<Failed> {
    let before = original.program.twice.iter();
    let mut known: BTreeSet<&str> = before.map(|twice| &*twice.name).collect();
    let new = result
        .twice
        .iter()
        .filter(|twice| known.insert(&twice.name));
    new.map(|twice| failed(twice, result, applied)).collect()
}

fn failed(twice: &Twice, result: &Program<'_>, applied: &BTreeMap<FileId, Applied>) -> Failed {
    let [first, second] = twice.places;
    let is_edited = |place: &&(FileId, _)| applied.contains_key(&place.0);
    // The second may stand in a file that the change only includes once more.
    let &(file, place) = [&second, &first]
        .into_iter()
        .find(is_edited)
        .unwrap_or(&second);
    let own = twice.places.iter().filter(|other| other.0 == file);
    let spans = own.filter_map(|other| Some(original_span(applied.get(&file)?, other.1)));
    let at = |(file, span): (FileId, ByteSpan)| {
        let file = result.files.get(file);
        let line = file.position(span.start()).line.0;
        format!("{}:{line}", file.path().display())
    };
    let how = match first == second {
        true => format!("{} is read twice", at(first)),
        false => format!("{} and {}", at(first), at(second)),
    };
    Failed {
        file,
        original: spans.collect(),
        result: place,
        failure: Failure::Wrong(format!(
            "`{}` is defined twice in one translation unit: {how}",
            twice.name
        )),
    }
}
