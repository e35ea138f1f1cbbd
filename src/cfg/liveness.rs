//! Which variables are read later.

use std::collections::BTreeSet;
use std::ops::Range;

use fixedbitset::FixedBitSet;

use crate::ast::LocalId;
use crate::dataflow::{self, Analysis, Direction, NodeId, Solution};

use super::{
    Base, BlockId, Cfg, Instr, InstrKind, Operand, Place, Point, Projection, addressed_local,
};

/// A field of a variable that is stored to by itself: `in.src`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part {
    /// The variable.
    pub local: LocalId,
    index: usize,
}

/// Calls that do not read a variable whose address they get, each with the variable.
#[derive(Debug, Clone, Default)]
pub struct Outs {
    /// They may store to it.
    pub stored: BTreeSet<(Point, LocalId)>,
    /// They overwrite it for sure.
    pub overwritten: BTreeSet<(Point, LocalId)>,
}

/// Live variables of a function.
///
/// A variable is live at a point if its present value, or part of it, may be read by name later.
/// Taking its address counts as a read there, but for [`Outs`]; reads through the pointer are not
/// seen, see [`Cfg::address_taken`]. A [`Part`] is read wherever anything of its variable is, as it may be
/// one of a `union`.
#[derive(Debug)]
pub struct Liveness<'a> {
    solution: Solution<FixedBitSet>,
    /// What is live on entry to each block, which is asked for most.
    entries: Vec<FixedBitSet>,
    analysis: Live<'a>,
}

impl<'a> Liveness<'a> {
    /// Computes liveness for the `n_locals` variables of the function.
    #[must_use]
    pub fn new(cfg: &'a Cfg, n_locals: usize) -> Self {
        Self::with_outs(cfg, n_locals, Outs::default())
    }

    /// The same where these calls are known not to read variables.
    #[must_use]
    pub fn with_outs(cfg: &'a Cfg, n_locals: usize, outs: Outs) -> Self {
        Self::solve(Live {
            cfg,
            n_locals,
            parts: parts(cfg),
            outs,
            reads: BTreeSet::new(),
        })
    }

    /// The same where variables are read right in front of these points as well.
    #[must_use]
    pub fn reading(&self, reads: BTreeSet<(Point, LocalId)>) -> Self {
        let known = &self.analysis;
        Self::solve(Live {
            cfg: known.cfg,
            n_locals: known.n_locals,
            parts: known.parts.clone(),
            outs: known.outs.clone(),
            reads,
        })
    }

    fn solve(analysis: Live<'a>) -> Self {
        let cfg = analysis.cfg;
        let solution =
            dataflow::solve(cfg, &analysis).expect("sets of variables only grow, once a variable");
        let entry = |block: BlockId| {
            let mut live = solution.input(block.index()).clone();
            analysis.run_back_to(Point { block, index: 0 }, &mut live);
            live
        };
        let entries = cfg.iter().map(|(block, _)| entry(block)).collect();
        Self {
            solution,
            entries,
            analysis,
        }
    }

    /// Whether `local` is live at `point`.
    #[must_use]
    pub fn is_live(&self, local: LocalId, point: Point) -> bool {
        self.contains(local.0 as usize, point)
    }

    /// The part that `place` is, if it is a field of a variable.
    #[must_use]
    pub fn part(&self, place: &Place) -> Option<Part> {
        let (local, path) = field_of_local(place)?;
        let index = self.analysis.parts.binary_search(&(local, path)).ok()?;
        Some(Part { local, index })
    }

    /// Whether `part` is live at `point`.
    #[must_use]
    pub fn is_part_live(&self, part: Part, point: Point) -> bool {
        self.contains(self.analysis.n_locals + part.index, point)
    }

    fn contains(&self, bit: usize, point: Point) -> bool {
        match point.index {
            0 => self.entries[point.block.index()].contains(bit),
            _ => self.at(point).contains(bit),
        }
    }

    /// The variables live at `point`, ascending. Takes time linear in the block.
    #[must_use]
    pub fn live_at(&self, point: Point) -> Vec<LocalId> {
        let index = |local| u32::try_from(local).expect("local ids are u32");
        self.at(point)
            .ones()
            .take_while(|&bit| bit < self.analysis.n_locals)
            .map(|local| LocalId(index(local)))
            .collect()
    }

    /// Whether `local` is live on entry to `block`.
    #[must_use]
    pub fn is_live_into(&self, local: LocalId, block: BlockId) -> bool {
        self.is_live(local, Point { block, index: 0 })
    }

    fn at(&self, point: Point) -> FixedBitSet {
        let mut live = self.solution.input(point.block.index()).clone();
        self.analysis.run_back_to(point, &mut live);
        live
    }
}

/// The path of a part, as the names of its fields.
type Path<'a> = Vec<&'a str>;

