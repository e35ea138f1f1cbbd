//! What becomes of the borrowed key and value: whether they are used where the section may have
//! been suspended, or after it.

use std::collections::BTreeMap;

use crate::ast::{BinaryOp, LocalId, TokenRange};
use crate::capi;
use crate::cfg::{
    Base, BlockId, Callee, Cfg, Instr, InstrKind, Op, Operand, Place, Point, Source, TempId,
    Terminator,
};
use crate::dataflow::{self, Analysis, Direction, NodeId};
use crate::ownership::track::Callees;

use super::scope::Scope;
use super::site::Site;

/// A set of borrowed values: [`KEY`], [`VALUE`], or both.
pub(super) type Set = u8;

/// What the key's variable holds, and what was derived from it.
pub(super) const KEY: Set = 1;
/// The same for the value.
pub(super) const VALUE: Set = 2;
/// It belongs to an earlier item.
const OLD: Set = 4;

/// How key and value are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// Passed to a call that may suspend the section, or used after one.
    pub(super) suspended: Set,
    /// Used after the section or for another item, or stored where that may happen.
    pub(super) outlives: Set,
    /// Released there, though `PyDict_Next` only lends it.
    pub(super) released: Set,
    /// A place where the key, and one where the value is.
    places: [Option<Source>; 2],
}

impl Uses {
    fn outlive(&mut self, set: Set, source: Source) {
        self.outlives |= set & (KEY | VALUE);
        for (place, of) in self.places.iter_mut().zip([KEY, VALUE]) {
            if set & of != 0 {
                place.get_or_insert(source);
            }
        }
    }

    /// ` (line 12)`: where the key or the value outlives the section; nothing if a macro makes that
    /// use.
    pub(super) fn line_of(&self, scope: &Scope<'_>, set: Set) -> String {
        let [key, value] = self.places;
        let place = if set == KEY { key } else { value };
        let line = place.and_then(|source| {
            let (file, span) = match source {
                Source::Expr(expr) => scope.cx.span(scope.item, expr)?,
                Source::Stmt(stmt) => scope.span(stmt)?,
            };
            Some(scope.cx.file(file).position(span.start()).line.0)
        });
        line.map_or_else(String::new, |line| format!(" (line {line})"))
    }
}

/// Follows the values that the call of `site` gives through the function; each lives as long as its
/// turn.
pub(super) fn uses(scope: &Scope<'_>, site: &Site) -> Uses {
    follow(scope, site, site.turn(scope), false)
}

/// The same where all of them live as long as what stands in `life` runs.
pub(super) fn uses_beyond(scope: &Scope<'_>, site: &Site, life: TokenRange) -> Uses {
    follow(scope, site, life, true)
}

fn follow(scope: &Scope<'_>, site: &Site, life: TokenRange, keeps_old: bool) -> Uses {
    let Some(call) = scope.cfg.call(site.call) else {
        return Uses::default();
    };
    let flow = Flow {
        scope,
        site,
        call,
        life,
        keeps_old,
    };
    let Ok(solution) = dataflow::solve(&scope.cfg, &flow) else {
        return Uses {
            suspended: KEY | VALUE,
            outlives: KEY | VALUE,
            released: 0,
            places: [None, None],
        };
    };
    let mut uses = Uses::default();
    for (block, body) in scope.cfg.iter().filter(|(b, _)| scope.cfg.is_reachable(*b)) {
        let mut state = solution.input(block.index()).clone();
        for (index, instr) in body.instrs.iter().enumerate() {
            flow.step(&mut state, Point { block, index }, instr, &mut uses);
        }
        if let Terminator::Return(Some(value), stmt) = &body.terminator {
            uses.outlive(state.of(value), Source::Stmt(*stmt));
        }
    }
    uses
}

/// Whether a call may run Python code or wait for a lock, so that the section is suspended.
/// Functions that are not known may.
pub(super) fn suspends(callee: &Callee) -> bool {
    let Callee::Named(name) = callee else {
        return true;
    };
    match capi::effects(name) {
        Some(effects) => effects.runs_python || effects.locks.is_some(),
        None => !capi::is_libc(name),
    }
}

/// Which variables hold borrowed values, and whether the section was held all the time since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct State {
    locals: BTreeMap<LocalId, Set>,
    temps: BTreeMap<TempId, Set>,
    was_suspended: bool,
}

