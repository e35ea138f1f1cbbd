//! A shortest way from one point to another, told by its branches.

use std::collections::{BTreeMap, VecDeque};

use crate::cfg::{BlockId, Cfg, Point, Terminator};

/// The branches on a shortest path from `from` to `to` that goes through no block that `ends` the
/// section: where each stands and whether its condition holds. Empty if there is no path.
pub(super) fn branches(
    cfg: &Cfg,
    from: Point,
    to: Point,
    ends: &dyn Fn(BlockId) -> bool,
) -> Vec<(Point, bool)> {
    if from.block == to.block && from.index <= to.index {
        return Vec::new();
    }
    let came_from = search(cfg, from.block, to.block, ends);
    let mut path = Vec::new();
    let mut block = to.block;
    while let Some(&(previous, edge)) = came_from.get(&block) {
        let body = cfg.block(previous);
        if let Terminator::Branch { .. } = body.terminator {
            let index = body.instrs.len();
            let at = Point {
                block: previous,
                index,
            };
            path.push((at, edge == 0));
        }
        block = previous;
        if block == from.block {
            break;
        }
    }
    path.reverse();
    path
}

/// For each block on the way, the block before it and the edge taken there.
fn search(
    cfg: &Cfg,
    from: BlockId,
    to: BlockId,
    ends: &dyn Fn(BlockId) -> bool,
) -> BTreeMap<BlockId, (BlockId, usize)> {
    let mut came_from = BTreeMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(block) = queue.pop_front() {
        for (edge, &next) in cfg.block(block).successors.iter().enumerate() {
            if came_from.contains_key(&next) || (next == from && next != to) {
                continue;
            }
            came_from.insert(next, (block, edge));
            if next == to {
                return came_from;
            }
            if !ends(next) {
                queue.push_back(next);
            }
        }
    }
    came_from
}
