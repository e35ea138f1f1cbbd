//! How long a borrowed value is in use: the value, its copies, and what points into it.

use std::collections::BTreeSet;

use crate::ast::{LocalId, Storage};
use crate::capi;
use crate::cfg::{
    Base, Callee, Instr, InstrKind, Liveness, Operand, Place, Point, TempId, Terminator,
};

use super::Cx;
use super::flow::{Flow, address_of_local};
use super::held::{Handover, Held, Spread, is_test};

/// What holds a borrowed value or depends on it; larger than the truth, never smaller.
#[derive(Debug)]
pub(super) struct Borrow<'f> {
    flow: &'f Flow<'f>,
    liveness: Liveness<'f>,
    site: Point,
    spread: Spread<'f>,
    /// What holds the value anywhere.
    held: Held,
    /// Whether the value is stored somewhere, or the address of its variable given away.
    kept: bool,
    /// How the caller gets the value.
    handed: Handover,
}

/// Where a borrowed value is in use when the function is done.
#[derive(Debug, Clone, Copy)]
pub(super) enum Later<'b> {
    Nowhere,
    /// In the caller.
    InCaller(&'b Handover),
    Anywhere,
}

impl<'f> Borrow<'f> {
    /// What the borrowing call at `site` hands out.
    pub(super) fn new(cx: &Cx<'_>, flow: &'f Flow<'f>, site: Point) -> Self {
        let outs = match flow.call(site) {
            // The key and the value.
            Some((Some("PyDict_Next"), args)) => (2..args.len()).collect(),
            _ => BTreeSet::new(),
        };
        Self::through(cx, flow, site, Handover { result: true, outs })
    }

    /// What the call at `site` of a helper gives, which borrowed it.
    pub(super) fn through(cx: &Cx<'_>, flow: &'f Flow<'f>, site: Point, from: Handover) -> Self {
        let args = flow.call(site).map_or(&[][..], |(_, args)| args);
        let mut outs = from.outs.iter().filter_map(|&at| args.get(at));
        let kept = outs.any(|out| address_of_local(out).is_none() && !out.is_zero());
        let spread = Spread::new(flow, site, from);
        let mut borrow = Self {
            flow,
            liveness: flow.liveness(),
            site,
            held: spread.anywhere(),
            spread,
            kept,
            handed: Handover::default(),
        };
        borrow.note_uses(cx);
        borrow
    }

    /// The calls that turn the value into a reference of its own.
    pub(super) fn adoptions(&self) -> &[Point] {
        &self.spread.adoptions
    }

