//! Which places hold the same value for sure, as far as one block shows.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ast::LocalId;
use crate::cfg::{Base, Block, Cfg, InstrKind, Operand, Place, Projection, TempId, Terminator};
use crate::strong::follow::hold::Carrier;

/// What loads give that read what the block has stored, with nothing between that could change it:
///
/// ```c
/// self->dict = PyDict_New();
/// if (self->dict == NULL)
/// ```
pub(in crate::strong) fn forwarded(cfg: &Cfg) -> FxHashMap<TempId, Operand> {
    let mut forwarded = FxHashMap::default();
    for (_, block) in cfg.iter() {
        let mut pointers: FxHashMap<TempId, LocalId> = FxHashMap::default();
        let mut stored: Option<(Memory, &Operand)> = None;
        for instr in &block.instrs {
            match &instr.kind {
                InstrKind::Load { dst, place } => match (place.as_local(), &stored) {
                    (Some(local), _) => {
                        pointers.insert(*dst, local);
                    }
                    (None, Some((memory, value))) => {
                        if Memory::of(place, &pointers).as_ref() == Some(memory) {
                            forwarded.insert(*dst, (*value).clone());
                        }
                    }
                    (None, None) => {}
                },
                InstrKind::Store { place, value } => match place.as_local() {
                    Some(local) => {
                        pointers.retain(|_, from| *from != local);
                        stored.take_if(|(memory, _)| memory.base == Ok(local));
                    }
                    None => stored = Memory::of(place, &pointers).map(|memory| (memory, value)),
                },
                InstrKind::Call { .. } | InstrKind::Asm => stored = None,
                _ => {}
            }
        }
    }
    forwarded
}

/// A global variable or a field, named so that two mentions of it are equal.
#[derive(Debug, PartialEq, Eq)]
struct Memory<'a> {
    /// The variable with the pointer, or the name of the global one.
    base: Result<LocalId, &'a str>,
    fields: Vec<&'a str>,
}

impl<'a> Memory<'a> {
    fn of(place: &'a Place, pointers: &FxHashMap<TempId, LocalId>) -> Option<Self> {
        let base = match &place.base {
            Base::Global(name) => Err(&**name),
            Base::Deref(Operand::Temp(temp)) => Ok(*pointers.get(temp)?),
            _ => return None,
        };
        let fields = place.path.iter().map(|step| match step {
            Projection::Field(name) => Some(&**name),
            Projection::Index(_) => None,
        });
        let fields = fields.collect::<Option<_>>()?;
        Some(Self { base, fields })
    }
}

/// What holds the value that `block` ends with a test of: the temporary, and variables that it was
/// read from or stored to.
///
/// Not variables that are `unsure`, which may change in between.
pub(in crate::strong) fn held_at_end(block: &Block, unsure: &FxHashSet<LocalId>) -> Vec<Carrier> {
    let Terminator::Branch { condition, .. } = &block.terminator else {
        return Vec::new();
    };
    let Operand::Temp(tested) = condition.lhs else {
        return Vec::new();
    };
    let mut locals: BTreeMap<LocalId, TempId> = BTreeMap::new();
    for instr in &block.instrs {
        match &instr.kind {
            InstrKind::Load { dst, place } => {
                if let Some(local) = place.as_local() {
                    locals.insert(local, *dst);
                }
            }
            InstrKind::Store { place, value } => {
                if let Some(local) = place.as_local() {
                    match value {
                        Operand::Temp(temp) => locals.insert(local, *temp),
                        _ => locals.remove(&local),
                    };
                }
            }
            _ => {}
        }
    }
    let held = locals
        .into_iter()
        .filter(|(local, temp)| *temp == tested && !unsure.contains(local));
    let held = held.map(|(local, _)| Carrier::Local(local));
    held.chain([Carrier::Temp(tested)]).collect()
}
