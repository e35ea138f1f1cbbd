//! Which variables are read later.

use fixedbitset::FixedBitSet;

use crate::ast::LocalId;
use crate::dataflow::{self, Analysis, Direction, NodeId, Solution};

use super::{
    Base, BlockId, Cfg, Instr, InstrKind, Operand, Place, Point, Terminator, addressed_local,
};

/// Live variables of a function.
///
/// A variable is live at a point if its present value, or part of it, may be read by name later.
/// Taking its address counts as a read there; reads through the pointer are not seen, see
/// [`Cfg::address_taken`].
#[derive(Debug)]
pub struct Liveness<'a> {
    cfg: &'a Cfg,
    solution: Solution<FixedBitSet>,
    /// What is live on entry to each block, which is asked for most.
    entries: Vec<FixedBitSet>,
    n_locals: usize,
}

impl<'a> Liveness<'a> {
    /// Computes liveness for the `n_locals` variables of the function.
    #[must_use]
    pub fn new(cfg: &'a Cfg, n_locals: usize) -> Self {
        let analysis = Live { cfg, n_locals };
        let solution =
            dataflow::solve(cfg, &analysis).expect("sets of variables only grow, once a variable");
        let entry = |block: BlockId| {
            let mut live = solution.input(block.index()).clone();
            analysis.transfer(block.index(), &mut live);
            live
        };
        let entries = cfg.iter().map(|(block, _)| entry(block)).collect();
        Self {
            cfg,
            solution,
            entries,
            n_locals,
        }
    }

    /// Whether `local` is live at `point`.
    #[must_use]
    pub fn is_live(&self, local: LocalId, point: Point) -> bool {
        match point.index {
            0 => self.entries[point.block.index()].contains(local.0 as usize),
            _ => self.at(point).contains(local.0 as usize),
        }
    }

    /// The variables live at `point`, ascending. Takes time linear in the block.
    #[must_use]
    pub fn live_at(&self, point: Point) -> Vec<LocalId> {
        let index = |local| u32::try_from(local).expect("local ids are u32");
        self.at(point)
            .ones()
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
        let analysis = Live {
            cfg: self.cfg,
            n_locals: self.n_locals,
        };
        analysis.run_back_to(point, &mut live);
        live
    }
}

struct Live<'a> {
    cfg: &'a Cfg,
    n_locals: usize,
}

impl Live<'_> {
    /// From the end of the block of `point` back to it.
    fn run_back_to(&self, point: Point, live: &mut FixedBitSet) {
        let block = self.cfg.block(point.block);
        terminator(&block.terminator, live);
        for instr in block.instrs.iter().skip(point.index).rev() {
            step(instr, live);
        }
    }
}

impl Analysis for Live<'_> {
    type Domain = FixedBitSet;
    const DIRECTION: Direction = Direction::Backward;

    fn bottom(&self) -> FixedBitSet {
        FixedBitSet::with_capacity(self.n_locals)
    }

    fn boundary(&self) -> FixedBitSet {
        self.bottom()
    }

    fn transfer(&self, node: NodeId, live: &mut FixedBitSet) {
        self.run_back_to(
            Point {
                block: BlockId::new(node),
                index: 0,
            },
            live,
        );
    }

    fn join(&self, into: &mut FixedBitSet, from: &FixedBitSet) -> bool {
        let grows = !from.is_subset(into);
        into.union_with(from);
        grows
    }
}

fn terminator(terminator: &Terminator, live: &mut FixedBitSet) {
    read_addresses(terminator.operands(), live);
}

fn step(instr: &Instr, live: &mut FixedBitSet) {
    match &instr.kind {
        InstrKind::Declare { local } => live.remove(local.0 as usize),
        InstrKind::ScopeEnd { locals } => {
            for local in locals {
                live.remove(local.0 as usize);
            }
        }
        InstrKind::Store { place, .. } => {
            if let Some(local) = place.as_local() {
                live.remove(local.0 as usize);
            }
        }
        InstrKind::Load {
            place:
                Place {
                    base: Base::Local(local),
                    ..
                },
            ..
        } => {
            live.insert(local.0 as usize);
        }
        InstrKind::Load { .. }
        | InstrKind::Copy { .. }
        | InstrKind::Cast { .. }
        | InstrKind::Op { .. }
        | InstrKind::Call { .. }
        | InstrKind::Asm => {}
    }
    read_addresses(instr.operands(), live);
}

fn read_addresses<'o>(operands: impl IntoIterator<Item = &'o Operand>, live: &mut FixedBitSet) {
    for local in operands.into_iter().filter_map(addressed_local) {
        live.insert(local.0 as usize);
    }
}
