//! Loops of the graph, whether `while`, `for`, `do` or a backward `goto` made them.

use std::collections::BTreeMap;

use fixedbitset::FixedBitSet;

use super::{BlockId, Cfg, Dominators};

/// A natural loop.
#[derive(Debug, Clone)]
pub struct Loop {
    /// The block through which every path into the loop goes.
    pub header: BlockId,
    /// Blocks that go back to the header, ascending.
    pub latches: Vec<BlockId>,
    body: FixedBitSet,
}

impl Loop {
    /// Whether `block` can run again before the loop is left.
    #[must_use]
    pub fn contains(&self, block: BlockId) -> bool {
        self.body.contains(block.index())
    }

    /// The blocks of the loop, header and inner loops included, ascending.
    pub fn blocks(&self) -> impl Iterator<Item = BlockId> {
        self.body.ones().map(BlockId::new)
    }
}

/// All loops of a function.
#[derive(Debug, Clone)]
pub struct Loops {
    /// Natural loops by header, ascending: outer before inner in structured code.
    pub natural: Vec<Loop>,
    /// Edges `(from, to)` that close a cycle which can be entered elsewhere than at `to`, as a
    /// `goto` into a loop makes them.
    pub irreducible: Vec<(BlockId, BlockId)>,
}

impl Loops {
    /// Finds the loops of the reachable part of `cfg`.
    #[must_use]
    pub fn new(cfg: &Cfg, dominators: &Dominators) -> Self {
        let mut latches: BTreeMap<BlockId, Vec<BlockId>> = BTreeMap::new();
        let mut irreducible = Vec::new();
        for (from, to) in retreating_edges(cfg) {
            if dominators.dominates(to, from) {
                latches.entry(to).or_default().push(from);
            } else {
                irreducible.push((from, to));
            }
        }
        let natural = latches.into_iter().map(|(header, mut latches)| {
            latches.sort_unstable();
            latches.dedup();
            Loop {
                header,
                body: body(cfg, header, &latches),
                latches,
            }
        });
        Self {
            natural: natural.collect(),
            irreducible,
        }
    }

    /// The smallest natural loop that contains `block`.
    #[must_use]
    pub fn innermost(&self, block: BlockId) -> Option<&Loop> {
        let around = self
            .natural
            .iter()
            .filter(|candidate| candidate.contains(block));
        around.min_by_key(|candidate| candidate.body.count_ones(..))
    }
}

/// Edges that lead back in reverse post-order.
fn retreating_edges(cfg: &Cfg) -> Vec<(BlockId, BlockId)> {
    let order = cfg.reverse_post_order();
    let mut position = vec![0; cfg.blocks.len()];
    for (index, block) in order.iter().enumerate() {
        position[block.index()] = index;
    }
    let edges = order
        .iter()
        .flat_map(|&from| cfg.block(from).successors.iter().map(move |&to| (from, to)));
    edges
        .filter(|(from, to)| position[to.index()] <= position[from.index()])
        .collect()
}

/// What reaches a latch without going through the header.
fn body(cfg: &Cfg, header: BlockId, latches: &[BlockId]) -> FixedBitSet {
    let mut body = FixedBitSet::with_capacity(cfg.blocks.len());
    body.insert(header.index());
    let mut pending = latches.to_vec();
    while let Some(block) = pending.pop() {
        if cfg.is_reachable(block) && !body.put(block.index()) {
            pending.extend(&cfg.block(block).predecessors);
        }
    }
    body
}
