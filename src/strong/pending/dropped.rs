//! Calls whose results nothing looks at: where they fail, nothing shows it.
//!
//! ```c
//! PyDict_SetItem(dict, key, value);
//! rc = PyDict_SetItem(dict, key, value);      /* and `rc` is never read */
//! Py_XDECREF(PyObject_CallNoArgs(callback));
//! ```

use rustc_hash::{FxHashMap, FxHashSet};

use super::raising::{Helpers, rejects_objects};
use crate::ast::LocalId;
use crate::cfg::{Base, Callee, Cfg, Instr, InstrKind, Operand, Place, TempId};
use crate::strong::follow::hold::Carrier;

/// The results that nothing looks at, of calls that may fail for other reasons than missing memory.
///
/// A key that is made here is taken to be found without that other keys object to the comparison.
pub(in crate::strong) fn dropped(cfg: &Cfg) -> FxHashSet<TempId> {
    let values = Values::new(cfg);
    let wanted = values.closure(&values.looked_at);
    let sure = values.sure(cfg);
    calls(cfg)
        .map(|(dst, ..)| dst)
        .filter(|dst| !wanted.contains(&Carrier::Temp(*dst)) && !sure.contains(dst))
        .collect()
}

/// The results of calls that may leave an exception, not for missing memory alone.
pub(in crate::strong) fn leaving(cfg: &Cfg, helpers: &Helpers) -> FxHashSet<TempId> {
    let sure = Values::new(cfg).sure(cfg);
    let leaves = |dst: &TempId, callee: &Callee| match callee {
        Callee::Named(name) => match helpers.get(name) {
            Some(helper) => helper.leaves,
            None => rejects_objects(name),
        },
        Callee::Indirect(_) => !helpers.quiet.contains(dst),
    };
    let instrs = cfg.iter().flat_map(|(_, block)| &block.instrs);
    let calls = instrs.filter_map(|instr| match &instr.kind {
        InstrKind::Call { dst, callee, .. } if leaves(dst, callee) => Some(*dst),
        _ => None,
    });
    calls.filter(|call| !sure.contains(call)).collect()
}

fn calls(cfg: &Cfg) -> impl Iterator<Item = (TempId, &Callee, &[Operand])> {
    let instrs = cfg.iter().flat_map(|(_, block)| &block.instrs);
    instrs.filter_map(|instr| match &instr.kind {
        InstrKind::Call { dst, callee, args } => Some((*dst, callee, &args[..])),
        _ => None,
    })
}

/// What values are made from.
#[derive(Default)]
struct Values<'a> {
    sources: FxHashMap<Carrier, Vec<Carrier>>,
    /// What calls, tests, memory, or the result of the function depend on.
    looked_at: Vec<Carrier>,
    /// Results of calls, with the names of the functions.
    calls: FxHashMap<TempId, &'a str>,
    /// Values that come from elsewhere: parameters, memory, arithmetic.
    foreign: FxHashSet<Carrier>,
}

impl<'a> Values<'a> {
    fn new(cfg: &'a Cfg) -> Self {
        let mut values = Self::default();
        let addressed = cfg.address_taken().iter().copied().map(Carrier::Local);
        values.looked_at.extend(addressed.clone());
        values.foreign.extend(addressed);
        let mut declared = FxHashSet::default();
        for (_, block) in cfg.iter() {
            let mut stored = FxHashMap::default();
            for instr in &block.instrs {
                values.add(instr, &mut stored);
                if let InstrKind::Declare { local } = instr.kind {
                    declared.insert(Carrier::Local(local));
                }
            }
            let end = block.terminator.operands();
            values.looked_at.extend(end.into_iter().filter_map(temp));
        }
        let locals = values.sources.values().flatten().copied();
        let parameters = locals.filter(|carrier| match carrier {
            Carrier::Local(_) => !declared.contains(carrier),
            Carrier::Temp(_) => false,
        });
        values.foreign.extend(parameters);
        values
    }

