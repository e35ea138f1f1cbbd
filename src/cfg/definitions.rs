//! Which definitions of a variable its loads may see.

use std::collections::BTreeSet;

use super::{BlockId, Cfg, Instr, InstrKind, Point};
use crate::ast::LocalId;
use crate::dataflow::{self, Analysis, Direction, NodeId};

/// Where a variable gets a value; `None` is what a parameter has at the entry.
pub type Definition = Option<Point>;

impl Cfg {
    /// The loads of `local`, each with those of `definitions` that reach it. What a variable holds before
    /// its first definition, or after its scope has ended, is none. `None` if that cannot be told.
    #[must_use]
    pub fn reaching_definitions(
        &self,
        local: LocalId,
        definitions: &BTreeSet<Definition>,
    ) -> Option<Vec<(Point, BTreeSet<Definition>)>> {
        let reaching = Reaching {
            cfg: self,
            local,
            definitions,
        };
        let solution = dataflow::solve(self, &reaching).ok()?;
        let mut loads = Vec::new();
        for (block, content) in self.iter() {
            let mut state = solution.input(block.index()).clone();
            for (index, instr) in content.instrs.iter().enumerate() {
                let at = Point { block, index };
                let is_load = matches!(&instr.kind, InstrKind::Load { place, .. }
                    if place.as_local() == Some(local));
                if is_load {
                    loads.push((at, state.clone()));
                }
                reaching.step(at, instr, &mut state);
            }
        }
        Some(loads)
    }
}

struct Reaching<'c> {
    cfg: &'c Cfg,
    local: LocalId,
    definitions: &'c BTreeSet<Definition>,
}

impl Reaching<'_> {
    fn step(&self, at: Point, instr: &Instr, state: &mut BTreeSet<Definition>) {
        let ends = match &instr.kind {
            InstrKind::Declare { local } => *local == self.local,
            InstrKind::ScopeEnd { locals } => locals.contains(&self.local),
            _ => false,
        };
        if ends {
            state.clear();
        } else if self.definitions.contains(&Some(at)) {
            *state = BTreeSet::from([Some(at)]);
        }
    }
}

impl Analysis for Reaching<'_> {
    type Domain = BTreeSet<Definition>;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Self::Domain {
        BTreeSet::new()
    }

    fn boundary(&self) -> Self::Domain {
        let parameter = self.definitions.get(&None);
        parameter.copied().into_iter().collect()
    }

    fn transfer(&self, node: NodeId, state: &mut Self::Domain) {
        let block = BlockId::new(node);
        for (index, instr) in self.cfg.block(block).instrs.iter().enumerate() {
            self.step(Point { block, index }, instr, state);
        }
    }

    fn join(&self, into: &mut Self::Domain, from: &Self::Domain) -> bool {
        let before = into.len();
        into.extend(from);
        into.len() > before
    }
}