    /// Where the value is in use as a borrowed one when the function is done.
    pub(super) fn later(&self) -> Later<'_> {
        match self.kept {
            _ if !self.adoptions().is_empty() => Later::Nowhere,
            true => Later::Anywhere,
            false if self.handed == Handover::default() => Later::Nowhere,
            false => Later::InCaller(&self.handed),
        }
    }

    /// Whether the value outlives the function as a borrowed one.
    pub(super) fn escapes(&self) -> bool {
        !matches!(self.later(), Later::Nowhere)
    }

    /// Whether the step at `point`, or one after it, may use the value.
    pub(super) fn is_live_at(&self, point: Point) -> bool {
        let block = self.flow.cfg.block(point.block);
        let held = self.spread.before(point);
        let used_later = block.instrs[point.index.min(block.instrs.len())..]
            .iter()
            .flat_map(Instr::operands)
            .chain(block.terminator.operands())
            .any(|operand| held.holds(operand) && self.is_earlier_temp(operand, point));
        let after = Point {
            block: point.block,
            index: (point.index + 1).min(block.instrs.len()),
        };
        let mut locals = held.locals();
        used_later || locals.any(|local| self.liveness.is_live(local, after))
    }

    /// Whether a step after the one at `point` may use the value.
    pub(super) fn outlives(&self, point: Point) -> bool {
        let mut pointers = self.pointers();
        self.is_at_hand_after(point) || pointers.any(|local| self.is_read_after(local, point))
    }

    /// Whether a step after the one at `point` may use the value without reading it anew.
    fn is_at_hand_after(&self, point: Point) -> bool {
        let after = point.next();
        let block = self.flow.cfg.block(point.block);
        let later = block.instrs.get(after.index..).unwrap_or_default();
        let mut used = later
            .iter()
            .flat_map(Instr::operands)
            .chain(block.terminator.operands());
        used.any(|operand| self.is_earlier_temp(operand, after))
    }

    /// Whether all that steps after the one at `point` do with the value is to release it, or to
    /// give its reference away.
    pub(super) fn is_only_moved_after(&self, point: Point) -> bool {
        let loads = self.flow.instrs().filter(|(at, instr)| {
            matches!(&instr.kind, InstrKind::Load { place, .. }
                if matches!(place.base, Base::Local(it) if self.held.has(it)))
                && self.flow.reaches(point, *at, &[self.site])
        });
        let mut read = loads.filter_map(|(_, instr)| instr.dst());
        !self.is_at_hand_after(point)
            && read.all(|temp| self.flow.instrs().all(|(_, instr)| is_moved(instr, temp)))
    }

    /// The variables that may hold pointers: the length of a text does not end with the text.
    fn pointers(&self) -> impl Iterator<Item = LocalId> {
        let ty = |local: LocalId| &self.flow.function.tree.local(local).ty;
        let locals = self.held.locals();
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
                    place.as_local() == Some(local) && !self.held.holds(value)
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
        self.held.holds(operand) && !had_later
    }

    fn note_uses(&mut self, cx: &Cx<'_>) {
        let (mut kept, mut handed) = (self.kept, Handover::default());
        self.spread.visit(&mut |point, instr, held| match instr {
            Some(instr) => {
                if let InstrKind::Store { place, value } = &instr.kind
                    && held.holds(value)
                {
                    match self.out(place) {
                        Some(out) => drop(handed.outs.insert(out)),
                        None => kept |= !self.is_own(place),
                    }
                }
                kept |= self.gives_address(cx, point, instr);
            }
            None => {
                let end = &self.flow.cfg.block(point.block).terminator;
                handed.result |= match end {
                    Terminator::Return(Some(value), _) => held.holds(value),
                    _ => false,
                };
            }
        });
        (self.kept, self.handed) = (kept, handed);
    }

    /// Whether a place is gone when the function is done.
    fn is_own(&self, place: &Place) -> bool {
        matches!(place.base, Base::Local(local)
            if self.flow.function.tree.local(local).storage == Storage::None)
    }

    /// The parameter through which a store to `place` gives the caller a value.
    fn out(&self, place: &Place) -> Option<usize> {
        let Base::Deref(pointer) = &place.base else {
            return None;
        };
        let index = self.flow.parameter(pointer)?;
        let is_out = place.path.is_empty() && self.flow.is_only_followed(index);
        is_out.then_some(index)
    }

    /// Whether somebody gets to know the variable that holds the value.
    fn gives_address(&self, cx: &Cx<'_>, point: Point, instr: &Instr) -> bool {
        let holds = |operand: &Operand| {
            let local = address_of_local(operand);
            local.is_some_and(|local| self.held.has(local))
        };
        match &instr.kind {
            _ if point == self.site => false,
            InstrKind::Call {
                callee: Callee::Named(name),
                args,
                ..
            } if capi::effects(name).is_none() => {
                let mut given = (0..args.len()).filter(|&at| holds(&args[at]));
                given.any(|at| !cx.only_fills(name, at))
            }
            InstrKind::Call {
                callee: Callee::Named(_),
                ..
            } => false,
            _ => instr.operands().any(holds),
        }
    }
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

/// Whether an instruction only releases `temp` or gives its reference away, if it uses it at all.
fn is_moved(instr: &Instr, temp: TempId) -> bool {
    let is_temp = |operand: &Operand| *operand == Operand::Temp(temp);
    if !instr.operands().any(is_temp) {
        return true;
    }
    let InstrKind::Call {
        callee: Callee::Named(name),
        args,
        ..
    } = &instr.kind
    else {
        return false;
    };
    let steals = |at: usize| {
        let effects = capi::effects(name);
        effects.is_some_and(|effects| effects.steals(at).is_some())
    };
    let mut used = (0..args.len()).filter(|&at| is_temp(&args[at]));
    used.all(|at| matches!(&**name, "Py_DECREF" | "Py_XDECREF") || steals(at))
}
