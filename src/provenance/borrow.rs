//! How long a borrowed value is in use: the value, its copies, and what points into it.

use std::collections::BTreeSet;

use crate::ast::{LocalId, UnaryOp};
use crate::capi::{self, Returns};
use crate::cfg::{
    Base, Callee, Instr, InstrKind, Liveness, Op, Operand, Point, TempId, Terminator,
};

use super::flow::{Flow, Origin, address_of_local};

/// What holds a borrowed value or depends on it; larger than the truth, never smaller.
#[derive(Debug)]
pub(super) struct Borrow<'f> {
    flow: &'f Flow<'f>,
    liveness: Liveness<'f>,
    site: Point,
    temps: BTreeSet<TempId>,
    locals: BTreeSet<LocalId>,
    /// Where the value is stored, returned, or its variable's address given away.
    escapes: bool,
    /// Calls that turn the value into a reference of its own.
    pub(super) adoptions: Vec<Point>,
}

impl<'f> Borrow<'f> {
    /// What the call at `site` hands out.
    pub(super) fn new(flow: &'f Flow<'f>, site: Point) -> Self {
        let mut borrow = Self {
            flow,
            liveness: flow.liveness(),
            site,
            temps: BTreeSet::new(),
            locals: BTreeSet::new(),
            escapes: false,
            adoptions: Vec::new(),
        };
        if let Some(instr) = flow.cfg.instr(site) {
            borrow.temps.extend(instr.dst());
            borrow.locals.extend(outs(instr));
        }
        borrow.spread();
        borrow.note_uses();
        borrow
    }

    /// Whether the value outlives the function as a borrowed one.
    pub(super) fn escapes(&self) -> bool {
        self.escapes && self.adoptions.is_empty()
    }

    /// Whether the step at `point`, or one after it, may use the value.
    pub(super) fn is_live_at(&self, point: Point) -> bool {
        let block = self.flow.cfg.block(point.block);
        let used_later = block.instrs[point.index.min(block.instrs.len())..]
            .iter()
            .flat_map(Instr::operands)
            .chain(block.terminator.operands())
            .any(|operand| self.is_earlier_temp(operand, point));
        let after = Point {
            block: point.block,
            index: (point.index + 1).min(block.instrs.len()),
        };
        used_later
            || self
                .locals
                .iter()
                .any(|&local| self.liveness.is_live(local, after))
    }

    /// Whether a step after the one at `point` may use the value.
    pub(super) fn outlives(&self, point: Point) -> bool {
        let after = Point {
            index: point.index + 1,
            ..point
        };
        let block = self.flow.cfg.block(point.block);
        let later = block.instrs.get(after.index..).unwrap_or_default();
        let mut used = later
            .iter()
            .flat_map(Instr::operands)
            .chain(block.terminator.operands());
        used.any(|operand| self.is_earlier_temp(operand, after))
            || self
                .pointers()
                .any(|local| self.is_read_after(local, point))
    }

    /// The variables that may hold pointers: the length of a text does not end with the text.
    fn pointers(&self) -> impl Iterator<Item = LocalId> {
        let ty = |local: LocalId| &self.flow.function.tree.local(local).ty;
        let locals = self.locals.iter().copied();
        locals.filter(move |&local| !ty(local).is_number())
    }

    /// Whether the value of `local` is read after the step at `point`.
    fn is_read_after(&self, local: LocalId, point: Point) -> bool {
        let replaced: Vec<Point> = self.replaced(local).chain([self.site]).collect();
        let mut steps = self.flow.instrs();
        steps.any(|(at, instr)| match &instr.kind {
            InstrKind::Load { place, .. } if matches!(place.base, Base::Local(it) if it == local) => {
                self.flow.reaches(point, at, &replaced)
            }
            _ => false,
        })
    }

    /// The steps behind which the value is gone: the next lookup, and those at which the only
    /// variable gets another value.
    pub(super) fn ends(&self) -> Vec<Point> {
        let mut pointers = self.pointers();
        match (pointers.next(), pointers.next()) {
            (Some(only), None) => self.replaced(only).chain([self.site]).collect(),
            _ => vec![self.site],
        }
    }

    /// The steps at which `local` gets another value.
    fn replaced(&self, local: LocalId) -> impl Iterator<Item = Point> {
        let stores = self
            .flow
            .instrs()
            .filter(move |(_, instr)| match &instr.kind {
                InstrKind::Store { place, value } => {
                    place.as_local() == Some(local) && !self.holds(value)
                }
                // `PyDict_Next(dict, &i, &key, &value)`
                InstrKind::Call {
                    callee: Callee::Named(name),
                    args,
                    ..
                } => {
                    let fills = args.iter().any(|arg| address_of_local(arg) == Some(local));
                    fills && capi::effects(name).is_some()
                }
                _ => false,
            });
        stores.map(|(point, _)| point)
    }

    /// Whether `operand` is of this value and was had before `point`.
    fn is_earlier_temp(&self, operand: &Operand, point: Point) -> bool {
        let Operand::Temp(temp) = operand else {
            return false;
        };
        let instrs = &self.flow.cfg.block(point.block).instrs;
        let had_later = instrs[point.index.min(instrs.len())..]
            .iter()
            .any(|instr| instr.dst() == Some(*temp));
        self.temps.contains(temp) && !had_later
    }

    fn spread(&mut self) {
        loop {
            let before = (self.temps.len(), self.locals.len());
            for (point, instr) in self.flow.instrs() {
                if point != self.site {
                    self.step(point, instr);
                }
            }
            if before == (self.temps.len(), self.locals.len()) {
                return;
            }
        }
    }

