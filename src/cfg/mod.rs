//! Flow graph of one function, in C evaluation order, as a small register code.
//!
//! ```c
//! static PyObject *first(PyObject *list) {
//!     PyObject *item = PyList_GetItem(list, 0);
//!     if (item == NULL || !check(item))
//!         return NULL;
//!     Py_INCREF(item);
//!     return item;
//! }
//! ```
//!
//! ```text
//! b0:
//!   declare item
//!   t0 = load list
//!   t1 = call PyList_GetItem(t0, 0)
//!   store item = t1
//!   t2 = load item
//!   if t2 == NULL goto b2 else b1
//! b1: <- b0
//!   t3 = load item
//!   t4 = call check(t3)
//!   if t4 != 0 goto b3 else b2
//! b2: <- b0 b1
//!   end item
//!   return NULL
//! b3: <- b1
//!   t5 = load item
//!   t6 = call Py_INCREF(t5)
//!   t7 = load item
//!   end item
//!   return t7
//! ```
//!
//! **Order.** Where C leaves the order open, operands go left to right: callee before arguments,
//! the address of the left side of an assignment before its right side. A compound assignment
//! reads its left side after its right side was computed.
//!
//! **Not evaluated.** Operands of `sizeof`; a variable that stands alone as a statement
//! (`(void)x;` is no use of `x`); initialisers of `static` variables, which no call of the
//! function runs.
//!
//! **Dead code.** Code behind `return` or `if (0)` is kept in blocks without predecessors that can
//! be reached, because edits may sit there: [`Cfg::is_reachable`]. Conditions that are constant
//! make one edge, so `do { … } while (0)` is no loop.
//!
//! **Jumps into a block** skip its `declare`; a variable without `declare` on a path holds
//! nothing there. A computed `goto` ends no scopes.
//!
//! Blocks are numbered in source order. The graph is linear in the size of the function.

mod build;
mod definitions;
mod dominators;
mod dump;
mod instr;
mod liveness;
mod loops;
mod non_null;
mod operand;
mod reach;
mod temps;
mod terminator;

pub use build::build;
pub use definitions::Definition;
pub use dominators::Dominators;
pub use dump::dump;
pub use instr::{Callee, Instr, InstrKind, Op, Source};
pub use liveness::{Liveness, Outs, Part};
pub use loops::{Loop, Loops};
pub use non_null::is_never_null;
pub use operand::{Base, Operand, Place, Projection, TempId};
pub use reach::{Reach, reaches};
pub use temps::LiveTemps;
pub use terminator::{CaseLabel, Comparison, Condition, Terminator};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use fixedbitset::FixedBitSet;
use rustc_hash::FxHashSet;

use crate::ast::{ExprId, LocalId, StmtId};
use crate::dataflow::{Graph, NodeId, reverse_post_order};

/// Names a [`Block`] of one [`Cfg`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

impl BlockId {
    /// The block's place in [`Cfg::blocks`] and its name as a data-flow node.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("a token makes a few blocks at most, and files are small"))
    }
}

/// A point of execution: just before instruction `index` of `block`, or before its terminator if
/// `index` is the number of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point {
    /// The block.
    pub block: BlockId,
    /// The instruction that comes next.
    pub index: usize,
}

impl Point {
    /// The point behind that instruction.
    #[must_use]
    pub const fn next(self) -> Self {
        Self {
            block: self.block,
            index: self.index + 1,
        }
    }
}

/// Instructions that run one after the other.
#[derive(Debug, Clone)]
pub struct Block {
    /// The instructions.
    pub instrs: Vec<Instr>,
    /// What comes after them.
    pub terminator: Terminator,
    /// Targets of the terminator by edge number.
    pub successors: Vec<BlockId>,
    /// Blocks with an edge to this one, each once, ascending. They may be unreachable.
    pub predecessors: Vec<BlockId>,
}

impl Block {
    /// The function of which a call is the last that runs in the block, if flow ends with it.
    #[must_use]
    pub fn stopped_by(&self) -> Option<&str> {
        match (&self.terminator, &self.instrs.last()?.kind) {
            (
                Terminator::Unreachable,
                InstrKind::Call {
                    callee: Callee::Named(name),
                    ..
                },
            ) => Some(name),
            _ => None,
        }
    }
}

/// The flow graph of one function.
#[derive(Debug, Clone)]
pub struct Cfg {
    /// Blocks by [`BlockId`], in source order.
    pub blocks: Vec<Block>,
    /// How many temporaries there are.
    pub temps: u32,
    reachable: Vec<bool>,
    calls: Vec<Option<Point>>,
    stmts: Vec<StmtPoints>,
    /// When first asked for.
    addressed: OnceLock<Vec<LocalId>>,
    /// The same for what lies ahead of each block.
    reach: OnceLock<Vec<FixedBitSet>>,
}