    /// `stored` is what variables have got in the block so far.
    fn add(&mut self, instr: &'a Instr, stored: &mut FxHashMap<LocalId, Option<Carrier>>) {
        let place = instr.place().into_iter().flat_map(Place::operands);
        self.looked_at.extend(place.filter_map(temp));
        let mut read = read(instr);
        match (&instr.kind, instr.place().and_then(Place::as_local)) {
            (InstrKind::Store { value, .. }, Some(local)) => {
                stored.insert(local, temp(value));
            }
            (InstrKind::Load { .. }, Some(local)) => {
                if let Some(stored) = stored.get(&local)
                    && !self.foreign.contains(&Carrier::Local(local))
                {
                    read = Vec::from_iter(*stored);
                }
            }
            _ => {}
        }
        match made(instr) {
            Some(made) => self.sources.entry(made).or_default().extend(read),
            None => self.looked_at.extend(read),
        }
        match &instr.kind {
            InstrKind::Call { dst, callee, .. } => match callee {
                Callee::Named(name) => {
                    self.calls.insert(*dst, name);
                }
                Callee::Indirect(_) => {
                    self.foreign.insert(Carrier::Temp(*dst));
                }
            },
            InstrKind::Load { dst, place } if place.as_local().is_none() => {
                self.foreign.insert(Carrier::Temp(*dst));
            }
            InstrKind::Op { dst, .. } => {
                self.foreign.insert(Carrier::Temp(*dst));
            }
            _ => {}
        }
    }

    /// `of`, and all that they are made from.
    fn closure(&self, of: &[Carrier]) -> FxHashSet<Carrier> {
        let mut open = of.to_vec();
        let mut found = FxHashSet::default();
        while let Some(carrier) = open.pop() {
            if found.insert(carrier) {
                open.extend(self.sources.get(&carrier).into_iter().flatten());
            }
        }
        found
    }

    fn sure(&self, cfg: &Cfg) -> FxHashSet<TempId> {
        let is_sure = |callee: &Callee, args: &[Operand]| match callee {
            Callee::Named(name) => self.is_sure(name, args),
            Callee::Indirect(_) => false,
        };
        let sure = calls(cfg).filter(|(_, callee, args)| is_sure(callee, args));
        sure.map(|(dst, ..)| dst).collect()
    }

    /// Whether the call of `name` fails for nothing but missing memory.
    fn is_sure(&self, name: &str, args: &[Operand]) -> bool {
        match (name, args) {
            // The slots of what is made here are there.
            ("PyList_SetItem" | "PyTuple_SetItem", [container, ..]) => self
                .is_made_by(container, |maker| {
                    matches!(maker, "PyList_New" | "PyTuple_New")
                }),
            ("PyDict_SetItem", [_, key, ..]) => self.is_made_by(key, makes_key),
            ("PyModule_AddIntMacro" | "PyModule_AddStringMacro", _) => true,
            (
                "PyDict_SetItemString"
                | "PyModule_Add"
                | "PyModule_AddIntConstant"
                | "PyModule_AddObject"
                | "PyModule_AddObjectRef"
                | "PyModule_AddStringConstant",
                [_, Operand::Str(_), ..],
            ) => true,
            _ => false,
        }
    }

    /// Whether a value is the result of some calls of such functions, on all paths.
    fn is_made_by(&self, value: &Operand, is_maker: impl Fn(&str) -> bool) -> bool {
        let Some(value) = temp(value) else {
            return false;
        };
        let origins = self.closure(&[value]);
        origins.iter().all(|origin| {
            let by = match origin {
                Carrier::Temp(temp) => self.calls.get(temp),
                Carrier::Local(_) => None,
            };
            !self.foreign.contains(origin) && by.is_none_or(|name| is_maker(name))
        })
    }
}

/// Whether the function makes an object whose `__hash__` and `__eq__` are those of Python itself.
fn makes_key(name: &str) -> bool {
    [
        "PyBool_From",
        "PyBytes_From",
        "PyFloat_From",
        "PyLong_From",
        "PyUnicode_Decode",
        "PyUnicode_From",
        "PyUnicode_Intern",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

/// What gets a value, and matters no more than that does.
fn made(instr: &Instr) -> Option<Carrier> {
    match &instr.kind {
        InstrKind::Store { place, .. } => place.as_local().map(Carrier::Local),
        InstrKind::Call { .. } => None,
        _ => instr.dst().map(Carrier::Temp),
    }
}

/// What the value of a step is made from, or what a step looks at.
fn read(instr: &Instr) -> Vec<Carrier> {
    match &instr.kind {
        InstrKind::Load { place, .. } => match place.base {
            Base::Local(local) => vec![Carrier::Local(local)],
            _ => Vec::new(),
        },
        // It does not mind `NULL`.
        InstrKind::Call {
            callee: Callee::Named(name),
            ..
        } if &**name == "Py_XDECREF" => Vec::new(),
        _ => instr.operands().filter_map(temp).collect(),
    }
}

fn temp(operand: &Operand) -> Option<Carrier> {
    match operand {
        Operand::Temp(temp) => Some(Carrier::Temp(*temp)),
        _ => None,
    }
}
