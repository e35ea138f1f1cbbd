//! Which points of a function lead to which.

use fixedbitset::FixedBitSet;

use super::{BlockId, Cfg, Point};

/// The functions with more blocks than this are searched for each question: a bit for each pair of
/// blocks would be too much.
const MAX_BLOCKS_OF_MATRIX: usize = 4096;

/// The points that paths from one point lead to, as far as they pass no barrier.
#[derive(Debug)]
pub struct Reach {
    from: Point,
    /// Ascending.
    barriers: Vec<Point>,
    /// Blocks that are entered at their beginning.
    entered: FixedBitSet,
}

impl Reach {
    /// What `from` leads to. A barrier is reached and not passed, be it `from` itself.
    #[must_use]
    pub fn new(cfg: &Cfg, from: Point, barriers: &[Point]) -> Self {
        let mut reach = Self::start(cfg, from, barriers);
        reach.search(cfg, |_| false);
        reach
    }

    fn start(cfg: &Cfg, from: Point, barriers: &[Point]) -> Self {
        let mut barriers = barriers.to_vec();
        barriers.sort_unstable();
        Self {
            from,
            barriers,
            entered: FixedBitSet::with_capacity(cfg.blocks.len()),
        }
    }

    /// Enters blocks until none is left, or one `is_last`.
    fn search(&mut self, cfg: &Cfg, is_last: impl Fn(BlockId) -> bool) {
        let mut open = vec![self.from];
        while let Some(at) = open.pop() {
            if self.barrier_from(at).is_some() {
                continue;
            }
            for &block in &cfg.block(at.block).successors {
                if !self.entered.put(block.index()) {
                    if is_last(block) {
                        return;
                    }
                    open.push(Point { block, index: 0 });
                }
            }
        }
    }

    /// Whether a path leads to `to`.
    #[must_use]
    pub fn contains(&self, to: Point) -> bool {
        let is_ahead_of = |at: Point| {
            let barrier = self.barrier_from(at);
            at <= to && barrier.is_none_or(|barrier| to <= barrier)
        };
        let index = 0;
        let block = to.block;
        self.entered.contains(block.index()) && is_ahead_of(Point { block, index })
            || block == self.from.block && is_ahead_of(self.from)
    }

    /// The first barrier at `at` or behind it in its block.
    fn barrier_from(&self, at: Point) -> Option<Point> {
        let next = self.barriers.partition_point(|barrier| *barrier < at);
        let next = self.barriers.get(next).copied();
        next.filter(|barrier| barrier.block == at.block)
    }
}

/// Whether a path leads from one point to another and passes none of `barriers` on its way.
#[must_use]
pub fn reaches(cfg: &Cfg, from: Point, to: Point, barriers: &[Point]) -> bool {
    if let Some(matrix) = cfg.matrix() {
        let is_straight = from.block == to.block && from.index <= to.index;
        let leads = is_straight || matrix[from.block.index()].contains(to.block.index());
        if !leads || barriers.is_empty() {
            return leads;
        }
    }
    let mut reach = Reach::start(cfg, from, barriers);
    if !reach.contains(to) {
        reach.search(cfg, |block| block == to.block);
    }
    reach.contains(to)
}

impl Cfg {
    /// The blocks that lie ahead of each block, itself where it lies in a loop.
    fn matrix(&self) -> Option<&[FixedBitSet]> {
        let small = self.blocks.len() <= MAX_BLOCKS_OF_MATRIX;
        small.then(|| &**self.reach.get_or_init(|| matrix(self)))
    }
}

fn matrix(cfg: &Cfg) -> Vec<FixedBitSet> {
    let count = cfg.blocks.len();
    let mut rows = vec![FixedBitSet::with_capacity(count); count];
    // Blocks stand in source order: most of what lies ahead of one has a higher number.
    loop {
        let mut grows = false;
        for at in (0..count).rev() {
            let mut row = std::mem::take(&mut rows[at]);
            let before = row.count_ones(..);
            for &BlockId(next) in &cfg.blocks[at].successors {
                row.insert(next as usize);
                if next as usize != at {
                    row.union_with(&rows[next as usize]);
                }
            }
            grows |= row.count_ones(..) != before;
            rows[at] = row;
        }
        if !grows {
            return rows;
        }
    }
}
