//! Which locks a function holds, at each of its expressions, on every path there.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::effect::{Effect, Helpers, Taken, Way};
use super::path::Paths;
use super::state::{Lock, State, Value};
use crate::ast::{BinaryOp, ExprId, ExprKind, Function, Tree, UnaryOp};
use crate::capi::{self, Had};
use crate::cfg::{
    self, Base, Cfg, Comparison, Instr, InstrKind, Op, Operand, Source, TempId, Terminator,
};
use crate::dataflow::{self, Analysis, Direction, NodeId, Solution};
use crate::rule::ItemId;
use crate::state::{begins_section, ends_section};

/// The locks of one function.
#[derive(Debug, Default)]
pub(in crate::writes) struct Locked {
    at: FxHashMap<ExprId, State>,
}

impl Locked {
    pub(in crate::writes) fn new(
        helpers: &Helpers<'_, '_>,
        item: ItemId,
        function: &Function,
    ) -> Self {
        let mut locked = Self::default();
        let Some(solved) = Solved::new(helpers, item, function) else {
            return locked;
        };
        let problem = solved.problem(function);
        for (block, body) in solved.cfg.iter() {
            let Some(mut state) = solved.solution.input(block.index()).clone() else {
                continue;
            };
            for instr in &body.instrs {
                if let Source::Expr(expr) = instr.source {
                    locked.note(expr, state.locks());
                }
                problem.step(&mut state, instr);
            }
        }
        locked
    }

    fn note(&mut self, expr: ExprId, state: State) {
        match self.at.entry(expr) {
            Entry::Occupied(mut known) => {
                known.get_mut().meet(&state);
            }
            Entry::Vacant(place) => {
                place.insert(state);
            }
        }
    }

    /// What is known of locks where `expr` is evaluated; `None` if the function takes none.
    pub(super) fn around(&self, tree: &Tree, expr: ExprId) -> Option<&State> {
        if self.at.is_empty() {
            return None;
        }
        let range = tree.expr(expr).range;
        let length = |at: ExprId| {
            let around = tree.expr(at).range;
            around.end - around.start
        };
        let exact = self.at.get(&expr);
        exact.or_else(|| {
            let around = self.at.iter();
            let around = around.filter(|(at, _)| tree.expr(**at).range.contains(range));
            Some(around.min_by_key(|(at, _)| (length(**at), **at))?.1)
        })
    }
}

/// What a function does to locks, as its callers see it.
pub(super) fn exits(helpers: &Helpers<'_, '_>, item: ItemId, function: &Function) -> Effect {
    let Some(solved) = Solved::new(helpers, item, function) else {
        return Effect::nothing();
    };
    let problem = solved.problem(function);
    let mut effect = Effect::default();
    for (block, body) in solved.cfg.iter() {
        let (Terminator::Return(value, _), Some(mut state)) = (
            &body.terminator,
            solved.solution.input(block.index()).clone(),
        ) else {
            continue;
        };
        for instr in &body.instrs {
            problem.step(&mut state, instr);
        }
        for (had, is) in effect.had.iter_mut().zip([Had::Zero, Had::NotZero]) {
            let Some(locks) = state.held_if(value.as_ref(), is) else {
                continue;
            };
            let locks = locks.iter().map(|lock| Taken {
                way: lock.path.as_ref().and_then(|it| Way::new(function, it)),
                is_shared: lock.is_shared,
            });
            let locks: BTreeSet<Taken> = locks.collect();
            *had = Some(match had.take() {
                Some(had) => &had & &locks,
                None => locks,
            });
        }
        let gave = state.gave.iter();
        let gave = gave.map(|path| path.as_ref().and_then(|it| Way::new(function, it)));
        effect.gave.extend(gave);
    }
    effect
}

/// The flow graph of a function that takes locks, with what is held at its blocks.
struct Solved {
    cfg: Cfg,
    effects: FxHashMap<ExprId, Rc<Effect>>,
    solution: Solution<Option<State>>,
}

impl Solved {
    /// `None` if the function does nothing to locks.
    fn new(helpers: &Helpers<'_, '_>, item: ItemId, function: &Function) -> Option<Self> {
        let tree = &function.tree;
        let mut has_section = false;
        let mut effects = FxHashMap::default();
        for (call, name) in tree.calls() {
            has_section |= begins_section(name);
            let effect = helpers.of(item, tree, call);
            if !effect.is_none() {
                effects.insert(call, effect);
            }
        }
        if effects.is_empty() && !has_section {
            return None;
        }
        let cfg = cfg::build(function, &capi::never_returns);
        let solution = dataflow::solve(&cfg, &Problem::new(&cfg, function, &effects)).ok()?;
        Some(Self {
            cfg,
            effects,
            solution,
        })
    }

    fn problem<'a>(&'a self, function: &'a Function) -> Problem<'a> {
        Problem::new(&self.cfg, function, &self.effects)
    }
}

struct Problem<'a> {
    cfg: &'a Cfg,
    tree: &'a Tree,
    paths: Paths<'a>,
    effects: &'a FxHashMap<ExprId, Rc<Effect>>,
    /// The names that are read: `PY_LOCK_ACQUIRED`.
    names: BTreeMap<TempId, &'a str>,
}

impl<'a> Problem<'a> {
    fn new(
        cfg: &'a Cfg,
        function: &'a Function,
        effects: &'a FxHashMap<ExprId, Rc<Effect>>,
    ) -> Self {
        let names = cfg.steps().filter_map(|(_, instr)| match &instr.kind {
            InstrKind::Load { dst, place } => match &place.base {
                Base::Global(name) if place.path.is_empty() => Some((*dst, &**name)),
                _ => None,
            },
            _ => None,
        });
        Self {
            cfg,
            tree: &function.tree,
            paths: Paths::new(function),
            effects,
            names: names.collect(),
        }
    }

