//! C preprocessing that never loses where a token came from.
//!
//! See `docs/preprocessing.md`. A translation unit is read in as many *configurations* as it takes
//! to see every live `#if` branch once; the result of each is a list of top-level items, each a
//! list of expanded tokens with their origins.

mod branches;
mod combine;
mod condition;
mod config;
mod directive;
mod expand;
mod gil;
mod include;
mod index;
mod items;
mod left_out;
mod macros;
mod origin;
mod platform;
mod stream;
#[cfg(test)]
mod tests;
mod twice;
mod typedefs;

pub use branches::Conditional;
pub use combine::Interest;
pub use config::{Config, VersionRange};
pub use gil::is_other_interpreter;
pub use include::{Includes, Inclusion, MissingHeader};
pub use index::{Condition, Define, FileIndex};
pub use items::RawItem;
pub(crate) use macros::{BodyToken, MacroDef};
pub use origin::{Expansion, ExpansionId, ItemTokens, Place, PpToken, Spelling};
pub use stream::Sources;
pub use twice::Twice;
pub use typedefs::Typedef;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use crate::source::{ByteSpan, FileId};
use combine::Combinations;
use expand::Expander;
use stream::{BranchId, Missed, Stream};
use twice::Definitions;

/// Most configurations a translation unit is read in.
const MAX_CONFIGS: usize = 32;

/// A translation unit, read in all of its configurations.
#[derive(Debug, Default)]
pub struct Unit {
    /// Every distinct item, in the order of first appearance, configuration by configuration.
    pub items: Vec<UnitItem>,
    /// The configurations, the base first.
    pub configs: Vec<Config>,
    /// Live branches that no configuration reached.
    pub unreached: Vec<(FileId, u32)>,
    /// Branches that were read, and whether only builds with the GIL read them.
    pub branches: BTreeMap<(FileId, u32), bool>,
    /// What the base configuration defines twice.
    pub twice: Vec<Twice>,
}

/// An item and where it was seen.
#[derive(Debug)]
pub struct UnitItem {
    /// The item.
    pub raw: RawItem,
    /// Index into [`Unit::configs`] of the first configuration that has it.
    pub config: usize,
}

/// Reads the translation unit of `root` after the files of `before` (definitions only), in the
/// base configuration, in as many others as live branches ask for, and in those in which branches
/// of a function of `interest` meet.
#[must_use]
pub fn preprocess(
    sources: Sources<'_>,
    root: FileId,
    before: &[FileId],
    range: VersionRange,
    interest: &Interest,
) -> Unit {
    let mut unit = Unit::default();
    let mut seen_items = FxHashSet::default();
    let mut tried: FxHashSet<BranchId> = FxHashSet::default();
    let mut dead: FxHashSet<BranchId> = FxHashSet::default();
    let mut waiting: Vec<Missed> = Vec::new();
    let mut combinations = Combinations::default();
    let mut wanted: BTreeSet<(FileId, ByteSpan)> = BTreeSet::new();
    let roots: Vec<FileId> = std::iter::once(root)
        .chain(before.iter().rev().copied())
        .collect();
    let mut next = Some(Config::base(range));
    while let Some(config) = next.take() {
        let number = unit.configs.len();
        let stream = Stream::new(sources, &config, &roots);
        let mut expander = Expander::new(sources.files, stream);
        let mut definitions = Definitions::default();
        items::split(sources.files, &mut expander, |raw| {
            definitions.add_item(sources.files, &raw);
            if seen_items.insert(raw.key) {
                if raw.function.is_some() && interest.holds(raw.place, words(sources, &raw)) {
                    wanted.insert(raw.place);
                }
                unit.items.push(UnitItem {
                    raw,
                    config: number,
                });
            }
        });
        // Others are put together of branches that may exclude each other.
        if number == 0 {
            unit.twice = definitions.twice(expander.source.redefined);
        }
        for (branch, needs_gil) in expander.source.taken {
            *unit.branches.entry(branch).or_insert(true) &= needs_gil;
        }
        waiting.extend(expander.source.missed);
        let choices = std::mem::take(&mut expander.source.choices);
        unit.configs.push(config);
        let branches = &unit.branches;
        waiting.retain(|Missed { branch, .. }| {
            !branches.contains_key(branch) && !dead.contains(branch)
        });
        if unit.configs.len() < MAX_CONFIGS {
            combinations.add(sources, &wanted, choices);
            next = next_config(range, &waiting, &mut tried, &mut dead)
                .or_else(|| combinations.next(&Config::base(range)));
        }
    }
    let live = waiting
        .iter()
        .map(|missed| missed.branch)
        .filter(|branch| !dead.contains(branch));
    let mut unreached: Vec<BranchId> = live.collect();
    unreached.sort_unstable();
    unreached.dedup();
    unit.unreached = unreached;
    unit
}

fn words<'r>(sources: Sources<'r>, raw: &'r RawItem) -> impl Iterator<Item = &'r [u8]> {
    let count = u32::try_from(raw.tokens.tokens.len()).expect("items fit");
    (0..count).map(move |at| raw.tokens.text(sources.files, at))
}

/// A configuration that takes the first waiting branch that no attempt was made for and as many others as fit; `None` if no
/// waiting branch can be taken (it is dead then).
fn next_config(
    range: VersionRange,
    waiting: &[Missed],
    tried: &mut FxHashSet<BranchId>,
    dead: &mut FxHashSet<BranchId>,
) -> Option<Config> {
    let mut config = Config::base(range);
    let mut any = false;
    // What a free-threaded build can have is not to be seen only in one with the GIL.
    let is_like = |config: &Config, attempt: &Config, missed: &Missed| {
        let alone = missed.solved(&Config::base(range));
        let is_free = attempt.is_free_threaded();
        is_free == config.is_free_threaded()
            && alone.is_some_and(|alone| is_free == alone.is_free_threaded())
    };
    for missed in waiting {
        if tried.contains(&missed.branch) || dead.contains(&missed.branch) {
            continue;
        }
        match missed.solved(&config) {
            Some(attempt) if !any || is_like(&config, &attempt, missed) => {
                config = attempt;
                any = true;
                tried.insert(missed.branch);
            }
            None if !any => {
                // Not even alone: no supported build takes this branch.
                dead.insert(missed.branch);
            }
            Some(_) | None => {}
        }
    }
    any.then_some(config)
}