/// The fields of variables that are stored to by themselves, in order.
fn parts(cfg: &Cfg) -> Vec<(LocalId, Path<'_>)> {
    let instrs = cfg.iter().flat_map(|(_, block)| &block.instrs);
    let stored = instrs.filter_map(|instr| match &instr.kind {
        InstrKind::Store { place, .. } => field_of_local(place),
        _ => None,
    });
    let parts: BTreeSet<_> = stored.collect();
    parts.into_iter().collect()
}

fn field_of_local(place: &Place) -> Option<(LocalId, Path<'_>)> {
    let Base::Local(local) = place.base else {
        return None;
    };
    let fields = place.path.iter().map(|step| match step {
        Projection::Field(name) => Some(&**name),
        Projection::Index(_) => None,
    });
    let path = fields.collect::<Option<Path<'_>>>()?;
    (!path.is_empty()).then_some((local, path))
}

#[derive(Debug)]
struct Live<'a> {
    cfg: &'a Cfg,
    n_locals: usize,
    /// Their bits follow those of the variables.
    parts: Vec<(LocalId, Path<'a>)>,
    outs: Outs,
    /// Reads that no step of the function does, each right in front of a point.
    reads: BTreeSet<(Point, LocalId)>,
}

impl Live<'_> {
    /// From the end of the block of `point` back to it.
    fn run_back_to(&self, point: Point, live: &mut FixedBitSet) {
        let block = self.cfg.block(point.block);
        self.read_addresses(block.terminator.operands(), live);
        for (index, instr) in block.instrs.iter().enumerate().skip(point.index).rev() {
            let behind = Point {
                index: index + 1,
                ..point
            };
            self.read_before(behind, live);
            self.step(Point { index, ..point }, instr, live);
        }
    }

    fn read_before(&self, point: Point, live: &mut FixedBitSet) {
        let all = (point, LocalId(0))..=(point, LocalId(u32::MAX));
        for (_, local) in self.reads.range(all) {
            self.set(*local, true, live);
        }
    }

    /// The bits of the parts of a variable.
    fn parts_of(&self, local: LocalId) -> Range<usize> {
        let start = self.parts.partition_point(|(of, _)| *of < local);
        let end = self.parts.partition_point(|(of, _)| *of <= local);
        self.n_locals + start..self.n_locals + end
    }

    fn set(&self, local: LocalId, is_live: bool, live: &mut FixedBitSet) {
        live.set(local.0 as usize, is_live);
        live.set_range(self.parts_of(local), is_live);
    }

    fn step(&self, point: Point, instr: &Instr, live: &mut FixedBitSet) {
        match &instr.kind {
            InstrKind::Declare { local } => self.set(*local, false, live),
            InstrKind::ScopeEnd { locals } => {
                for local in locals {
                    self.set(*local, false, live);
                }
            }
            InstrKind::Store { place, .. } => self.store(place, live),
            InstrKind::Load {
                place:
                    Place {
                        base: Base::Local(local),
                        ..
                    },
                ..
            } => self.set(*local, true, live),
            InstrKind::Load { .. }
            | InstrKind::Copy { .. }
            | InstrKind::Cast { .. }
            | InstrKind::Op { .. }
            | InstrKind::Call { .. }
            | InstrKind::Asm => {}
        }
        for local in instr.operands().filter_map(addressed_local) {
            if self.outs.overwritten.contains(&(point, local)) {
                self.set(local, false, live);
            } else if !self.outs.stored.contains(&(point, local)) {
                self.set(local, true, live);
            }
        }
    }

    fn store(&self, place: &Place, live: &mut FixedBitSet) {
        if let Some(local) = place.as_local() {
            self.set(local, false, live);
        } else if let Some(part) = field_of_local(place)
            && let Ok(index) = self.parts.binary_search(&part)
        {
            live.set(self.n_locals + index, false);
        }
    }

    fn read_addresses<'o>(
        &self,
        operands: impl IntoIterator<Item = &'o Operand>,
        live: &mut FixedBitSet,
    ) {
        for local in operands.into_iter().filter_map(addressed_local) {
            self.set(local, true, live);
        }
    }
}

impl Analysis for Live<'_> {
    type Domain = FixedBitSet;
    const DIRECTION: Direction = Direction::Backward;

    fn bottom(&self) -> FixedBitSet {
        FixedBitSet::with_capacity(self.n_locals + self.parts.len())
    }

    fn boundary(&self) -> FixedBitSet {
        self.bottom()
    }

    fn transfer(&self, node: NodeId, live: &mut FixedBitSet) {
        let start = Point {
            block: BlockId::new(node),
            index: 0,
        };
        self.run_back_to(start, live);
        self.read_before(start, live);
    }

    fn join(&self, into: &mut FixedBitSet, from: &FixedBitSet) -> bool {
        let grows = !from.is_subset(into);
        into.union_with(from);
        grows
    }
}
