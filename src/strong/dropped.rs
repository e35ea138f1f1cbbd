//! Calls whose results nothing looks at: where they fail, nothing shows it.
//!
//! ```c
//! PyDict_SetItem(dict, key, value);
//! rc = PyDict_SetItem(dict, key, value);      /* and `rc` is never read */
//! Py_XDECREF(PyObject_CallNoArgs(callback));
//! ```

use rustc_hash::{FxHashMap, FxHashSet};

use super::hold::Carrier;
use crate::cfg::{Base, Callee, Cfg, Instr, InstrKind, Operand, Place, TempId};

/// The results that nothing looks at.
pub(super) fn dropped(cfg: &Cfg) -> FxHashSet<TempId> {
    let values = Values::new(cfg);
    let wanted = values.closure(&values.looked_at);
    let calls = cfg.iter().flat_map(|(_, block)| &block.instrs);
    let calls = calls.filter_map(|instr| match &instr.kind {
        InstrKind::Call { dst, callee, args } => Some((*dst, callee, args)),
        _ => None,
    });
    calls
        .filter(|(dst, ..)| !wanted.contains(&Carrier::Temp(*dst)))
        .filter(|(_, callee, args)| !values.fills_new(callee, args))
        .map(|(dst, ..)| dst)
        .collect()
}

/// What values are made from.
#[derive(Default)]
struct Values {
    sources: FxHashMap<Carrier, Vec<Carrier>>,
    /// What calls, tests, memory, or the result of the function depend on.
    looked_at: Vec<Carrier>,
    /// Lists and tuples that are made here.
    new: FxHashSet<TempId>,
}

impl Values {
    fn new(cfg: &Cfg) -> Self {
        let addressed = cfg.address_taken().into_iter().map(Carrier::Local);
        let mut values = Self {
            looked_at: addressed.collect(),
            ..Self::default()
        };
        for (_, block) in cfg.iter() {
            for instr in &block.instrs {
                values.add(instr);
            }
            let end = block.terminator.operands();
            values.looked_at.extend(end.into_iter().filter_map(temp));
        }
        values
    }

    fn add(&mut self, instr: &Instr) {
        let place = instr.place().into_iter().flat_map(Place::operands);
        self.looked_at.extend(place.filter_map(temp));
        let read = read(instr);
        match made(instr) {
            Some(made) => self.sources.entry(made).or_default().extend(read),
            None => self.looked_at.extend(read),
        }
        if let InstrKind::Call { dst, callee, .. } = &instr.kind
            && matches!(callee, Callee::Named(name) if is_any(name, ["PyList_New", "PyTuple_New"]))
        {
            self.new.insert(*dst);
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

    /// Whether a call fills a slot of a list or tuple that is made here: it cannot fail.
    fn fills_new(&self, callee: &Callee, args: &[Operand]) -> bool {
        let fills = matches!(callee, Callee::Named(name)
            if is_any(name, ["PyList_SetItem", "PyTuple_SetItem"]));
        let Some(container) = args.first().and_then(temp).filter(|_| fills) else {
            return false;
        };
        let origins = self.closure(&[container]);
        origins.iter().all(|origin| match origin {
            Carrier::Temp(temp) => self.new.contains(temp) || self.sources.contains_key(origin),
            Carrier::Local(_) => self.sources.contains_key(origin),
        })
    }
}

fn is_any<const N: usize>(name: &str, names: [&str; N]) -> bool {
    names.contains(&name)
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
