//! Where the objects that the iteration lends go, along the paths of the function.

use std::collections::BTreeMap;

use crate::ast::{BinaryOp, LocalId, TokenRange, Type};
use crate::cfg::{
    Base, BlockId, Callee, Cfg, Instr, InstrKind, Op, Operand, Place, Point, Source, TempId,
    Terminator,
};
use crate::dataflow::{Analysis, Direction, NodeId};
use crate::ownership::track::is_plain_pointer;

use super::{KEY, MAYBE, OLD, Set, Uses, VALUE};
use crate::transforms::critical_section::dict_next::scope::Scope;
use crate::transforms::critical_section::dict_next::site::Site;

/// Which variables hold borrowed values, and whether the section was held all the time since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    locals: BTreeMap<LocalId, Set>,
    temps: BTreeMap<TempId, Set>,
    pub(super) was_suspended: bool,
    /// What the variables of key and value held when the next item was asked for.
    before: [Set; 2],
}

impl State {
    pub(super) fn of(&self, operand: &Operand) -> Set {
        match operand {
            Operand::Temp(temp) => self.temps.get(temp).copied().unwrap_or(0),
            Operand::AddressOf(place) => self.of_place(place),
            Operand::Null | Operand::Int(_) | Operand::Str(_) | Operand::Unknown => 0,
        }
    }

    fn of_place(&self, place: &Place) -> Set {
        match &place.base {
            Base::Local(local) => self.locals.get(local).copied().unwrap_or(0),
            Base::Deref(pointer) => self.of(pointer),
            Base::Global(_) | Base::Unnamed(_) => 0,
        }
    }

    pub(super) fn set_local(&mut self, local: LocalId, set: Set) {
        if set == 0 {
            self.locals.remove(&local);
        } else {
            self.locals.insert(local, set);
        }
    }

    pub(super) fn set_temp(&mut self, temp: TempId, set: Set) {
        if set == 0 {
            self.temps.remove(&temp);
        } else {
            self.temps.insert(temp, set);
        }
    }

    /// The reference count was raised: nothing that depends on it is borrowed any more.
    pub(super) fn adopt(&mut self, set: Set) {
        self.locals.values_mut().for_each(|held| *held &= !set);
        self.locals.retain(|_, held| *held & (KEY | VALUE) != 0);
        self.temps.clear();
    }
}

/// Key and value of one iteration on their way through the function.
pub(super) struct Flow<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) site: &'a Site,
    /// Where `PyDict_Next` is called.
    pub(super) call: Point,
    /// Where key and value are kept alive,
    pub(super) life: TokenRange,
    /// and whether those of earlier turns are as well.
    pub(super) keeps_old: bool,
}

