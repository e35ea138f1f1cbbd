//! What earlier rounds have proven: a function whose text is the same needs no second look.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::proof::Failed;
use crate::edit::Fix;
use crate::program::Program;
use crate::source::{ByteSpan, FileId};

/// A function with all of its variants.
type Region = (FileId, ByteSpan);

/// Edits: where, and the new text.
type Changes = BTreeSet<(FileId, ByteSpan, Vec<u8>)>;

/// What was proven so far.
pub(super) struct Proven<'a> {
    program: &'a Program<'a>,
    /// The functions of each file in order, those that overlap as one.
    functions: BTreeMap<FileId, Vec<ByteSpan>>,
    /// What holds, by the changes of macros that come with it: any function may use these.
    changes: BTreeMap<Changes, FxHashSet<Changes>>,
}

/// What is to be proven.
pub(super) struct Open {
    macros: Changes,
    units: Vec<Unit>,
    places: BTreeSet<(FileId, ByteSpan)>,
}

/// Functions that the same fixes change, and all that changes in them.
#[derive(Default)]
struct Unit {
    regions: BTreeSet<Region>,
    changes: Changes,
}

impl<'a> Proven<'a> {
    pub(super) fn new(program: &'a Program<'a>) -> Self {
        let mut spans: BTreeMap<FileId, Vec<ByteSpan>> = BTreeMap::new();
        for (item, _) in program.functions() {
            spans.entry(item.place.0).or_default().push(item.place.1);
        }
        Self {
            program,
            functions: spans.into_iter().map(|(id, it)| (id, joined(it))).collect(),
            changes: BTreeMap::new(),
        }
    }

    /// Those of the changes that `fixes` make together which were not proven before.
    pub(super) fn open<'f>(&self, fixes: impl Iterator<Item = &'f Fix>) -> Open {
        let mut macros = Changes::new();
        let mut units: Vec<Unit> = Vec::new();
        let mut unit_of: BTreeMap<Region, usize> = BTreeMap::new();
        for fix in fixes {
            let mut unit = Unit::default();
            for edit in &fix.edits {
                let change = (edit.file, edit.span, edit.text.clone());
                if self.program.index[edit.file.index()].is_in_define(edit.span) {
                    macros.insert(change.clone());
                }
                unit.regions.extend(self.region(edit.file, edit.span));
                unit.changes.insert(change);
            }
            let known = unit.regions.iter().filter_map(|it| unit_of.get(it));
            for at in known.copied().collect::<BTreeSet<_>>() {
                let Unit { regions, changes } = std::mem::take(&mut units[at]);
                unit.regions.extend(regions);
                unit.changes.extend(changes);
            }
            unit_of.extend(unit.regions.iter().map(|&region| (region, units.len())));
            units.push(unit);
        }
        let holds = self.changes.get(&macros);
        let holds = |changes: &Changes| holds.is_some_and(|it| it.contains(changes));
        units.retain(|unit| !unit.changes.is_empty() && !holds(&unit.changes));
        let changes = units.iter().flat_map(|unit| &unit.changes);
        let places = changes.map(|(file, span, _)| (*file, *span)).collect();
        Open {
            macros,
            units,
            places,
        }
    }

    /// Takes down that `open` is proven but for what failed.
    pub(super) fn add(&mut self, open: Open, failed: &[Failed]) {
        let mut wrong: BTreeMap<FileId, Vec<ByteSpan>> = BTreeMap::new();
        for failed in failed {
            wrong
                .entry(failed.file)
                .or_default()
                .extend(&failed.original);
        }
        let holds = |(file, place): Region| {
            let mut wrong = wrong.get(&file).into_iter().flatten();
            !wrong.any(|span| span.start() <= place.end() && place.start() <= span.end())
        };
        let known = self.changes.entry(open.macros).or_default();
        for unit in open.units {
            let edits = unit.changes.iter().map(|(file, span, _)| (*file, *span));
            if edits.chain(unit.regions).all(holds) {
                known.insert(unit.changes);
            }
        }
    }

    /// The function that `span` touches.
    fn region(&self, file: FileId, span: ByteSpan) -> Option<Region> {
        let functions = self.functions.get(&file)?;
        let next = functions.partition_point(|function| function.end() < span.start());
        let touched = functions.get(next)?;
        (touched.start() <= span.end()).then_some((file, *touched))
    }
}

impl Open {
    /// Whether an edit at this place is among them.
    pub(super) fn contains(&self, file: FileId, span: ByteSpan) -> bool {
        self.places.contains(&(file, span))
    }
}

/// Spans in order, those that overlap as one.
fn joined(mut spans: Vec<ByteSpan>) -> Vec<ByteSpan> {
    spans.sort_unstable();
    let mut all: Vec<ByteSpan> = Vec::new();
    for span in spans {
        match all.last_mut().filter(|last| span.start() < last.end()) {
            Some(last) => *last = ByteSpan::new(last.start().0, last.end().0.max(span.end().0)),
            None => all.push(span),
        }
    }
    all
}
