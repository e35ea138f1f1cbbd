//! The functions with their flow graphs, and which stores their loads see.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::origin::Root;
use crate::ast::{Function, LocalId};
use crate::cfg::{Base, Cfg, Instr, InstrKind, Operand, Point, Projection, TempId, reaches};
use crate::roles::is_slot;
use crate::rule::ItemId;

/// A function with its flow graph.
#[derive(Debug)]
pub(super) struct Code<'a> {
    pub(super) item: ItemId,
    pub(super) function: &'a Function,
    pub(super) cfg: Cfg,
    /// Where temporaries get their values.
    defs: FxHashMap<TempId, Vec<Point>>,
    /// The values that loads of a variable may give, for variables that nothing else changes.
    reaching: FxHashMap<TempId, Vec<Definition>>,
}

/// What gives a variable its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Definition {
    Param(usize),
    Store(Point),
}

/// Most pairs of a store and a load of one variable that are looked at.
const MAX_PAIRS: usize = 2000;

impl<'a> Code<'a> {
    pub(super) fn new(item: ItemId, function: &'a Function, cfg: Cfg) -> Self {
        let mut defs: FxHashMap<TempId, Vec<Point>> = FxHashMap::default();
        for (point, instr) in cfg.steps() {
            if let Some(dst) = instr.dst() {
                defs.entry(dst).or_default().push(point);
            }
        }
        let reaching = reaching(function, &cfg);
        Self {
            item,
            function,
            cfg,
            defs,
            reaching,
        }
    }

    pub(super) fn is_automatic(&self, local: LocalId) -> bool {
        self.function.tree.local(local).is_automatic()
    }

    /// Where a root comes to be, anew each time.
    pub(super) fn births(&self, root: Root) -> &[Point] {
        match root {
            Root::Made(call) => self.defs.get(&call).map_or(&[], Vec::as_slice),
            Root::Stack(_) | Root::Literal(_) | Root::Param(_) => &[],
        }
    }

    /// The call that has made what `operand` points to and not been run again since: the operand is
    /// its result, or a variable that can only hold that.
    pub(super) fn born(&self, operand: &Operand) -> Option<TempId> {
        let Operand::Temp(temp) = operand else {
            return None;
        };
        let [def] = self.defs.get(temp)?[..] else {
            return None;
        };
        match &self.cfg.instr(def)?.kind {
            InstrKind::Call { dst, .. } => Some(*dst),
            InstrKind::Cast { src, .. } => self.born(src),
            InstrKind::Load { dst, .. } => match self.definitions(*dst)? {
                [Definition::Store(at)] => self.is_made_here(*at),
                _ => None,
            },
            _ => None,
        }
    }

    /// The call whose result a step stores, if they run together: `item = (Item *)make();`.
    fn is_made_here(&self, at: Point) -> Option<TempId> {
        let mut value = self.stored(at)?;
        loop {
            let Operand::Temp(temp) = value else {
                return None;
            };
            let [def] = self.defs.get(temp)?[..] else {
                return None;
            };
            match &self.cfg.instr(def)?.kind {
                InstrKind::Cast { src, .. } => value = src,
                InstrKind::Call { dst, .. } if def.block == at.block => return Some(*dst),
                _ => return None,
            }
        }
    }

    /// The call with the result `dst`.
    pub(super) fn call(&self, dst: TempId) -> Option<&Instr> {
        let defs = self.defs.get(&dst)?;
        self.cfg.instr(*defs.first()?)
    }

    /// The values that the load into `dst` may give, if nothing else changes the variable.
    pub(super) fn definitions(&self, dst: TempId) -> Option<&[Definition]> {
        self.reaching.get(&dst).map(Vec::as_slice)
    }

    /// What a step stores.
    pub(super) fn stored(&self, at: Point) -> Option<&Operand> {
        match &self.cfg.instr(at)?.kind {
            InstrKind::Store { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The step that loads `operand`, if one does.
    pub(super) fn loaded(&self, operand: &Operand) -> Option<&Instr> {
        let Operand::Temp(temp) = operand else {
            return None;
        };
        let defs = self.defs.get(temp)?;
        let [def] = defs[..] else {
            return None;
        };
        let instr = self.cfg.instr(def)?;
        match &instr.kind {
            InstrKind::Cast { src, .. } => self.loaded(src),
            InstrKind::Load { .. } => Some(instr),
            _ => None,
        }
    }
}

/// The stores from which paths lead to each load of a variable, on which it gets no other value.
fn reaching(function: &Function, cfg: &Cfg) -> FxHashMap<TempId, Vec<Definition>> {
    let mut stores: FxHashMap<LocalId, Vec<Point>> = FxHashMap::default();
    let mut loads: BTreeMap<LocalId, Vec<(TempId, Point)>> = BTreeMap::new();
    let mut parts: FxHashSet<LocalId> = cfg.address_taken().iter().copied().collect();
    for (at, instr) in cfg.steps() {
        let Some(place) = instr.place() else {
            continue;
        };
        match (place.as_local(), &instr.kind) {
            (Some(local), InstrKind::Store { .. }) => stores.entry(local).or_default().push(at),
            (Some(local), InstrKind::Load { dst, .. }) => {
                loads.entry(local).or_default().push((*dst, at));
            }
            _ => {
                if let Base::Local(local) = place.base {
                    parts.insert(local);
                }
            }
        }
    }
    let mut found = FxHashMap::default();
    for (local, loads) in loads {
        let stores = stores.get(&local).map_or(&[][..], Vec::as_slice);
        if parts.contains(&local) || stores.len() * loads.len() > MAX_PAIRS {
            continue;
        }
        let param = function.params.iter().position(|&param| param == local);
        let entry = Point {
            block: Cfg::ENTRY,
            index: 0,
        };
        for (dst, at) in loads {
            let others = |own: Option<Point>| -> Vec<Point> {
                stores
                    .iter()
                    .copied()
                    .filter(|&it| Some(it) != own)
                    .collect()
            };
            let is_live = |from: Point, own| reaches(cfg, from, at, &others(own));
            let of_stores = stores.iter().filter(|it| is_live(it.next(), Some(**it)));
            let mut all: Vec<Definition> = of_stores.map(|&it| Definition::Store(it)).collect();
            all.extend(
                param
                    .filter(|_| is_live(entry, None))
                    .map(Definition::Param),
            );
            found.insert(dst, all);
        }
    }
    found
}

/// The slot of a type that a pointer to a function is read from.
pub(super) fn slot<'c>(code: &'c Code<'_>, pointer: &Operand) -> Option<&'c str> {
    let instr = code.loaded(pointer)?;
    let InstrKind::Load { place, .. } = &instr.kind else {
        return None;
    };
    match place.path.last() {
        Some(Projection::Field(field)) if is_slot(field) => Some(field),
        _ => None,
    }
}
