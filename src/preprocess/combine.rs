//! Configurations in which two branches of one function meet.
//!
//! ```c
//! #ifdef A
//!     v = PyList_GetItem(l, 0);
//! #else
//!     v = d;
//! #endif
//! #ifdef B
//!     use(v);          /* with each of the two above, and left out with each */
//! #endif
//! ```

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::condition::Cond;
use super::config::Config;
use super::stream::{BranchId, Missed, Sources};
use crate::source::{ByteSpan, FileId};

/// Functions of which the branches are looked at in pairs.
#[derive(Debug, Clone, Default)]
pub struct Interest {
    /// Those that hold one of these words after expansion.
    pub words: FxHashSet<&'static [u8]>,
    /// Those that one of these places touches.
    pub places: BTreeMap<FileId, Vec<ByteSpan>>,
}

/// One way to read a conditional inside of braces.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    /// The conditional's first branch.
    pub conditional: BranchId,
    /// The branch that is read; `None` for no branch of it.
    pub branch: Option<BranchId>,
    /// Conditions with the truth each must have, the enclosing branches' first.
    pub wanted: Wanted,
    /// Whether this configuration reads it so.
    pub is_taken: bool,
}

/// Conditions with the truth each must have.
type Wanted = Vec<(Cond, bool)>;

/// A conditional and how it is read.
type Read = (BranchId, Option<BranchId>);

/// The choices of all functions of interest in one translation unit so far.
#[derive(Debug, Default)]
pub(super) struct Combinations {
    /// By the place of the function.
    functions: BTreeMap<(FileId, ByteSpan), BTreeMap<Read, Wanted>>,
    met: BTreeSet<(Read, Read)>,
    tried: BTreeSet<(Read, Read)>,
}

impl Combinations {
    /// Adds the choices that one configuration met in the functions of interest.
    pub(super) fn add(
        &mut self,
        sources: Sources<'_>,
        functions: &BTreeSet<(FileId, ByteSpan)>,
        choices: Vec<Choice>,
    ) {
        let mut found: BTreeMap<(FileId, ByteSpan), Vec<Choice>> = BTreeMap::new();
        for choice in choices {
            let (file, segment) = choice.conditional;
            let at = sources.index[file.index()].branch_offset(segment);
            let around = functions
                .iter()
                .filter(|(of, place)| *of == file && place.start() < at && at < place.end());
            for place in around {
                found.entry(*place).or_default().push(choice.clone());
            }
        }
        for (place, choices) in found {
            self.add_to(place, &choices);
        }
    }

    fn add_to(&mut self, place: (FileId, ByteSpan), choices: &[Choice]) {
        let known = self.functions.entry(place).or_default();
        let taken = choices.iter().filter(|choice| choice.is_taken);
        let taken: Vec<Read> = taken.map(Choice::read).collect();
        for choice in choices {
            known
                .entry(choice.read())
                .or_insert_with(|| choice.wanted.clone());
        }
        for one in &taken {
            let others = taken.iter().filter(|other| *other > one);
            self.met.extend(others.map(|other| (*one, *other)));
        }
    }

    /// A configuration with pairs that have not met yet: one, and as many others as fit.
    pub(super) fn next(&mut self, base: &Config) -> Option<Config> {
        let mut config: Option<Config> = None;
        for reads in self.functions.values() {
            for (one, wanted) in reads {
                let others = reads.range((one.0, None)..);
                for (other, more) in others.filter(|(other, _)| other.0 != one.0) {
                    let pair = (*one.min(other), *one.max(other));
                    if self.met.contains(&pair) || self.tried.contains(&pair) {
                        continue;
                    }
                    let missed = Missed {
                        branch: one.0,
                        wanted: wanted.iter().chain(more).cloned().collect(),
                    };
                    // No build has both if not even they alone are possible.
                    let Some(alone) = missed.solved(base) else {
                        self.tried.insert(pair);
                        continue;
                    };
                    let is_like =
                        |other: &Config| other.is_free_threaded() == alone.is_free_threaded();
                    let attempt = match &config {
                        Some(config) => missed.solved(config).filter(|_| is_like(config)),
                        None => Some(alone.clone()),
                    };
                    if let Some(attempt) = attempt.filter(is_like) {
                        config = Some(attempt);
                        self.tried.insert(pair);
                    }
                }
            }
        }
        config
    }
}

impl Choice {
    fn read(&self) -> Read {
        (self.conditional, self.branch)
    }
}

impl Interest {
    /// Whether a function at `place` with these words is one.
    pub(super) fn holds<'w>(
        &self,
        place: (FileId, ByteSpan),
        mut words: impl Iterator<Item = &'w [u8]>,
    ) -> bool {
        let spans = self.places.get(&place.0).map_or(&[][..], Vec::as_slice);
        let touched =
            |span: &ByteSpan| span.start() <= place.1.end() && place.1.start() <= span.end();
        spans.iter().any(touched) || words.any(|word| self.words.contains(word))
    }
}
