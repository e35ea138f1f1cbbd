//! What one instruction does to a state.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::buffers::frees;
use super::carriers::carriers;
use super::effects::{Callees, lives_by_itself};
use super::facts::Facts;
use super::outs::next_item;
use super::state::{InstanceId, State, Value};
use super::{Exit, Followed, Ledger, Origin, Problem, Seed, Trouble};
use crate::ast::LocalId;
use crate::calls::{self, CallEffects, Count};
use crate::capi::{Counts, StealWhen};
use crate::cfg::{Base, Callee, Instr, InstrKind, Op, Operand, Place, Projection, Source, TempId};

pub(super) struct Stepper<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) seeds: &'a [Seed],
    pub(super) callees: &'a dyn Callees,
    /// Variables that a seed's results may get to.
    pub(super) carriers: FxHashSet<LocalId>,
    /// The variables that hold what the seeds give; `None` for all.
    pub(super) holders: Option<&'a BTreeSet<LocalId>>,
    /// Whether memory that outlives the function takes the reference of what is stored there.
    pub(super) memory_takes: bool,
    pub(super) troubles: Vec<Trouble>,
    pub(super) exits: BTreeSet<Exit>,
    pub(super) contents: BTreeSet<(usize, Source)>,
    pub(super) ledgers: BTreeMap<usize, Ledger>,
}

impl<'a> Stepper<'a> {
    pub(super) fn new(facts: &'a Facts<'a>, seeds: &'a [Seed], callees: &'a dyn Callees) -> Self {
        Self {
            facts,
            seeds,
            callees,
            carriers: carriers(facts.cfg, seeds),
            holders: None,
            memory_takes: true,
            troubles: Vec::new(),
            exits: BTreeSet::new(),
            contents: BTreeSet::new(),
            ledgers: BTreeMap::new(),
        }
    }

    pub(super) fn into_followed(mut self) -> Followed {
        self.troubles
            .sort_by_key(|trouble| (trouble.seed, trouble.problem));
        Followed {
            troubles: self.troubles,
            exits: self.exits,
            contents: self.contents,
            ledgers: self.ledgers,
        }
    }

    pub(super) fn holds_pointer(&self, local: LocalId) -> bool {
        let ty = &self.facts.tree.local(local).ty;
        self.facts.holds_pointer(local) && !self.callees.is_plain(ty)
    }

