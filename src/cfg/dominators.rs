//! Dominators: which block every path to a block goes through.
//!
//! The simple iteration of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm".

use super::{BlockId, Cfg, Point};

/// The dominator tree of the reachable blocks.
#[derive(Debug, Clone)]
pub struct Dominators {
    /// By block; `None` for the entry and for unreachable blocks.
    immediate: Vec<Option<BlockId>>,
    /// Place in the reverse post-order; `None` for unreachable blocks.
    position: Vec<Option<usize>>,
}

impl Dominators {
    /// Computes the dominators of `cfg`.
    #[must_use]
    pub fn new(cfg: &Cfg) -> Self {
        let order = cfg.reverse_post_order();
        let mut position = vec![None; cfg.blocks.len()];
        for (index, block) in order.iter().enumerate() {
            position[block.index()] = Some(index);
        }
        let mut tree = Self {
            immediate: vec![None; cfg.blocks.len()],
            position,
        };
        while tree.sweep(cfg, &order) {}
        tree
    }

    /// One pass in reverse post-order; whether anything changed.
    fn sweep(&mut self, cfg: &Cfg, order: &[BlockId]) -> bool {
        let mut changed = false;
        for &block in order.iter().filter(|&&block| block != Cfg::ENTRY) {
            let is_known =
                |&block: &BlockId| block == Cfg::ENTRY || self.immediate(block).is_some();
            // Backwards, because the arms of `else if` chains nest ever deeper: each step up then
            // starts where the last one ended.
            let known = cfg
                .block(block)
                .predecessors
                .iter()
                .rev()
                .copied()
                .filter(is_known);
            let nearest = known.reduce(|a, b| self.common(a, b));
            changed |= nearest != self.immediate(block);
            self.immediate[block.index()] = nearest;
        }
        changed
    }

    /// The nearest block that dominates both.
    fn common(&self, mut a: BlockId, mut b: BlockId) -> BlockId {
        while a != b {
            let later = if self.position[a.index()] > self.position[b.index()] {
                &mut a
            } else {
                &mut b
            };
            *later = self.immediate(*later).unwrap_or(Cfg::ENTRY);
        }
        a
    }

    /// The nearest other block that every path to `block` goes through; `None` for the entry and
    /// for unreachable blocks.
    #[must_use]
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.immediate[block.index()]
    }

    /// Whether every path to `block` goes through `dominator`. A block dominates itself; nothing
    /// dominates or is dominated by an unreachable block.
    #[must_use]
    pub fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        let (Some(target), Some(_)) = (
            self.position[dominator.index()],
            self.position[block.index()],
        ) else {
            return false;
        };
        let mut at = block;
        while self.position[at.index()] > Some(target) {
            match self.immediate(at) {
                Some(up) => at = up,
                None => return false,
            }
        }
        at == dominator
    }

    /// Whether every path to `point` goes through `dominator`, which dominates itself.
    #[must_use]
    pub fn dominates_point(&self, dominator: Point, point: Point) -> bool {
        match dominator.block == point.block {
            true => dominator.index <= point.index,
            false => self.dominates(dominator.block, point.block),
        }
    }
}