/// Where a statement begins and completes.
#[derive(Debug, Clone, Copy, Default)]
struct StmtPoints {
    entry: Option<Point>,
    exit: Option<Point>,
}

impl Cfg {
    /// The block where the function starts. It has no predecessors.
    pub const ENTRY: BlockId = BlockId(0);

    fn new(
        mut blocks: Vec<Block>,
        temps: u32,
        calls: Vec<Option<Point>>,
        stmts: Vec<StmtPoints>,
    ) -> Self {
        for from in 0..blocks.len() {
            for target in blocks[from].successors.clone() {
                let predecessors = &mut blocks[target.index()].predecessors;
                // Sources come in ascending order, so parallel edges stand next to each other.
                if predecessors.last() != Some(&BlockId::new(from)) {
                    predecessors.push(BlockId::new(from));
                }
            }
        }
        let reachable = vec![false; blocks.len()];
        let mut cfg = Self {
            blocks,
            temps,
            reachable,
            calls,
            stmts,
            addressed: OnceLock::new(),
            reach: OnceLock::new(),
        };
        for block in cfg.reverse_post_order() {
            cfg.reachable[block.index()] = true;
        }
        cfg
    }

    /// The block `id`.
    #[must_use]
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }

    /// All blocks with their names, in source order.
    pub fn iter(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        self.blocks
            .iter()
            .enumerate()
            .map(|(index, block)| (BlockId::new(index), block))
    }

    /// All instructions with their places, block by block.
    pub fn steps(&self) -> impl Iterator<Item = (Point, &Instr)> {
        self.iter().flat_map(|(block, content)| {
            let instrs = content.instrs.iter().enumerate();
            instrs.map(move |(index, instr)| (Point { block, index }, instr))
        })
    }

    /// Whether some path from the entry leads to the block.
    #[must_use]
    pub fn is_reachable(&self, block: BlockId) -> bool {
        self.reachable[block.index()]
    }

    /// The instruction at `point`; `None` at a terminator.
    #[must_use]
    pub fn instr(&self, point: Point) -> Option<&Instr> {
        self.block(point.block).instrs.get(point.index)
    }

    /// Where the call expression `expr` runs; `None` for other expressions and for calls that are
    /// not evaluated.
    #[must_use]
    pub fn call(&self, expr: ExprId) -> Option<Point> {
        self.calls.get(expr.0 as usize).copied().flatten()
    }

    /// Where the assignment `expr` stores; `None` as for [`Self::call`].
    #[must_use]
    pub fn store(&self, expr: ExprId) -> Option<Point> {
        let mut steps = self.steps();
        let stores = |instr: &Instr| {
            matches!(instr.kind, InstrKind::Store { .. }) && instr.source == Source::Expr(expr)
        };
        steps.find_map(|(point, instr)| stores(instr).then_some(point))
    }

    /// The point before the first step of `stmt`; of a loop, before its first iteration. `None`
    /// if the statement is not evaluated.
    #[must_use]
    pub fn before(&self, stmt: StmtId) -> Option<Point> {
        self.stmts.get(stmt.0 as usize)?.entry
    }

    /// The point where `stmt` has completed and the next one has not begun. `None` if it never
    /// completes: `return`, `goto`, a call that does not return, an endless loop.
    #[must_use]
    pub fn after(&self, stmt: StmtId) -> Option<Point> {
        self.stmts.get(stmt.0 as usize)?.exit
    }

    /// What the step after `point` was made from; `None` before `goto` and where nothing is
    /// reached.
    #[must_use]
    pub fn source(&self, point: Point) -> Option<Source> {
        if let Some(instr) = self.instr(point) {
            return Some(instr.source);
        }
        match &self.block(point.block).terminator {
            Terminator::Branch { condition, .. } => Some(Source::Expr(condition.expr)),
            Terminator::Switch { stmt, .. } | Terminator::Return(_, stmt) => {
                Some(Source::Stmt(*stmt))
            }
            Terminator::Goto(_) | Terminator::Indirect(_) | Terminator::Unreachable => None,
        }
    }

    /// Where the function is left by `return` or by its end, ascending.
    pub fn returns(&self) -> impl Iterator<Item = Point> {
        self.iter().filter_map(|(block, content)| {
            let index = content.instrs.len();
            matches!(content.terminator, Terminator::Return(..)).then_some(Point { block, index })
        })
    }

    /// Reachable blocks, each before its successors except along edges that close a cycle.
    #[must_use]
    pub fn reverse_post_order(&self) -> Vec<BlockId> {
        reverse_post_order(self)
            .into_iter()
            .map(BlockId::new)
            .collect()
    }

    /// Variables whose address is taken, ascending: other code may read and write them through a
    /// pointer.
    #[must_use]
    pub fn address_taken(&self) -> &[LocalId] {
        self.addressed.get_or_init(|| {
            let instrs = self.blocks.iter().flat_map(|block| &block.instrs);
            let of_instrs = instrs.flat_map(Instr::operands);
            let ends = self.blocks.iter().map(|block| &block.terminator);
            let operands = of_instrs.chain(ends.flat_map(|end| end.operands()));
            let mut locals: Vec<LocalId> = operands.filter_map(addressed_local).collect();
            locals.sort_unstable();
            locals.dedup();
            locals
        })
    }
}

