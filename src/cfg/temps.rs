//! Which temporaries are used later, in another block.

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;

use crate::dataflow::{self, Analysis, Direction, NodeId};

use super::{BlockId, Cfg, Operand, TempId};

/// Live temporaries of a function.
///
/// ```c
/// f(a, b ? c : d);        /* the value of `a` crosses the branch, and is of no use behind the call */
/// ```
#[derive(Debug)]
pub struct LiveTemps {
    /// The bits of those that are used in another block than the one that makes them.
    bits: FxHashMap<TempId, usize>,
    /// What is live on entry to each block.
    entries: Vec<FixedBitSet>,
}

impl LiveTemps {
    /// Computes them for a function.
    #[must_use]
    pub fn new(cfg: &Cfg) -> Self {
        let mut crossing: Vec<TempId> = cfg.crossing_temps().into_iter().collect();
        crossing.sort_unstable();
        let bits = (0..).zip(crossing).map(|(bit, temp)| (temp, bit)).collect();
        let live = Live { cfg, bits };
        let solution =
            dataflow::solve(cfg, &live).expect("sets of temporaries only grow, once each");
        let entry = |block: BlockId| {
            let mut entry = solution.input(block.index()).clone();
            live.transfer(block.index(), &mut entry);
            entry
        };
        let entries = cfg.iter().map(|(block, _)| entry(block)).collect();
        Self {
            bits: live.bits,
            entries,
        }
    }

    /// Whether `temp` is live on entry to `block`.
    #[must_use]
    pub fn is_live_into(&self, temp: TempId, block: BlockId) -> bool {
        let bit = self.bits.get(&temp);
        bit.is_some_and(|&bit| self.entries[block.index()].contains(bit))
    }
}

struct Live<'a> {
    cfg: &'a Cfg,
    bits: FxHashMap<TempId, usize>,
}

impl Live<'_> {
    fn read<'o>(&self, operands: impl IntoIterator<Item = &'o Operand>, live: &mut FixedBitSet) {
        for operand in operands {
            if let Operand::Temp(temp) = operand
                && let Some(&bit) = self.bits.get(temp)
            {
                live.insert(bit);
            }
        }
    }
}

impl Analysis for Live<'_> {
    type Domain = FixedBitSet;
    const DIRECTION: Direction = Direction::Backward;

    fn bottom(&self) -> FixedBitSet {
        FixedBitSet::with_capacity(self.bits.len())
    }

    fn boundary(&self) -> FixedBitSet {
        self.bottom()
    }

    fn transfer(&self, node: NodeId, live: &mut FixedBitSet) {
        let block = &self.cfg.blocks[node];
        self.read(block.terminator.operands(), live);
        for instr in block.instrs.iter().rev() {
            let made = instr.dst().and_then(|temp| self.bits.get(&temp));
            if let Some(&bit) = made {
                live.set(bit, false);
            }
            self.read(instr.operands(), live);
        }
    }

    fn join(&self, into: &mut FixedBitSet, from: &FixedBitSet) -> bool {
        let grows = !from.is_subset(into);
        into.union_with(from);
        grows
    }
}
