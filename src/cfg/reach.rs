//! Which points of a function lead to which.

use std::collections::BTreeSet;

use super::{Cfg, Point};

/// Whether a path leads from one point to another and passes none of `barriers` on its way.
#[must_use]
pub fn reaches(cfg: &Cfg, from: Point, to: Point, barriers: &[Point]) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        let ahead = |point: &Point| point.block == at.block && point.index >= at.index;
        let barrier = barriers.iter().filter(|point| ahead(point)).min();
        if ahead(&to) && barrier.is_none_or(|barrier| to <= *barrier) {
            return true;
        }
        if barrier.is_none() {
            let next = cfg.block(at.block).successors.iter().copied();
            open.extend(
                next.filter(|&block| seen.insert(block))
                    .map(|block| Point { block, index: 0 }),
            );
        }
    }
    false
}
