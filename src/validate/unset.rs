//! Lookups that came in where no path leads, and variables of theirs that are read without a value.
//!
//! ```c
//! if (!PyUnicode_Check(key)) {
//!     continue;
//!     if (PyDict_GetItemRef(dict, key, &item) < 0)    /* nobody gets here … */
//!         return NULL;
//! }
//! use(item);                                          /* … so that this may be anything */
//! ```

use std::collections::BTreeSet;

use fixedbitset::FixedBitSet;

use super::changed::Changed;
use super::proof::{borrowed_seeds, graph, seeds};
use crate::ast::{ExprId, ExprKind, Function, LocalId};
use crate::capi::REPLACEMENTS;
use crate::cfg::{Base, BlockId, Cfg, Instr, InstrKind, Place, addressed_local};
use crate::dataflow::{self, Analysis, Direction, NodeId};
use crate::ownership::track::{Origin, Seed};

/// What is wrong with the lookups that the edits brought into a function.
pub(super) fn wrong(changed: Changed<'_>) -> Option<String> {
    let function = changed.function;
    let lookups = lookups(changed);
    if lookups.is_empty() {
        return None;
    }
    let cfg = graph(function);
    let calls: Vec<ExprId> = lookups.iter().map(|(call, _)| *call).collect();
    if unreached(&cfg, &calls) > unreached_before(changed) {
        let name = &function.name;
        return Some(format!("in `{name}`, no path leads to a new lookup"));
    }
    let targets: BTreeSet<LocalId> = lookups
        .iter()
        .filter_map(|(call, seed)| target(function, *call, seed))
        .collect();
    let befores: Vec<_> = changed.befores().collect();
    let was_unset = |name: &str| {
        befores.iter().any(|(_, before)| {
            let tree = &before.tree;
            let mut unset = read_unset(&graph(before), tree.locals.len()).into_iter();
            unset.any(|local| &*tree.local(local).name == name)
        })
    };
    let unset = read_unset(&cfg, function.tree.locals.len());
    let mut names = unset
        .intersection(&targets)
        .map(|&local| &*function.tree.local(local).name);
    let name = names.find(|name| !was_unset(name))?;
    Some(format!(
        "in `{}`, `{name}` may be read before a lookup has set it",
        function.name
    ))
}

/// The lookups that hand out a reference of their own since, in the place of others.
fn lookups(changed: Changed<'_>) -> Vec<(ExprId, Seed)> {
    let Changed {
        item,
        function,
        applied,
        handing,
        ..
    } = changed;
    let is_lookup = |call: ExprId| {
        let name = function.tree.called(call);
        name.is_some_and(|name| {
            handing.contains(name) || REPLACEMENTS.iter().any(|row| row.strong == name)
        })
    };
    let seeds = seeds(item, function, applied, handing).into_iter();
    let calls = seeds.filter_map(|seed| match seed.origin {
        Origin::Call(call) => Some((call, seed)),
        _ => None,
    });
    calls.filter(|(call, _)| is_lookup(*call)).collect()
}

/// How many of the calls no path leads to.
fn unreached(cfg: &Cfg, calls: &[ExprId]) -> usize {
    let is_reached = |&&call: &&ExprId| {
        let point = cfg.call(call);
        point.is_none_or(|point| !cfg.is_reachable(point.block))
    };
    calls.iter().filter(is_reached).count()
}

/// The most lookups that no path led to before, of all configurations.
fn unreached_before(changed: Changed<'_>) -> usize {
    let counts = changed.befores().map(|(_, before)| {
        let seeds = borrowed_seeds(before, changed.handing).into_iter();
        let calls = seeds.filter_map(|seed| match seed.origin {
            Origin::Call(call) => Some(call),
            _ => None,
        });
        unreached(&graph(before), &calls.collect::<Vec<_>>())
    });
    counts.max().unwrap_or(0)
}

/// The variable that gets the result of a lookup.
fn target(function: &Function, call: ExprId, seed: &Seed) -> Option<LocalId> {
    let tree = &function.tree;
    if let Some(at) = seed.gives.out() {
        let (_, args) = tree.call(call)?;
        return tree.as_address(*args.get(usize::from(at))?);
    }
    tree.exprs.iter().find_map(|expr| match expr.kind {
        ExprKind::Assign { op: None, lhs, rhs } if tree.without_casts(rhs) == call => {
            tree.as_local(lhs)
        }
        _ => None,
    })
}

/// The variables that are read where a path leads without a value for them.
fn read_unset(cfg: &Cfg, n_locals: usize) -> BTreeSet<LocalId> {
    let analysis = Unset { cfg, n_locals };
    let solution = dataflow::solve(cfg, &analysis).expect("sets of variables only grow");
    let mut read = BTreeSet::new();
    for (block, content) in cfg.iter().filter(|(block, _)| cfg.is_reachable(*block)) {
        let mut unset = solution.input(block.index()).clone();
        for instr in &content.instrs {
            if let InstrKind::Load { place, .. } = &instr.kind {
                let local = place.as_local();
                read.extend(local.filter(|local| unset.contains(local.0 as usize)));
            }
            step(instr, &mut unset);
        }
    }
    read
}

fn step(instr: &Instr, unset: &mut FixedBitSet) {
    match &instr.kind {
        InstrKind::Declare { local } => unset.insert(local.0 as usize),
        InstrKind::ScopeEnd { locals } => {
            for local in locals {
                unset.remove(local.0 as usize);
            }
        }
        InstrKind::Store {
            place:
                Place {
                    base: Base::Local(local),
                    ..
                },
            ..
        } => unset.remove(local.0 as usize),
        _ => {}
    }
    for local in instr.operands().filter_map(addressed_local) {
        unset.remove(local.0 as usize);
    }
}

/// The variables without a value on some path.
struct Unset<'c> {
    cfg: &'c Cfg,
    n_locals: usize,
}

impl Analysis for Unset<'_> {
    type Domain = FixedBitSet;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> FixedBitSet {
        FixedBitSet::with_capacity(self.n_locals)
    }

    fn boundary(&self) -> FixedBitSet {
        self.bottom()
    }

    fn transfer(&self, node: NodeId, unset: &mut FixedBitSet) {
        let block = BlockId(u32::try_from(node).expect("block ids are u32"));
        for instr in &self.cfg.block(block).instrs {
            step(instr, unset);
        }
    }

    fn join(&self, into: &mut FixedBitSet, from: &FixedBitSet) -> bool {
        let before = into.count_ones(..);
        into.union_with(from);
        into.count_ones(..) > before
    }
}
