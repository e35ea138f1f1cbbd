//! What was read with a lock, and is used once the lock is given back.
//!
//! ```c
//! PyMutex_Lock(&guard);
//! text = name;                              /* another thread may free it … */
//! PyMutex_Unlock(&guard);
//! return PyUnicode_FromString(text);        /* … now */
//! ```
//!
//! What was counted with the lock held is safe, and so is what was taken out: a place that is set
//! to something else no longer leads to it.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use crate::ast::{BinaryOp, ExprId, Function, LocalId, Tree};
use crate::capi::{self, Counts};
use crate::cfg::{
    self, Base, Cfg, Comparison, Instr, InstrKind, Op, Operand, Place, Projection, Source, TempId,
    Terminator,
};
use crate::dataflow::{self, Analysis, Direction, NodeId};

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    /// The place that was read, or the call of a function of the package.
    pub(super) source: ExprId,
    /// Whether a lock was given back since.
    pub(super) is_lapsed: bool,
}

/// What a function does with what it reads.
#[derive(Debug, Default)]
pub(super) struct Lapses {
    /// The expressions that use something, with where it comes from.
    pub(super) uses: BTreeSet<(ExprId, Origin)>,
    /// The expressions that get a value, look at an element by it, or put it somewhere.
    pub(super) values: BTreeSet<(ExprId, Origin)>,
    /// What is returned.
    pub(super) returned: BTreeSet<Origin>,
}

impl Lapses {
    /// `gives_back` are the calls that may give a lock back.
    pub(super) fn new(function: &Function, gives_back: &FxHashSet<ExprId>) -> Self {
        let cfg = cfg::build(function, &capi::never_returns);
        let problem = Problem::new(&cfg, &function.tree, gives_back);
        let mut lapses = Self::default();
        let Ok(solution) = dataflow::solve(&cfg, &problem) else {
            return lapses;
        };
        for (block, body) in cfg.iter() {
            let Some(mut state) = solution.input(block.index()).clone() else {
                continue;
            };
            for instr in &body.instrs {
                lapses.note(&state, instr);
                problem.step(&mut state, instr);
            }
            if let Terminator::Return(Some(Operand::Temp(temp)), _) = &body.terminator {
                lapses.returned.extend(state.of(Value::Temp(*temp)));
            }
        }
        lapses
    }