impl State {
    fn of(&self, operand: &Operand) -> Set {
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

    fn set_local(&mut self, local: LocalId, set: Set) {
        if set == 0 {
            self.locals.remove(&local);
        } else {
            self.locals.insert(local, set);
        }
    }

    fn set_temp(&mut self, temp: TempId, set: Set) {
        if set == 0 {
            self.temps.remove(&temp);
        } else {
            self.temps.insert(temp, set);
        }
    }

    /// The reference count was raised: nothing that depends on it is borrowed any more.
    fn adopt(&mut self, set: Set) {
        self.locals.values_mut().for_each(|held| *held &= !set);
        self.locals.retain(|_, held| *held & (KEY | VALUE) != 0);
        self.temps.clear();
    }
}

struct Flow<'a> {
    scope: &'a Scope<'a>,
    site: &'a Site,
    /// Where `PyDict_Next` is called.
    call: Point,
    /// Where key and value are kept alive,
    life: TokenRange,
    /// and whether those of earlier turns are as well.
    keeps_old: bool,
}

impl Flow<'_> {
    fn step(&self, state: &mut State, at: Point, instr: &Instr, uses: &mut Uses) {
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
            InstrKind::Store { place, value } => store(state, place, value, instr.source, uses),
            InstrKind::Call { dst, callee, args } => {
                self.call(state, (*dst, instr.source), callee, args, uses);
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
        for (local, set) in [(self.site.key, KEY), (self.site.value, VALUE)] {
            if let Some(local) = local {
                state.set_local(local, set);
            }
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

    fn call(
        &self,
        state: &mut State,
        (dst, source): (TempId, Source),
        callee: &Callee,
        args: &[Operand],
        uses: &mut Uses,
    ) {
        let set = args.iter().fold(0, |set, arg| set | state.of(arg)) & (KEY | VALUE);
        let name = match callee {
            Callee::Named(name) => &**name,
            Callee::Indirect(_) => "",
        };
        if matches!(
            name,
            "Py_INCREF" | "Py_XINCREF" | "Py_IncRef" | "Py_NewRef" | "Py_XNewRef"
        ) {
            state.adopt(set);
            return;
        }
        let releases = matches!(name, "Py_DECREF" | "Py_XDECREF" | "Py_DecRef" | "Py_CLEAR");
        if releases && !self.scope.is_inside(source, self.life) {
            uses.released |= set;
        }
        let effects = capi::effects(name);
        for steal in effects.map_or(&[][..], |effects| &effects.steals) {
            let stolen = args
                .get(usize::from(steal.arg))
                .map_or(0, |arg| state.of(arg));
            uses.outlive(stolen, source);
        }
        // `static void append(List *list, PyObject *v) { list->items[list->size++] = v; }`
        let own = self.scope.cx.summaries();
        for (at, arg) in args.iter().enumerate() {
            if own.keeps(name, at).is_some() {
                uses.outlive(state.of(arg), source);
            }
        }
        if suspends(callee) {
            uses.suspended |= set;
            state.was_suspended = true;
        }
        // What the callee writes through `&local` is not ours, but for pointers into its arguments.
        for (out, arg) in args.iter().enumerate() {
            let from = (0..).zip(args).filter(|&(at, _)| own.stores(name, at, out));
            let stored = from.fold(0, |set, (_, arg)| set | state.of(arg));
            match arg {
                Operand::AddressOf(place) => match place.as_local() {
                    Some(local) => state.set_local(local, stored),
                    None => uses.outlive(stored, source),
                },
                _ => uses.outlive(stored, source),
            }
        }
        let parent = effects.and_then(|effects| effects.derived_from);
        let derived = parent.and_then(|arg| args.get(usize::from(arg)));
        state.set_temp(dst, derived.map_or(0, |arg| state.of(arg)));
    }
}

fn store(state: &mut State, place: &Place, value: &Operand, source: Source, uses: &mut Uses) {
    let set = state.of(value);
    match (&place.base, place.as_local()) {
        (_, Some(local)) => state.set_local(local, set),
        (Base::Local(local), None) => {
            let held = state.locals.get(local).copied().unwrap_or(0);
            state.set_local(*local, held | set);
        }
        // `self->last = value;`
        _ => uses.outlive(set, source),
    }
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
        *into != before
    }
}
