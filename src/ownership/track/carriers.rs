//! The variables that tell one path of a reference from another.

use rustc_hash::FxHashSet;

use super::{Origin, Seed};
use crate::ast::LocalId;
use crate::cfg::{Cfg, Instr, InstrKind, Operand, Source, TempId};

/// The variables that the results of `seeds` may get to, status results among them.
///
/// ```c
/// rc = PyDict_GetItemRef(dict, key, &v);   /* rc, v */
/// w = (Thing *)v;                          /* w */
/// ```
pub(super) fn carriers(cfg: &Cfg, seeds: &[Seed]) -> FxHashSet<LocalId> {
    let mut found = Found::default();
    found
        .locals
        .extend(seeds.iter().filter_map(|seed| match seed.origin {
            Origin::Local(local) => Some(local),
            Origin::Call(_) | Origin::Param(_) => None,
        }));
    loop {
        let before = (found.locals.len(), found.temps.len());
        for instr in cfg.iter().flat_map(|(_, block)| &block.instrs) {
            found.note(instr, seeds);
        }
        if before == (found.locals.len(), found.temps.len()) {
            return found.locals;
        }
    }
}

#[derive(Default)]
struct Found {
    locals: FxHashSet<LocalId>,
    temps: FxHashSet<TempId>,
}

impl Found {
    fn note(&mut self, instr: &Instr, seeds: &[Seed]) {
        match &instr.kind {
            InstrKind::Call { dst, args, .. } => {
                if seeds
                    .iter()
                    .any(|seed| matches!(seed.origin, Origin::Call(call) if instr.source == Source::Expr(call)))
                {
                    self.temps.insert(*dst);
                    self.locals.extend(args.iter().filter_map(addressed));
                }
            }
            InstrKind::Load { dst, place } => {
                let local = place.as_local();
                if local.is_some_and(|local| self.locals.contains(&local)) {
                    self.temps.insert(*dst);
                }
            }
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
                if self.has(src) {
                    self.temps.insert(*dst);
                }
            }
            InstrKind::Store { place, value } => {
                if self.has(value) {
                    self.locals.extend(place.as_local());
                }
            }
            InstrKind::Op { .. }
            | InstrKind::Declare { .. }
            | InstrKind::ScopeEnd { .. }
            | InstrKind::Asm => {}
        }
    }

    fn has(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Temp(temp) if self.temps.contains(temp))
    }
}

/// The variable whose address an operand is.
pub(super) fn addressed(operand: &Operand) -> Option<LocalId> {
    match operand {
        Operand::AddressOf(place) => place.as_local(),
        _ => None,
    }
}