impl Flow<'_> {
    pub(super) fn step(&self, state: &mut State, at: Point, instr: &Instr, uses: &mut Uses) {
        if at == self.call {
            self.next_item(state);
            return;
        }
        match &instr.kind {
            InstrKind::Load { dst, place } => {
                let set = state.of_place(place);
                self.note_use(state, set, instr.source, uses);
                state.set_temp(*dst, set);
            }
            InstrKind::Copy { dst, src } => {
                let set = state.of(src) | state.temps.get(dst).copied().unwrap_or(0);
                state.set_temp(*dst, set);
            }
            InstrKind::Cast { dst, src, .. } => state.set_temp(*dst, state.of(src)),
            InstrKind::Op { dst, op, operands } => {
                let moves = matches!(op, Op::Binary(op) if is_pointer_arithmetic(*op));
                let set = operands
                    .iter()
                    .fold(0, |set, operand| set | state.of(operand));
                state.set_temp(*dst, if moves { set } else { 0 });
            }
            InstrKind::Store { place, value } if self.is_counted_next(at, place, value) => {
                state.adopt(state.of(value));
            }
            InstrKind::Store { place, value } => {
                self.store(state, place, value, instr.source, uses);
            }
            InstrKind::Call { dst, callee, args } => {
                self.step_call(state, (*dst, instr.source), callee, args, uses);
            }
            InstrKind::Declare { local } => state.set_local(*local, 0),
            InstrKind::ScopeEnd { locals } => {
                locals.iter().for_each(|local| state.set_local(*local, 0));
            }
            InstrKind::Asm => {}
        }
    }

    /// Whether what the step at `at` puts into memory gets a reference of its own right behind it.
    ///
    /// ```c
    /// table[i] = value;
    /// Py_INCREF(value);
    /// ```
    fn is_counted_next(&self, at: Point, place: &Place, value: &Operand) -> bool {
        let Operand::Temp(stored) = value else {
            return false;
        };
        let instrs = &self.scope.cfg.block(at.block).instrs;
        let loaded = |temp: TempId| {
            instrs.iter().find_map(|instr| match &instr.kind {
                InstrKind::Load { dst, place } if *dst == temp => place.as_local(),
                _ => None,
            })
        };
        let local = loaded(*stored);
        let mut calls = instrs[at.index + 1..]
            .iter()
            .filter_map(|instr| match &instr.kind {
                InstrKind::Call { callee, args, .. } => Some((callee, args)),
                _ => None,
            });
        local.is_some()
            && place.as_local().is_none()
            && calls.next().is_some_and(|(callee, args)| {
                let takes = matches!(callee, Callee::Named(name) if matches!(&**name, "Py_INCREF" | "Py_XINCREF"));
                takes && matches!(args[..], [Operand::Temp(temp)] if loaded(temp) == local)
            })
    }

    fn next_item(&self, state: &mut State) {
        state.temps.clear();
        if !self.keeps_old {
            state.locals.values_mut().for_each(|set| *set |= OLD);
        }
        state.was_suspended = false;
        let filled = [(self.site.key, KEY), (self.site.value, VALUE)];
        for ((local, set), before) in filled.into_iter().zip(&mut state.before) {
            if let Some(local) = local {
                *before = state.locals.get(&local).copied().unwrap_or(0);
                state.locals.insert(local, set);
            }
        }
    }

    /// Without an item `PyDict_Next` leaves the variables of key and value as they were.
    ///
    /// ```c
    /// while (PyDict_Next(d, &pos, &key, &value)) {
    ///     Py_INCREF(key);
    ///     if (look(key) < 0)
    ///         goto error;
    ///     Py_CLEAR(key);
    /// }
    /// error:                              /* `key` is `NULL`, or a reference of its own */
    ///     Py_XDECREF(key);
    /// ```
    fn no_item(&self, state: &mut State) {
        let filled = [self.site.key, self.site.value];
        for (local, before) in filled.into_iter().zip(state.before) {
            if let Some(local) = local {
                state.set_local(local, before);
            }
        }
    }

    /// Whether flow takes the edge `edge` out of the block of the call only where it gave no item.
    fn is_without_item(&self, node: NodeId, edge: usize) -> bool {
        let block = self.scope.cfg.block(self.call.block);
        let Terminator::Branch { condition, .. } = &block.terminator else {
            return false;
        };
        let given = match &block.instrs[self.call.index].kind {
            InstrKind::Call { dst, .. } => Operand::Temp(*dst),
            _ => return false,
        };
        let Operand::Int(number) = condition.rhs else {
            return false;
        };
        let may_fill = |instr: &Instr| {
            let local = instr.place().and_then(Place::as_local);
            let is_own = local.is_some() && (local == self.site.key || local == self.site.value);
            is_own || matches!(instr.kind, InstrKind::Call { .. } | InstrKind::Asm)
        };
        node == self.call.block.index()
            && condition.lhs == given
            && condition.comparison.holds(1, number) != (edge == 0)
            && !block.instrs[self.call.index + 1..].iter().any(may_fill)
    }

    fn store(
        &self,
        state: &mut State,
        place: &Place,
        value: &Operand,
        source: Source,
        uses: &mut Uses,
    ) {
        let set = state.of(value);
        match (&place.base, place.as_local()) {
            (_, Some(local)) => {
                let set = held(&self.scope.tree().local(local).ty, set);
                state.set_local(local, set);
            }
            (Base::Local(local), None) => {
                let held = state.locals.get(local).copied().unwrap_or(0);
                state.set_local(*local, held | set & (KEY | VALUE | OLD));
            }
            // `self->last = value;`
            _ => uses.outlive(set, source),
        }
    }

    fn note_use(&self, state: &State, set: Set, source: Source, uses: &mut Uses) {
        let values = set & (KEY | VALUE);
        if set & OLD != 0 || !self.scope.is_inside(source, self.life) {
            uses.outlive(values, source);
        } else if state.was_suspended {
            uses.suspended |= values;
        }
    }
}

/// What a variable of type `ty` has of a value.
pub(super) fn held(ty: &Type, set: Set) -> Set {
    let maybe = if is_plain_pointer(ty) {
        set >> MAYBE
    } else {
        0
    };
    set & (KEY | VALUE | OLD) | maybe
}

fn is_pointer_arithmetic(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Plus | BinaryOp::Minus)
}

impl Analysis for Flow<'_> {
    type Domain = State;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> State {
        State::default()
    }

    fn boundary(&self) -> State {
        State::default()
    }

    fn transfer(&self, node: NodeId, state: &mut State) {
        let cfg: &Cfg = &self.scope.cfg;
        let mut ignored = Uses::default();
        let block = BlockId(u32::try_from(node).expect("block ids are u32"));
        for (index, instr) in cfg.block(block).instrs.iter().enumerate() {
            self.step(state, Point { block, index }, instr, &mut ignored);
        }
    }

    fn join(&self, into: &mut State, from: &State) -> bool {
        let before = into.clone();
        for (local, set) in &from.locals {
            *into.locals.entry(*local).or_insert(0) |= set;
        }
        for (temp, set) in &from.temps {
            *into.temps.entry(*temp).or_insert(0) |= set;
        }
        into.was_suspended |= from.was_suspended;
        for (into, from) in into.before.iter_mut().zip(from.before) {
            *into |= from;
        }
        *into != before
    }

    fn edge(&self, node: NodeId, edge: usize, state: &mut State) {
        if self.is_without_item(node, edge) {
            self.no_item(state);
        }
    }
}