    fn step(&self, state: &mut State, instr: &Instr) {
        match (&instr.kind, instr.source) {
            (InstrKind::Call { dst, .. }, Source::Expr(call)) => {
                state.forget(Value::Temp(*dst));
                self.call(state, *dst, call);
            }
            (InstrKind::Load { dst, place }, _) => match place.as_local() {
                Some(local) => state.copy(Value::Temp(*dst), Value::Local(local)),
                None => state.forget(Value::Temp(*dst)),
            },
            (InstrKind::Store { place, value }, _) => {
                if let Some(local) = place.as_local() {
                    state.set(Value::Local(local), value);
                }
            }
            (InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. }, _) => {
                state.set(Value::Temp(*dst), src);
            }
            (InstrKind::Op { dst, op, operands }, _) => {
                state.forget(Value::Temp(*dst));
                self.computed(state, *dst, *op, operands);
            }
            _ => {}
        }
    }

    fn call(&self, state: &mut State, dst: TempId, call: ExprId) {
        let ExprKind::Call { args, .. } = &self.tree.expr(call).kind else {
            return;
        };
        let name = self.tree.called(call).unwrap_or_default();
        let record = || self.tree.as_address(*args.first()?);
        if begins_section(name) {
            let objects = args.iter().skip(1);
            state.held.extend(objects.map(|&object| Lock {
                record: record(),
                path: self.paths.pointee(object),
                is_shared: false,
            }));
        } else if ends_section(name) {
            let record = record();
            state
                .held
                .retain(|lock| lock.record.is_none() || lock.record != record);
        } else if let Some(effect) = self.effects.get(&call) {
            self.apply(state, dst, effect, args);
        }
    }

    fn apply(&self, state: &mut State, dst: TempId, effect: &Effect, args: &[ExprId]) {
        let path = |way: &Option<Way>| way.as_ref()?.path(&self.paths, args);
        let lock = |taken: &Taken| Lock {
            record: None,
            path: path(&taken.way),
            is_shared: taken.is_shared,
        };
        for way in &effect.gave {
            state.give_back(path(way));
        }
        state.held.extend(effect.always().iter().map(lock));
        for (had, is) in effect.had.iter().zip([Had::Zero, Had::NotZero]) {
            let tried = had.iter().flatten().map(lock);
            let tried = tried.map(|lock| (Value::Temp(dst), is, lock));
            state.tried.extend(tried);
        }
        let named = effect.named.iter();
        let named = named.map(|(name, taken)| (Value::Temp(dst), Had::Named(name), lock(taken)));
        state.tried.extend(named);
    }

    /// A value that tells what another one is: `ok = pthread_mutex_trylock(&mutex) == 0`.
    fn computed(&self, state: &mut State, dst: TempId, op: Op, operands: &[Operand]) {
        let (asks, [it, rest @ ..]) = (op, operands) else {
            return;
        };
        let comparison = match asks {
            Op::Unary(UnaryOp::Not) => Comparison::Equal,
            Op::Binary(BinaryOp::Equals) => Comparison::Equal,
            Op::Binary(BinaryOp::NotEquals) => Comparison::NotEqual,
            _ => return,
        };
        let with = rest.first().unwrap_or(&Operand::Int(0));
        for (holds, is) in [(true, Had::NotZero), (false, Had::Zero)] {
            let known = self.known(state, it, comparison, with, holds);
            let known = known.into_iter().map(|lock| (Value::Temp(dst), is, lock));
            state.tried.extend(known);
        }
    }

    /// The locks that are held if a comparison holds, or if it does not.
    fn known(
        &self,
        state: &State,
        lhs: &Operand,
        comparison: Comparison,
        rhs: &Operand,
        holds: bool,
    ) -> BTreeSet<Lock> {
        let is_equal = match comparison {
            Comparison::Equal => holds,
            Comparison::NotEqual => !holds,
            _ => return BTreeSet::new(),
        };
        let name = |operand: &Operand| match operand {
            Operand::Temp(temp) => self.names.get(temp).copied(),
            _ => None,
        };
        let (it, with) = match name(lhs) {
            Some(_) => (rhs, lhs),
            None => (lhs, rhs),
        };
        let Operand::Temp(temp) = it else {
            return BTreeSet::new();
        };
        let is = |had: Had| match (had, with) {
            (Had::Zero, _) => is_equal && with.is_zero(),
            (Had::NotZero, Operand::Int(0) | Operand::Null) => !is_equal,
            (Had::NotZero, Operand::Int(_)) => is_equal,
            (Had::Named(had), _) => is_equal && name(with) == Some(had),
            _ => false,
        };
        let tried = state.tried.iter();
        let tried = tried.filter(|(value, had, _)| *value == Value::Temp(*temp) && is(*had));
        tried.map(|(_, _, lock)| lock.clone()).collect()
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
        }
    }

    fn edge(&self, node: NodeId, edge: usize, state: &mut Self::Domain) {
        let Terminator::Branch { condition: it, .. } = &self.cfg.blocks[node].terminator else {
            return;
        };
        if let Some(state) = state {
            let known = self.known(state, &it.lhs, it.comparison, &it.rhs, edge == 0);
            state.held.extend(known);
        }
    }

    fn join(&self, into: &mut Self::Domain, from: &Self::Domain) -> bool {
        match (into.as_mut(), from) {
            (_, None) => false,
            (None, Some(from)) => {
                *into = Some(from.clone());
                true
            }
            (Some(into), Some(from)) => into.meet(from),
        }
    }
}