    fn holds(&self, operand: &Operand) -> bool {
        match operand {
            Operand::Temp(temp) => self.temps.contains(temp),
            _ => false,
        }
    }

    fn step(&mut self, point: Point, instr: &Instr) {
        match &instr.kind {
            InstrKind::Load { dst, place } => {
                let held = match &place.base {
                    Base::Local(local) => self.locals.contains(local),
                    Base::Deref(pointer) => self.holds(pointer),
                    Base::Global(_) | Base::Unnamed(_) => false,
                };
                if held {
                    self.temps.insert(*dst);
                }
            }
            InstrKind::Store { place, value } => {
                if let Base::Local(local) = place.base
                    && self.holds(value)
                {
                    self.locals.insert(local);
                }
            }
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
                if self.holds(src) {
                    self.temps.insert(*dst);
                }
            }
            InstrKind::Op { dst, op, operands } => {
                if !is_test(*op) && operands.iter().any(|operand| self.holds(operand)) {
                    self.temps.insert(*dst);
                }
            }
            InstrKind::Call { dst, callee, args } => {
                if self.is_derived(callee, args) {
                    if !self.flow.is_released(point) {
                        self.temps.insert(*dst);
                    }
                    self.locals.extend(args.iter().filter_map(address_of_local));
                }
            }
            InstrKind::Declare { .. } | InstrKind::ScopeEnd { .. } | InstrKind::Asm => {}
        }
    }

    /// Whether what the call gives may point into the value.
    fn is_derived(&self, callee: &Callee, args: &[Operand]) -> bool {
        let Callee::Named(name) = callee else {
            return args.iter().any(|arg| self.holds(arg));
        };
        // The items that a format names live in the tuple.
        if name.starts_with("PyArg_") {
            return args.iter().any(|arg| self.holds(arg));
        }
        let Some(effects) = capi::effects(name) else {
            return args.iter().any(|arg| self.holds(arg));
        };
        let from = match effects.returns {
            Returns::Borrowed { from } => from.or(effects.derived_from),
            _ => effects.derived_from,
        };
        let owner = from.and_then(|arg| args.get(usize::from(arg)));
        owner.is_some_and(|arg| self.holds(arg))
    }

    fn note_uses(&mut self) {
        for (point, instr) in self.flow.instrs() {
            match &instr.kind {
                InstrKind::Store { place, value } if self.holds(value) => {
                    self.escapes |= !matches!(place.base, Base::Local(_));
                }
                InstrKind::Call {
                    callee: Callee::Named(name),
                    args,
                    ..
                } => {
                    let adopts = matches!(
                        &**name,
                        "Py_INCREF" | "Py_XINCREF" | "Py_NewRef" | "Py_XNewRef" | "Py_IncRef"
                    );
                    // Only the value itself: a reference to an item of it does not keep it.
                    let own = [Origin::Call(self.site)];
                    if adopts
                        && args
                            .first()
                            .is_some_and(|arg| self.flow.origins(arg) == own)
                    {
                        self.adoptions.push(point);
                    }
                    self.escapes |= capi::effects(name).is_none() && self.gives_address(instr);
                }
                _ => self.escapes |= self.gives_address(instr),
            }
        }
        let mut returned = self.flow.returns().map(|(_, value)| value);
        self.escapes |= returned.any(|value| self.holds(value));
    }

    fn gives_address(&self, instr: &Instr) -> bool {
        let mut addressed = instr.operands().filter_map(address_of_local);
        addressed.any(|local| self.locals.contains(&local))
    }
}

/// Variables that a borrowing call fills: the key and value of `PyDict_Next`.
fn outs(instr: &Instr) -> impl Iterator<Item = LocalId> {
    let args = match &instr.kind {
        InstrKind::Call {
            callee: Callee::Named(name),
            args,
            ..
        } if &**name == "PyDict_Next" => args.get(2..).unwrap_or_default(),
        _ => &[],
    };
    args.iter().filter_map(address_of_local)
}

/// Whether what the call at `site` gives is at most compared with `NULL`.
pub(super) fn is_only_tested(flow: &Flow<'_>, site: Point) -> bool {
    let Some(InstrKind::Call { dst, .. }) = flow.cfg.instr(site).map(|instr| &instr.kind) else {
        return false;
    };
    let mut given = BTreeSet::from([*dst]);
    let is_given = |given: &BTreeSet<TempId>, operand: &Operand| match operand {
        Operand::Temp(temp) => given.contains(temp),
        _ => false,
    };
    loop {
        let before = given.len();
        for (_, instr) in flow.instrs() {
            match &instr.kind {
                InstrKind::Cast { dst, src, .. } if is_given(&given, src) => {
                    given.insert(*dst);
                }
                InstrKind::Op { op, operands, .. } if is_test(*op) => {
                    let mut others = operands.iter().filter(|it| !is_given(&given, it));
                    if others.clone().count() < operands.len() && !others.all(Operand::is_zero) {
                        return false;
                    }
                }
                _ if instr.operands().any(|it| is_given(&given, it)) => return false,
                _ => {}
            }
        }
        if before == given.len() {
            break;
        }
    }
    flow.cfg.iter().all(|(_, block)| match &block.terminator {
        Terminator::Branch { condition, .. } => {
            !is_given(&given, &condition.rhs)
                && (!is_given(&given, &condition.lhs) || condition.rhs.is_zero())
        }
        other => !other.operands().into_iter().any(|it| is_given(&given, it)),
    })
}

/// Whether the result is a truth value, which points nowhere.
fn is_test(op: Op) -> bool {
    match op {
        Op::Unary(op) => op == UnaryOp::Not,
        Op::Binary(op) => op.is_comparison(),
        Op::VaArg => false,
    }
}