    fn note(&mut self, state: &State, instr: &Instr) {
        let Source::Expr(at) = instr.source else {
            return;
        };
        let pointer = instr.place().and_then(|place| match &place.base {
            Base::Deref(pointer) => Some(pointer),
            _ => None,
        });
        let args = match &instr.kind {
            InstrKind::Call { args, .. } => &args[..],
            _ => &[],
        };
        for used in args.iter().chain(pointer) {
            let from = state.of_operand(used).into_iter();
            self.uses.extend(from.map(|from| (at, from)));
        }
        let path = instr.place().map_or(&[][..], |place| &place.path);
        let indexes = path.iter().filter_map(|step| match step {
            Projection::Index(index) => Some(index),
            _ => None,
        });
        let stored = match &instr.kind {
            InstrKind::Store { place, value } if place.as_local().is_none() => Some(value),
            _ => None,
        };
        for used in args.iter().chain(indexes).chain(stored) {
            let from = state.of_operand(used).into_iter();
            self.values.extend(from.map(|from| (at, from)));
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Local(LocalId),
    Temp(TempId),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct State {
    /// Where values may come from.
    from: BTreeMap<Value, BTreeSet<Origin>>,
    /// The names of places that hold what was counted: `Py_XINCREF(self->name);`
    counted: BTreeSet<Box<str>>,
}

impl State {
    fn of(&self, value: Value) -> BTreeSet<Origin> {
        self.from.get(&value).cloned().unwrap_or_default()
    }

    fn of_operand(&self, operand: &Operand) -> BTreeSet<Origin> {
        match operand {
            Operand::Temp(temp) => self.of(Value::Temp(*temp)),
            Operand::AddressOf(place) => self.of_place(place),
            _ => BTreeSet::new(),
        }
    }

    /// Where what leads to a place comes from; a place of a variable is no other thing than it.
    fn of_place(&self, place: &Place) -> BTreeSet<Origin> {
        match &place.base {
            Base::Deref(pointer) => self.of_operand(pointer),
            Base::Local(_) | Base::Global(_) | Base::Unnamed(_) => BTreeSet::new(),
        }
    }

    fn set(&mut self, value: Value, from: BTreeSet<Origin>) {
        match from.is_empty() {
            true => self.from.remove(&value),
            false => self.from.insert(value, from),
        };
    }

    fn lapse(&mut self) {
        for from in self.from.values_mut() {
            let lapsed = from.iter().map(|it| Origin {
                is_lapsed: true,
                ..*it
            });
            *from = lapsed.collect();
        }
        self.counted.clear();
    }
}

struct Problem<'a> {
    cfg: &'a Cfg,
    tree: &'a Tree,
    gives_back: &'a FxHashSet<ExprId>,
    /// The variables that temporaries are read from, or are reached by.
    locals: BTreeMap<TempId, LocalId>,
    /// The temporaries that are read in another block than the one that makes them.
    crossing: FxHashSet<TempId>,
    /// What the places are called that are read: a field, or a variable.
    names: BTreeMap<ExprId, Box<str>>,
}

impl<'a> Problem<'a> {
    fn new(cfg: &'a Cfg, tree: &'a Tree, gives_back: &'a FxHashSet<ExprId>) -> Self {
        let mut problem = Self {
            cfg,
            tree,
            gives_back,
            locals: BTreeMap::new(),
            crossing: cfg.crossing_temps(),
            names: BTreeMap::new(),
        };
        for (_, instr) in cfg.steps() {
            let local = match &instr.kind {
                InstrKind::Load { place, .. } => {
                    place.as_local().filter(|&it| tree.local(it).is_automatic())
                }
                InstrKind::Cast { src, .. } | InstrKind::Copy { src, .. } => problem.local(src),
                _ => None,
            };
            if let (Some(dst), Some(local)) = (instr.dst(), local) {
                problem.locals.insert(dst, local);
            }
            if let (InstrKind::Load { place, .. }, Source::Expr(at)) = (&instr.kind, instr.source) {
                let name = problem.name(place);
                problem.names.extend(name.map(|name| (at, name)));
            }
        }
        problem
    }

    fn local(&self, operand: &Operand) -> Option<LocalId> {
        match operand {
            Operand::Temp(temp) => self.locals.get(temp).copied(),
            _ => None,
        }
    }

    fn step(&self, state: &mut State, instr: &Instr) {
        match &instr.kind {
            InstrKind::Load { dst, place } => {
                let from = self.read(state, place, instr.source);
                state.set(Value::Temp(*dst), from);
            }
            InstrKind::Store { place, value } => self.store(state, place, value),
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
                let from = state.of_operand(src);
                state.set(Value::Temp(*dst), from);
            }
            InstrKind::Op { dst, op, operands } => {
                let moves = matches!(op, Op::Binary(BinaryOp::Plus | BinaryOp::Minus));
                let operands = operands.iter().filter(|_| moves);
                let from = operands.flat_map(|it| state.of_operand(it)).collect();
                state.set(Value::Temp(*dst), from);
            }
            InstrKind::Call { dst, callee, args } => {
                let name = callee.name().unwrap_or_default();
                let from = self.result(state, name, args, instr.source);
                state.set(Value::Temp(*dst), from);
                self.call(state, name, args, instr.source);
            }
            InstrKind::Declare { local } => state.set(Value::Local(*local), BTreeSet::new()),
            InstrKind::ScopeEnd { .. } | InstrKind::Asm => {}
        }
    }

    fn read(&self, state: &State, place: &Place, source: Source) -> BTreeSet<Origin> {
        if let Some(local) = self.variable(place) {
            return state.of(Value::Local(local));
        }
        let mut from = state.of_place(place);
        let name = self.name(place);
        let is_counted = name.is_some_and(|name| state.counted.contains(&name));
        if let (Source::Expr(source), false) = (source, is_counted) {
            from.insert(Origin {
                source,
                is_lapsed: false,
            });
        }
        from
    }

    fn store(&self, state: &mut State, place: &Place, value: &Operand) {
        let mut from = state.of_operand(value);
        match self.variable(place) {
            Some(local) => {
                if place.as_local().is_none() {
                    from.extend(state.of(Value::Local(local)));
                }
                state.set(Value::Local(local), from);
            }
            None => self.take_out(state, place),
        }
    }

    /// The variable of this call that a place is a part of.
    fn variable(&self, place: &Place) -> Option<LocalId> {
        match place.base {
            Base::Local(local) => self.tree.local(local).is_automatic().then_some(local),
            _ => None,
        }
    }

    /// A place is set: what it led to can be reached by it no longer.
    ///
    /// ```c
    /// first = list->first;
    /// list->first = first->next;            /* nobody else finds `first` now */
    /// ```
    fn take_out(&self, state: &mut State, place: &Place) {
        let set = self.name(place);
        state
            .counted
            .retain(|counted| set.as_ref().is_some_and(|set| set != counted));
        let own = match &place.base {
            Base::Deref(pointer) => self.local(pointer),
            _ => None,
        };
        let is_left = |from: &Origin| {
            let read = self.names.get(&from.source);
            from.is_lapsed || set.is_some() && read != set.as_ref()
        };
        for (value, from) in &mut state.from {
            let is_own = own.is_some_and(|own| *value == Value::Local(own));
            // What leads there by several places is found by the first.
            if !is_own && !from.iter().all(is_left) {
                from.retain(|it| it.is_lapsed);
            }
        }
        state.from.retain(|_, from| !from.is_empty());
    }

    fn result(
        &self,
        state: &State,
        name: &str,
        args: &[Operand],
        source: Source,
    ) -> BTreeSet<Origin> {
        let whole = capi::lives_in(name).and_then(|at| args.get(at));
        match (whole, source) {
            (Some(whole), _) => state.of_operand(whole),
            // Which it is, its name does not tell here.
            (None, Source::Expr(source)) if capi::writes(name).is_none() => {
                let is_known = capi::effects(name).is_some();
                let from = Origin {
                    source,
                    is_lapsed: false,
                };
                BTreeSet::from_iter((!is_known).then_some(from))
            }
            _ => BTreeSet::new(),
        }
    }

    fn call(&self, state: &mut State, name: &str, args: &[Operand], source: Source) {
        let takes = capi::counts(name).is_some_and(Counts::takes);
        if let Some(arg) = args.first().filter(|_| takes) {
            let from = state.of_operand(arg);
            let (lapsed, held): (BTreeSet<Origin>, BTreeSet<Origin>) =
                from.into_iter().partition(|it| it.is_lapsed);
            match self.local(arg) {
                Some(local) => state.set(Value::Local(local), lapsed),
                None => {
                    let names = held.iter().filter_map(|it| self.names.get(&it.source));
                    state.counted.extend(names.cloned());
                }
            }
        }
        if matches!(source, Source::Expr(call) if self.gives_back.contains(&call)) {
            state.lapse();
        }
    }

    /// What a place in memory is called: the last field, or the variable.
    fn name(&self, place: &Place) -> Option<Box<str>> {
        let field = place.path.iter().rev().find_map(|step| match step {
            Projection::Field(field) => Some(field.clone()),
            Projection::Index(_) => None,
        });
        field.or_else(|| match &place.base {
            Base::Global(name) => Some(name.clone()),
            Base::Local(local) => Some(self.tree.local(*local).name.as_str().into()),
            _ => None,
        })
    }

    /// The variable, and the temporary, that are null behind an edge.
    fn null(&self, node: NodeId, edge: usize) -> Option<(Option<LocalId>, TempId)> {
        let Terminator::Branch { condition: it, .. } = &self.cfg.blocks[node].terminator else {
            return None;
        };
        let is_null = match it.comparison {
            Comparison::Equal => edge == 0,
            Comparison::NotEqual => edge == 1,
            _ => false,
        };
        match it.lhs {
            Operand::Temp(temp) if is_null && it.rhs.is_zero() => {
                Some((self.locals.get(&temp).copied(), temp))
            }
            _ => None,
        }
    }
}

impl Analysis for Problem<'_> {
    /// `None` where no path leads.
    type Domain = Option<State>;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Self::Domain {
        None
    }