impl Cfg {
    /// Temporaries that are used in another block than the one that makes them.
    #[must_use]
    pub fn crossing_temps(&self) -> FxHashSet<TempId> {
        let mut crossing = FxHashSet::default();
        for (_, block) in self.iter() {
            let mut made = FxHashSet::default();
            let mut note = |operand: &Operand, made: &FxHashSet<TempId>| {
                if let Operand::Temp(temp) = operand
                    && !made.contains(temp)
                {
                    crossing.insert(*temp);
                }
            };
            for instr in &block.instrs {
                instr.operands().for_each(|operand| note(operand, &made));
                // The arms of `?:` make one temporary in several blocks.
                if !matches!(instr.kind, InstrKind::Copy { .. }) {
                    made.extend(instr.dst());
                }
            }
            let last = block.terminator.operands().into_iter();
            last.for_each(|operand| note(operand, &made));
        }
        crossing
    }

    /// Variables whose address, or that of a part, other variables or memory get: they are read
    /// through these, too.
    #[must_use]
    pub fn pointed_at(&self) -> BTreeSet<LocalId> {
        let inner = self.inner_addresses();
        let instrs = self.iter().flat_map(|(_, block)| &block.instrs);
        let stores = instrs.filter(|instr| matches!(instr.kind, InstrKind::Store { .. }));
        let operands = stores.flat_map(Instr::operands);
        operands.flat_map(|it| variables_at(it, &inner)).collect()
    }

    /// The variables in which temporaries may be addresses: `array + i`, `first ? &a : &b`.
    #[must_use]
    pub fn inner_addresses(&self) -> BTreeMap<TempId, BTreeSet<LocalId>> {
        let mut found = BTreeMap::new();
        for instr in self.iter().flat_map(|(_, block)| &block.instrs) {
            let dst = match &instr.kind {
                InstrKind::Op {
                    op: Op::Binary(op), ..
                } if op.is_comparison() => continue,
                InstrKind::Copy { dst, .. }
                | InstrKind::Cast { dst, .. }
                | InstrKind::Op { dst, .. } => *dst,
                _ => continue,
            };
            let operands = instr.operands();
            let locals: BTreeSet<LocalId> =
                operands.flat_map(|it| variables_at(it, &found)).collect();
            if !locals.is_empty() {
                found.entry(dst).or_default().extend(locals);
            }
        }
        found
    }

    /// The steps that take the address of `local` or of a part of it; a block's end comes behind
    /// its steps.
    pub fn addressing(&self, local: LocalId) -> impl Iterator<Item = Point> + '_ {
        self.iter().flat_map(move |(block, content)| {
            let takes = move |operand: &Operand| addressed_local(operand) == Some(local);
            let instrs = content.instrs.iter();
            let steps = instrs.map(move |instr| instr.operands().into_iter().any(takes));
            let end = content.terminator.operands().into_iter().any(takes);
            let all = (0..).zip(steps.chain([end]));
            all.filter_map(move |(index, found)| found.then_some(Point { block, index }))
        })
    }
}

/// The variable of which `operand` is the address or part of it.
#[must_use]
pub fn addressed_local(operand: &Operand) -> Option<LocalId> {
    match operand {
        Operand::AddressOf(place) => match place.base {
            Base::Local(local) => Some(local),
            Base::Global(_) | Base::Deref(_) | Base::Unnamed(_) => None,
        },
        _ => None,
    }
}

impl Graph for Cfg {
    fn node_count(&self) -> usize {
        self.blocks.len()
    }

    fn entry(&self) -> NodeId {
        Self::ENTRY.index()
    }

    fn successors(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        self.blocks[node]
            .successors
            .iter()
            .map(|block| block.index())
    }

    fn predecessors(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        self.blocks[node]
            .predecessors
            .iter()
            .map(|block| block.index())
    }
}

/// The variables in which an operand may be an address.
fn variables_at(
    operand: &Operand,
    inner: &BTreeMap<TempId, BTreeSet<LocalId>>,
) -> BTreeSet<LocalId> {
    match operand {
        Operand::Temp(temp) => inner.get(temp).cloned().unwrap_or_default(),
        _ => addressed_local(operand).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests;