    /// Runs one instruction; pushes the states it can end in.
    pub(super) fn step(&mut self, mut state: State, instr: &Instr, out: &mut Vec<State>) {
        if self.crashes(&state, instr) {
            return;
        }
        match &instr.kind {
            InstrKind::Call { dst, callee, args } => {
                return self.call(state, *dst, callee, args, instr.source, out);
            }
            InstrKind::Load { dst, place } => {
                self.read_kept(&mut state, place);
                if let Some(mut null) = self.watch(&mut state, place, instr.source) {
                    self.load(&mut null, *dst, place, instr.source);
                    out.push(null);
                }
                self.load(&mut state, *dst, place, instr.source);
            }
            InstrKind::Store { place, value } => {
                self.store(&mut state, place, value, instr.source);
            }
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
                let from = match src {
                    Operand::Temp(temp) => state.temps.get(temp).and_then(|temp| temp.from),
                    _ => None,
                };
                let value = self.value(&state, src);
                state.set_temp(*dst, value, from);
            }
            InstrKind::Op { dst, op, operands } => {
                if *op == Op::VaArg
                    && let Some(seed) = self.seed_of(instr.source)
                {
                    return self.give(state, seed, *dst, &[], out);
                }
                if *op == Op::Look {
                    self.look(&state, operands, instr.source);
                }
                let made = self.computed(&state, *op, operands);
                state.set_temp(*dst, made, None);
            }
            InstrKind::Declare { local } => {
                // Who releases a reference of the caller's was there before any fix.
                let is_wanted = |seed: &Seed| seed.owned || matches!(seed.origin, Origin::Local(_));
                let is_wanted = self.seeds.iter().any(is_wanted);
                let value = if is_wanted && self.carriers.contains(local) {
                    Value::Unset
                } else {
                    Value::Unknown
                };
                state.set_local(*local, value);
            }
            InstrKind::ScopeEnd { locals } => {
                for local in locals {
                    state.set_local(*local, Value::Unknown);
                    self.take_back(&mut state, &Place::whole(Base::Local(*local)));
                }
                self.find_lost(&mut state, Some(instr.source));
            }
            InstrKind::Asm => {}
        }
        out.push(state);
    }

    fn load(&mut self, state: &mut State, dst: TempId, place: &Place, source: Source) {
        if let Some(local) = place.as_local() {
            self.hand_on(state, local, source);
            let value = state.local(local);
            state.set_temp(dst, value, Some(local));
            return;
        }
        let value = match &place.base {
            Base::Global(name) if place.path.is_empty() && &**name == "Py_None" => Value::None,
            Base::Deref(pointer) => {
                let value = self.value(state, pointer);
                self.use_value(state, value, source);
                if let Value::Instance(id) = value
                    && matches!(&place.path[..], [Projection::Field(field)] if &**field == "ob_refcnt")
                {
                    self.trouble(state, id, Problem::CountMatters, Some(source));
                }
                match value.instance() {
                    Some(id) if !self.facts.gives_number(pointer) => Value::MaybeDerived(id),
                    _ => Value::Unknown,
                }
            }
            // s.text
            Base::Local(local) => match state.local(*local) {
                Value::Derived(id) | Value::MaybeDerived(id) => Value::MaybeDerived(id),
                _ => Value::Unknown,
            },
            Base::Global(_) | Base::Unnamed(_) => Value::Unknown,
        };
        let found = self.lent(state, place).or_else(|| self.owed(state, place));
        let found = found.or_else(|| self.may_be_lent(state, place));
        let value = found.unwrap_or(value);
        state.set_temp(dst, value, None);
    }

    fn store(&mut self, state: &mut State, place: &Place, value: &Operand, source: Source) {
        let value = self.value(state, value);
        self.overwrite(state, place);
        self.take_back(state, place);
        if let Some(local) = place.as_local() {
            let is_holder = self.holders.is_none_or(|it| it.contains(&local));
            let value = match value {
                Value::Instance(_) if !is_holder => Value::NonNull,
                // static PyObject *cache; … cache = v;
                Value::Instance(id) if self.facts.own_memory(place).is_none() => {
                    self.give_away(state, id, Some(source));
                    Value::Unknown
                }
                // unsigned long text = (unsigned long)PyUnicode_AsUTF8(v);
                Value::Derived(_) if self.facts.tree.local(local).ty.may_keep_address() => value,
                Value::Derived(_) | Value::MaybeDerived(_) if !self.holds_pointer(local) => {
                    Value::Unknown
                }
                // A helper's result: an object may be one of its own.
                Value::MaybeDerived(_) if self.facts.holds_object(local) => value,
                Value::MaybeDerived(id) => Value::Derived(id),
                Value::Owed(_) => Value::NonNull,
                Value::OwedPart(_) => Value::Unknown,
                other => other,
            };
            state.set_local(local, value);
            return self.find_lost(state, Some(source));
        }
        if let Base::Deref(pointer) = &place.base {
            let into = self.value(state, pointer);
            self.use_value(state, into, source);
        }
        let value = self.stored(state, place, value, source);
        match (value, self.facts.own_memory(place)) {
            (Value::Instance(id), _) if self.lend(state, place, id) => {}
            // Memory takes a reference over, as a field does.
            (Value::Instance(id), _) => {
                self.give_away(state, id, Some(source));
                self.hand_out(state, place, id, source);
                self.owe(state, place, id);
            }
            (Value::Derived(_), Some(local)) => state.set_local(local, value),
            (Value::Derived(id), None) => match self.buffer(state, place) {
                Some(buffer) => self.fill(state, buffer, id, source),
                None => self.owe_part(state, place, id, source),
            },
            (Value::MaybeDerived(id), None) => self.stored_contents(state, place, id, source),
            _ => {}
        }
    }

    /// The seed that the step at `source` gives.
    fn seed_of(&self, source: Source) -> Option<usize> {
        let is_it =
            |seed: &Seed| matches!(seed.origin, Origin::Call(call) if source == Source::Expr(call));
        self.seeds.iter().position(is_it)
    }

    fn call(
        &mut self,
        mut state: State,
        dst: TempId,
        callee: &Callee,
        args: &[Operand],
        source: Source,
        out: &mut Vec<State>,
    ) {
        let values: Vec<Value> = args.iter().map(|arg| self.value(&state, arg)).collect();
        let name = match callee {
            Callee::Named(name) => &**name,
            Callee::Indirect(_) => "",
        };
        if self.dies_of_null(&state, name, args) {
            return;
        }
        let effects = calls::effects(self.facts.tree, callee, args, self.callees);
        self.use_kept(&mut state, name);
        self.pay(&mut state, &effects, values.first(), source);
        self.look_at(&mut state, name, args, source);
        self.lock(&mut state, name, args, &values);
        self.hand_to_callee(&mut state, (name, &effects), args, &values, source);
        let mut on_success = Vec::new();
        for (at, &value) in values.iter().enumerate() {
            let callee = (name, &effects);
            self.argument(&mut state, callee, at, value, source, &mut on_success);
        }
        self.assigned_in_place(&mut state, name, source);
        let seed = self.seed_of(source);
        let before = (name == "PyDict_Next").then(|| state.clone());
        self.addresses(&mut state, name, args, &values, source);
        if let Some(ended) = before {
            let ended = Some(ended).filter(|ended| !self.must_give_item(ended, args, source));
            let owner = self.copied(&state, &values);
            return next_item(ended, state, dst, (args, owner), out);
        }
        if let Some(seed) = seed {
            return self.give(state, seed, dst, args, out);
        }
        let result = match self.gives_apart(source) {
            true => Value::Unknown,
            false => self.result(name, &values),
        };
        if on_success.is_empty() {
            state.set_temp(dst, result, None);
            return out.push(state);
        }
        let mut failed = state.clone();
        failed.set_temp(dst, Value::Int(-1), None);
        out.push(failed);
        for id in on_success {
            self.give_away(&mut state, id, Some(source));
        }
        state.set_temp(dst, Value::Int(0), None);
        out.push(state);
    }

    fn argument(
        &mut self,
        state: &mut State,
        (name, effects): (&str, &CallEffects<'_>),
        at: usize,
        value: Value,
        source: Source,
        on_success: &mut Vec<InstanceId>,
    ) {
        let count = effects.count(at);
        if lives_by_itself(count, value) {
            self.use_value(state, value, source);
            if !self.gives_back(source, at) {
                self.set_argument(state, source, at, Value::NonNull);
            }
            return;
        }
        let value = match value {
            // if (v == Py_None) { Py_DECREF(Py_None); …: the same object under another name.
            Value::None if count.releases() => state.owned_none().unwrap_or(value),
            _ => value,
        };
        if let Value::Instance(id) = value
            && effects.counts_references(at)
        {
            self.trouble(state, id, Problem::CountMatters, Some(source));
        }
        let Value::Instance(id) = value else {
            let dies_of_null = count == Count::Counts(Counts::Release { null: false });
            let problem = match value {
                Value::Null | Value::MaybeNull if dies_of_null => Some(Problem::ReleaseOfNull),
                Value::Unset if count.releases() => Some(Problem::ReleaseOfUnset),
                _ => None,
            };
            self.troubles.extend(problem.map(|problem| Trouble {
                seed: 0,
                problem,
                at: Some(source),
                since: None,
            }));
            if !frees(name) {
                self.use_value(state, value, source);
            }
            return;
        };
        match count {
            Count::Counts(Counts::Take | Counts::Copy) => {
                self.use_value(state, value, source);
                self.take(state, id, source);
            }
            Count::Counts(_) => self.release(state, id, source),
            Count::Consumed(StealWhen::Always) => {
                self.use_value(state, value, source);
                self.give_away(state, id, Some(source));
            }
            Count::Consumed(StealWhen::Success) => {
                self.use_value(state, value, source);
                on_success.push(id);
            }
            // What may become of it is said by `hand_to_callee`.
            Count::Unchanged | Count::Unknown => self.use_value(state, value, source),
        }
    }
}
