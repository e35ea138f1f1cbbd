//! A run's changes as a series of patches, each of which applies after those before it.
//!
//! What all patches make of the files is what the merged fixes make of them in one go: each patch
//! leads from the fixes of the units before it to those and its own, merged in the order in which
//! the rules ran.

mod intent;
mod message;
mod staged;
mod unit;

pub use intent::{Chapter, Intent, intent};
pub use message::{Letter, WIDTH, mail, message};
pub use staged::staged;
pub use unit::{Split, slug};

use std::collections::BTreeMap;
use std::path::Path;

use crate::diff::{FileChange, FileMode};
use crate::edit::{EditSet, Fix, FixId, apply};
use crate::engine::NewFile;
use crate::package::Package;
use crate::rule::Finding;
use crate::source::FileId;
use unit::{Unit, units};

/// A finding whose fix is part of the changes.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Place in the run order of the rules.
    pub id: FixId,
    /// What it is about.
    pub finding: &'a Finding,
    /// Its fix.
    pub fix: &'a Fix,
}

/// One patch of a series.
#[derive(Debug)]
pub struct Patch<'a> {
    /// The findings it settles, by place.
    pub parts: Vec<Part<'a>>,
    /// What it is about: a rule, a file, a function, or a fix.
    pub subject: String,
    /// Name for a file, without number and extension.
    pub slug: String,
    /// The files that change, by path.
    changed: Vec<Changed>,
    new_files: Vec<&'a NewFile>,
}

#[derive(Debug)]
struct Changed {
    file: FileId,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl Patch<'_> {
    /// The files that come with it.
    pub fn new_files(&self) -> impl Iterator<Item = &Path> {
        self.new_files.iter().map(|file| file.path.as_path())
    }

    /// Each file before and after this patch.
    #[must_use]
    pub fn changes<'s>(&'s self, package: &'s Package) -> Vec<FileChange<'s>> {
        let changed = self.changed.iter().map(|changed| FileChange {
            path: package.files.get(changed.file).path(),
            old: Some(&changed.old),
            new: &changed.new,
            mode: package.info(changed.file).mode,
        });
        let new_files = self.new_files.iter().map(|file| FileChange {
            path: &file.path,
            old: None,
            new: &file.bytes,
            mode: FileMode::Regular,
        });
        changed.chain(new_files).collect()
    }
}

/// Splits the changes that `parts`, which do not clash, make of `package`.
///
/// A unit whose fixes only fit together with those of a later one comes with it.
#[must_use]
pub fn series<'a>(
    package: &Package,
    parts: &[Part<'a>],
    new_files: &'a [NewFile],
    split: Split,
) -> Vec<Patch<'a>> {
    patches(package, units(package, parts, split), new_files)
}

/// A patch for each of `units`, in their order.
fn patches<'a>(
    package: &Package,
    units: Vec<Unit<'a>>,
    new_files: &'a [NewFile],
) -> Vec<Patch<'a>> {
    let mut patches: Vec<Patch<'a>> = Vec::new();
    let mut waiting: Option<Unit<'a>> = None;
    let mut taken: BTreeMap<FixId, &Fix> = BTreeMap::new();
    let mut state: BTreeMap<FileId, Vec<u8>> = BTreeMap::new();
    let mut new_files: Vec<&NewFile> = new_files.iter().collect();
    for unit in units {
        taken.extend(unit.parts.iter().map(|part| (part.id, part.fix)));
        let unit = match waiting.take() {
            Some(before) => before.with(unit),
            None => unit,
        };
        let Some(edits) = merged(&taken, &unit) else {
            waiting = Some(unit);
            continue;
        };
        let is_needed =
            |file: &mut &NewFile| file.of(unit.parts.iter().map(|part| part.fix)).is_some();
        let patch = Patch {
            changed: advance(package, &edits, &unit, &mut state),
            new_files: new_files.extract_if(.., is_needed).collect(),
            parts: unit.parts,
            subject: unit.subject,
            slug: unit.slug,
        };
        // All of its edits may be part of an earlier fix.
        if !patch.changed.is_empty() || !patch.new_files.is_empty() {
            patches.push(patch);
        }
    }
    patches
}

/// The edits that the fixes so far make of the files that `unit` edits; `None` if they only fit
/// together with others.
fn merged(taken: &BTreeMap<FixId, &Fix>, unit: &Unit<'_>) -> Option<EditSet> {
    let files = unit.files();
    let is_near = |fix: &Fix| fix.edits.iter().any(|edit| files.contains(&edit.file));
    let all = || taken.iter().map(|(id, fix)| (*id, *fix));
    // In a long series most fixes are about other files.
    let near = EditSet::merge(all().filter(|(_, fix)| is_near(fix)));
    let (edits, clashes) = match near {
        (_, clashes) if !clashes.is_empty() => EditSet::merge(all()),
        fitting => fitting,
    };
    clashes.is_empty().then_some(edits)
}

/// Brings the files that `unit` edits from `state` to what `edits` make of them.
fn advance(
    package: &Package,
    edits: &EditSet,
    unit: &Unit<'_>,
    state: &mut BTreeMap<FileId, Vec<u8>>,
) -> Vec<Changed> {
    let changed = unit.files().into_iter().filter_map(|file| {
        let original = package.files.get(file).bytes();
        let new = apply(original, edits.edits(file)).bytes;
        let old = state.insert(file, new.clone());
        let old = old.unwrap_or_else(|| original.to_vec());
        (old != new).then_some(Changed { file, old, new })
    });
    changed.collect()
}

#[cfg(test)]
mod tests;
