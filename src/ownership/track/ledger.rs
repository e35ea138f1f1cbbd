//! The counts: what takes, gives away and loses references, and what is wrong at the end.

use super::state::{Instance, InstanceId, State, Value};
use super::step::Stepper;
use super::{Exit, Handed, Ledger, Problem, Trouble};
use crate::ast::StmtId;
use crate::cfg::{Base, Operand, Place, Point, Source, TempId};

impl Stepper<'_> {
    /// The function returns: what it returns goes to the caller, all else must balance.
    pub(super) fn leave_function(
        &mut self,
        state: &mut State,
        value: Option<&Operand>,
        stmt: StmtId,
    ) {
        let at = Some(Source::Stmt(stmt));
        let value = value.map(|operand| self.value(state, operand));
        self.note_exit(state, value, stmt);
        match value {
            Some(Value::Instance(id)) => self.give_away(state, id, at),
            Some(Value::Derived(id)) => self.escape(state, id, at),
            Some(value) => self.use_value(state, value, Source::Stmt(stmt)),
            None => {}
        }
        self.end_kept(state, |_, _| true);
        for id in 0..state.instances.len() {
            self.note_end(state, id);
            match state.left(id) {
                0 => {}
                1.. => self.trouble(state, id, Problem::Leak, at),
                _ => self.trouble(state, id, Problem::OverRelease, at),
            }
        }
    }

    fn note_exit(&mut self, state: &State, value: Option<Value>, stmt: StmtId) {
        let of = |id: InstanceId| state.instances[id];
        let value = match value {
            Some(Value::Null) => Handed::Null,
            Some(Value::Int(number)) => Handed::Int(number),
            Some(Value::Instance(id)) => Handed::Instance {
                seed: of(id).seed,
                count: of(id).count,
            },
            Some(Value::Derived(id) | Value::MaybeDerived(id)) => Handed::Inside(of(id).seed),
            Some(
                Value::Unknown
                | Value::Unset
                | Value::MaybeNull
                | Value::NonNull
                | Value::None
                | Value::Owed(_)
                | Value::OwedPart(_),
            )
            | None => Handed::Other,
        };
        let held = state.instances.iter().enumerate();
        let counts = held.map(|(id, instance)| (instance.seed, state.left(id)));
        let counts = counts.filter(|(_, count)| *count != 0).collect();
        self.exits.insert(Exit {
            stmt,
            value,
            counts,
        });
    }

    /// Nothing names the instance any more.
    fn note_end(&mut self, state: &State, id: InstanceId) {
        let Instance { seed, taken, .. } = state.instances[id];
        if !taken {
            self.ledger(seed).is_untaken = true;
        }
    }

    pub(super) fn take(&mut self, state: &mut State, id: InstanceId, at: Source) {
        let instance = &mut state.instances[id];
        instance.count = instance.count.saturating_add(1);
        instance.taken = true;
        let seed = instance.seed;
        self.ledger(seed).takes.insert(at);
    }

    /// Notes that a gift goes where a parameter points.
    pub(super) fn hand_out(
        &mut self,
        state: &State,
        place: &Place,
        id: InstanceId,
        source: Source,
    ) {
        let Base::Deref(Operand::Temp(pointer)) = &place.base else {
            return;
        };
        let from = state.temps.get(pointer).and_then(|temp| temp.from);
        if let Some(param) = from.filter(|_| place.path.is_empty())
            && self.facts.tree.local(param).is_param
        {
            let seed = state.instances[id].seed;
            self.ledger(seed).outs.insert(source, param);
        }
    }

    fn ledger(&mut self, seed: usize) -> &mut Ledger {
        self.ledgers.entry(seed).or_default()
    }

    /// Drops what cannot matter any more at `at`.
    pub(super) fn forget(&mut self, state: &mut State, at: Point) {
        let facts = self.facts;
        let is_live = |temp: &TempId| facts.is_temp_live(*temp, at.block);
        state.temps.retain(|temp, _| is_live(temp));
        state.locals.retain(|local, _| facts.is_live(*local, at));
        if facts.is_doomed(at.block) {
            let ids = 0..state.instances.len();
            let unnamed: Vec<InstanceId> = ids.filter(|&id| !state.is_named(id)).collect();
            unnamed
                .into_iter()
                .for_each(|id| state.instances[id].count = 0);
        } else {
            self.find_lost(state, facts.cfg.source(at));
        }
        state.normalize();
    }

    /// Reports owned instances that nothing names any more.
    pub(super) fn find_lost(&mut self, state: &mut State, at: Option<Source>) {
        for id in 0..state.instances.len() {
            if state.is_named(id) {
                continue;
            }
            self.note_end(state, id);
            if state.instances[id].count > 0 {
                if state.left(id) > 0 {
                    self.trouble(state, id, Problem::Leak, at);
                }
                state.instances[id].count = 0;
            }
        }
    }

    /// What a macro leaves out here it may read in another build.
    pub(super) fn look(&mut self, state: &State, operands: &[Operand], at: Source) {
        for operand in operands {
            let value = self.value(state, operand);
            self.use_value(state, value, at);
        }
    }

    pub(super) fn use_value(&mut self, state: &State, value: Value, at: Source) {
        if let Some(id) = value.instance()
            && state.instances[id].released
            && state.instances[id].count <= 0
        {
            let problem = match value {
                Value::MaybeDerived(_) => Problem::MayOutlive,
                _ => Problem::UseAfterRelease,
            };
            self.trouble(state, id, problem, Some(at));
        }
    }

    pub(super) fn release(&mut self, state: &mut State, id: InstanceId, at: Source) {
        if state.instances[id].count <= 0 {
            self.trouble(state, id, Problem::OverRelease, Some(at));
        }
        let instance = &mut state.instances[id];
        instance.count = instance.count.saturating_sub(1);
        instance.released = instance.count <= 0;
        instance.released_at = instance.released.then_some(at);
        let seed = instance.seed;
        self.ledger(seed).releases.insert(at);
    }

    pub(super) fn give_away(&mut self, state: &mut State, id: InstanceId, at: Option<Source>) {
        if state.instances[id].released && state.instances[id].count <= 0 {
            self.trouble(state, id, Problem::UseAfterRelease, at);
        }
        let instance = &mut state.instances[id];
        instance.count = instance.count.saturating_sub(1);
        let seed = instance.seed;
        self.ledger(seed).gifts.extend(at);
    }

    pub(super) fn trouble(
        &mut self,
        state: &State,
        id: InstanceId,
        problem: Problem,
        at: Option<Source>,
    ) {
        let Instance {
            seed, released_at, ..
        } = state.instances[id];
        let trouble = Trouble {
            seed,
            problem,
            at,
            since: released_at.filter(|_| problem == Problem::MayOutlive),
        };
        if !self.troubles.contains(&trouble) {
            self.troubles.push(trouble);
        }
    }
}