    fn boundary(&self) -> Self::Domain {
        Some(State::default())
    }

    fn transfer(&self, node: NodeId, state: &mut Self::Domain) {
        if let Some(state) = state {
            for instr in &self.cfg.blocks[node].instrs {
                self.step(state, instr);
            }
            state.from.retain(|value, _| match value {
                Value::Local(_) => true,
                Value::Temp(temp) => self.crossing.contains(temp),
            });
        }
    }

    fn edge(&self, node: NodeId, edge: usize, state: &mut Self::Domain) {
        if let (Some(state), Some((local, temp))) = (state, self.null(node, edge)) {
            state.from.remove(&Value::Temp(temp));
            if let Some(local) = local {
                state.from.remove(&Value::Local(local));
            }
        }
    }

    fn join(&self, into: &mut Self::Domain, from: &Self::Domain) -> bool {
        let Some(from) = from else {
            return false;
        };
        let Some(into) = into else {
            *into = Some(from.clone());
            return true;
        };
        let before = into.counted.len();
        into.counted.retain(|name| from.counted.contains(name));
        let mut grew = into.counted.len() < before;
        for (value, from) in &from.from {
            let known = into.from.entry(*value).or_default();
            let before = known.len();
            known.extend(from);
            grew |= known.len() > before;
        }
        grew
    }
}
