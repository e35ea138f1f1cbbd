//! Where the objects that the iteration lends go, along the paths of the function.

use crate::ast::{BinaryOp, LocalId, TokenRange, Type};
use crate::cfg::{
    Base, BlockId, Callee, Cfg, Instr, InstrKind, Op, Operand, Place, Point, Source, TempId,
    Terminator,
};
use crate::dataflow::{Analysis, Direction, NodeId};
use crate::ownership::track::is_plain_pointer;

use super::state::{State, either, part};
use super::{KEY, MAYBE, OLD, OWNED, PART, Set, Uses, VALUE, Way};
use crate::transforms::critical_section::dict_next::scope::Scope;
use crate::transforms::critical_section::dict_next::site::Site;

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
            if let Some(dst) = instr.dst().filter(|_| self.site.gives_item) {
                state.set_temp(dst, VALUE);
            }
            return;
        }
        match &instr.kind {
            InstrKind::Load { dst, place } => {
                let set = state.of_place(place);
                self.note_use(state, set, instr.source, uses);
                let is_number = self.site.gives_item && self.is_number(instr.source);
                state.set_temp(*dst, if is_number { 0 } else { set });
            }
            InstrKind::Copy { dst, src } => {
                let set = either(state.of(src), state.of(&Operand::Temp(*dst)));
                state.set_temp(*dst, set);
            }
            InstrKind::Cast { dst, src, .. } => state.set_temp(*dst, state.of(src)),
            InstrKind::Op { dst, op, operands } => {
                let moves = matches!(op, Op::Binary(op) if is_pointer_arithmetic(*op));
                let set = operands
                    .iter()
                    .fold(0, |set, operand| set | state.of(operand));
                state.set_temp(*dst, if moves { part(set) } else { 0 });
            }
            InstrKind::Store { place, value } if self.is_counted_next(at, place, value) => {}
            InstrKind::Store { place, value } => {
                self.store(state, place, value, instr.source, uses);
            }
            InstrKind::Call { dst, callee, args } => {
                self.step_call(state, (at, *dst, instr.source), callee, args, uses);
            }
            InstrKind::Declare { local } => state.set_local(*local, 0),
            InstrKind::ScopeEnd { locals } => {
                locals.iter().for_each(|local| state.set_local(*local, 0));
            }
            InstrKind::Asm => {}
        }
    }

    /// Whether what an expression reads can be no pointer: `((Node *)item)->size`.
    fn is_number(&self, source: Source) -> bool {
        let Source::Expr(expr) = source else {
            return false;
        };
        let types = self.scope.cx.types();
        let ty = types.of(self.scope.tree(), expr);
        ty.is_some_and(|ty| types.is_number(ty))
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
        let loaded = |temp| self.loaded(at.block, temp);
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

    /// The variable of which `temp` is the value.
    pub(super) fn loaded(&self, block: BlockId, temp: TempId) -> Option<LocalId> {
        let instrs = self.scope.cfg.block(block).instrs.iter();
        instrs.rev().find_map(|instr| match &instr.kind {
            InstrKind::Load { dst, place } if *dst == temp => place.as_local(),
            InstrKind::Cast {
                dst,
                src: Operand::Temp(src),
                ..
            } if *dst == temp => self.loaded(block, *src),
            _ => None,
        })
    }

    fn next_item(&self, state: &mut State) {
        state.end_turn();
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
                state.set_local(
                    *local,
                    either(held, set & (KEY | VALUE | OLD | PART | OWNED)),
                );
            }
            // `self->last = value;`
            _ => self.outlive(uses, state.borrowed(set), (Way::Stored, source)),
        }
    }

    fn note_use(&self, state: &State, set: Set, source: Source, uses: &mut Uses) {
        let values = state.borrowed(set) & (KEY | VALUE);
        let is_old = set & OLD != 0 && !self.keeps_old;
        if is_old || !self.scope.is_inside(source, self.life) {
            self.outlive(uses, values, (Way::Later, source));
        } else if state.was_suspended {
            uses.suspended |= values;
        }
    }

    /// Notes that what is `set` outlives its turn, in this way if that happens in the loop.
    pub(super) fn outlive(&self, uses: &mut Uses, set: Set, (way, source): (Way, Source)) {
        let is_inside = self.scope.is_inside(source, self.life);
        uses.outlive(set, if is_inside { way } else { Way::Behind }, source);
    }
}

/// What a variable of type `ty` has of a value.
pub(super) fn held(ty: &Type, set: Set) -> Set {
    let maybe = if is_plain_pointer(ty) {
        part(set >> MAYBE & (KEY | VALUE))
    } else {
        0
    };
    either(set & (KEY | VALUE | OLD | PART | OWNED), maybe)
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
        State::start()
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
        into.join(from)
    }

    fn edge(&self, node: NodeId, edge: usize, state: &mut State) {
        if self.is_without_item(node, edge) {
            self.no_item(state);
        }
    }
}
