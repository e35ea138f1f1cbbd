//! Follows what one call gave, along all paths, to the first use of what may be nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, LocalId, Tree};
use crate::capi::{self, Form, OnNull, Returns, StealWhen};
use crate::cfg::{
    Base, BlockId, Callee, CaseLabel, Cfg, Comparison, Condition, Instr, InstrKind, Operand, Point,
    Source, TempId, Terminator, addressed_local,
};

/// Most states that are followed; functions with more paths are left alone.
const MAX_STATES: usize = 4096;

/// Which calls are uses of what may be nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mind {
    /// Those that crash.
    Crashes,
    /// Those of which it is not known that they take `NULL`, or that keep it, as well.
    Unknown,
}

impl Mind {
    /// Whether `NULL` as argument `at` of a call is such a use.
    fn minds(self, name: &str, at: usize) -> bool {
        if at == 0 && capi::dies_of_null(name) {
            return true;
        }
        let Some(effects) = capi::effects(name).filter(|_| self == Self::Unknown) else {
            return false;
        };
        // The functions for `NULL` (`Py_XDECREF`), and those that pass its exception on.
        let takes = effects.counts.is_some() || effects.format.is_some();
        let keeps = || {
            let keeps = capi::writes(name).and_then(|row| row.keeps);
            keeps.is_some_and(|first| first <= at) && effects.steals(at) == Some(StealWhen::Always)
        };
        let minds = capi::on_null(name, at).is_none_or(|it| it == OnNull::Crashes);
        !takes && (minds || keeps())
    }
}

/// How the call may have ended, each outcome a bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Outcomes(u8);

impl Outcomes {
    const ERROR: Self = Self(1);
    const ABSENT: Self = Self(2);
    const THERE: Self = Self(4);

    fn of(form: Form) -> Self {
        match form {
            Form::Return => Self(Self::ERROR.0 | Self::THERE.0),
            Form::Out { .. } => Self(Self::ERROR.0 | Self::ABSENT.0 | Self::THERE.0),
        }
    }

    fn retain(self, holds: impl Fn(Self) -> bool) -> Self {
        let all = [Self::ERROR, Self::ABSENT, Self::THERE].into_iter();
        let kept = all.filter(|&each| self.0 & each.0 != 0 && holds(each));
        Self(kept.fold(0, |bits, each| bits | each.0))
    }

    /// The status that the call returns with this one outcome.
    fn status(self) -> i64 {
        match self {
            Self::ERROR => -1,
            Self::ABSENT => 0,
            _ => 1,
        }
    }

    fn may_lack(self) -> bool {
        self.0 & (Self::ERROR.0 | Self::ABSENT.0) != 0
    }
}

/// What a value is, as far as the call is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Object,
    Status,
    /// What `PyErr_Occurred` gave after the call.
    Exception,
    /// What a call gave for the object, which is this number if there is none:
    /// `PyCallable_Check(v)`.
    Told(i64),
    /// Something was computed from one of them: what a test of it means is not known.
    Made,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    outcomes: Outcomes,
    locals: BTreeMap<LocalId, Value>,
    temps: BTreeMap<TempId, Value>,
}

/// What comes after a step.
enum Step {
    On,
    /// The object is gone, tested in a way that is not understood, or in hands that are not seen.
    Done,
    /// The object is read although there may be none.
    Used(ExprId),
}

/// The first use of what `call` gave that some path reaches without a test.
pub(super) fn first_use(
    cfg: &Cfg,
    tree: &Tree,
    form: Form,
    mind: Mind,
    call: ExprId,
) -> Option<ExprId> {
    // for (…) PyTuple_SET_ITEM(result, i, PySequence_GetItem(o, i));
    // if (PyErr_Occurred()) goto error;
    let asks_later = tree.calls().any(|(_, name)| name == "PyErr_Occurred");
    let mind = if asks_later { Mind::Crashes } else { mind };
    let start = cfg.call(call)?;
    let state = begun(cfg.instr(start)?, form)?;
    let mut waiting = vec![(start.next(), state)];
    let mut seen = BTreeSet::new();
    while let Some((point, mut state)) = waiting.pop() {
        if !seen.insert((point, state.clone())) {
            continue;
        }
        if seen.len() > MAX_STATES {
            return None;
        }
        let block = cfg.block(point.block);
        let steps = block.instrs.iter().skip(point.index);
        let mut ended = false;
        for instr in steps {
            match step(tree, mind, &mut state, instr) {
                Step::On => {}
                Step::Done => {
                    ended = true;
                    break;
                }
                Step::Used(used) => return Some(used),
            }
        }
        if !ended {
            let next = targets(&block.terminator, &state).into_iter();
            waiting.extend(next.map(|(block, state)| (Point { block, index: 0 }, state)));
        }
    }
    None
}

/// The state right after the call.
fn begun(instr: &Instr, form: Form) -> Option<State> {
    let InstrKind::Call { dst, args, .. } = &instr.kind else {
        return None;
    };
    let mut state = State {
        outcomes: Outcomes::of(form),
        locals: BTreeMap::new(),
        temps: BTreeMap::new(),
    };
    match form {
        Form::Return => {
            state.temps.insert(*dst, Value::Object);
        }
        Form::Out { arg } => {
            let local = addressed_local(args.get(usize::from(arg))?)?;
            state.locals.insert(local, Value::Object);
            state.temps.insert(*dst, Value::Status);
        }
    }
    Some(state)
}

fn step(tree: &Tree, mind: Mind, state: &mut State, instr: &Instr) -> Step {
    if let Source::Expr(expr) = instr.source
        && is_read(state, mind, instr)
        && !tree.is_asserted(expr)
    {
        return Step::Used(expr);
    }
    match &instr.kind {
        InstrKind::Load { dst, place } => {
            let value = place.as_local().and_then(|it| state.locals.get(&it));
            if let Some(&value) = value {
                state.temps.insert(*dst, value);
            }
        }
        InstrKind::Store { place, value } => {
            let value = state.value(value);
            match place.as_local() {
                Some(local) => {
                    state.locals.remove(&local);
                    state.locals.extend(value.map(|value| (local, value)));
                }
                // Others have it from there on, and may test it.
                None if value == Some(Value::Object) => return Step::Done,
                None => {}
            }
        }
        InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
            if let Some(value) = state.value(src) {
                state.temps.insert(*dst, value);
            }
        }
        InstrKind::Op { dst, operands, .. } => {
            if operands.iter().any(|it| state.value(it).is_some()) {
                state.temps.insert(*dst, Value::Made);
            }
        }
        InstrKind::Call { dst, callee, args } => return called(state, *dst, callee, args),
        InstrKind::Declare { local } => {
            state.locals.remove(local);
        }
        InstrKind::ScopeEnd { locals } => {
            state.locals.retain(|local, _| !locals.contains(local));
        }
        InstrKind::Asm => return Step::Done,
    }
    match state.locals.is_empty() && state.temps.is_empty() {
        true => Step::Done,
        false => Step::On,
    }
}

fn called(state: &mut State, dst: TempId, callee: &Callee, args: &[Operand]) -> Step {
    for local in args.iter().filter_map(addressed_local) {
        state.locals.remove(&local);
    }
    let name = callee.name().unwrap_or_default();
    if name == "PyErr_Occurred" {
        state.temps.insert(dst, Value::Exception);
        return Step::On;
    }
    let gets_it = args.iter().any(|it| state.value(it).is_some());
    let told = args.iter().enumerate().find_map(|(at, arg)| {
        let is_object = state.value(arg) == Some(Value::Object);
        is_object.then(|| given_for_null(name, at)).flatten()
    });
    if let Some(number) = told {
        state.temps.insert(dst, Value::Told(number));
    }
    // A function of the package, `assert`, or a macro may test it and not come back.
    match gets_it && capi::effects(name).is_none() {
        true => Step::Done,
        false => Step::On,
    }
}

/// What a call gives that gets `NULL` as argument `at`, if that is zero or an error.
fn given_for_null(name: &str, at: usize) -> Option<i64> {
    let gives_object = || capi::effects(name).is_some_and(|it| it.returns == Returns::New);
    match capi::on_null(name, at)? {
        OnNull::Takes => Some(0),
        OnNull::Raises => Some(if gives_object() { 0 } else { -1 }),
        OnNull::Crashes | OnNull::Gives => None,
    }
}

/// Whether the step reads the object, and there may be none.
fn is_read(state: &State, mind: Mind, instr: &Instr) -> bool {
    let is_object = |it: &Operand| state.value(it) == Some(Value::Object);
    let read = match &instr.kind {
        InstrKind::Call {
            callee: Callee::Named(name),
            args,
            ..
        } => args
            .iter()
            .enumerate()
            .find(|(at, arg)| mind.minds(name, *at) && is_object(arg))
            .map(|(_, arg)| arg),
        InstrKind::Load { place, .. } | InstrKind::Store { place, .. } => match &place.base {
            Base::Deref(pointer) => Some(pointer),
            _ => None,
        },
        _ => None,
    };
    state.outcomes.may_lack() && read.is_some_and(is_object)
}

impl State {
    fn value(&self, operand: &Operand) -> Option<Value> {
        match operand {
            Operand::Temp(temp) => self.temps.get(temp).copied(),
            _ => None,
        }
    }

    /// The state where `value` is such that `holds` is true of the number that it is: of an object
    /// or an exception whether there is one. `None` where that cannot be, or nobody knows.
    fn with(&self, value: Value, holds: impl Fn(i64) -> bool) -> Option<Self> {
        let number = |each: Outcomes| match value {
            Value::Status => each.status(),
            Value::Object => i64::from(each == Outcomes::THERE),
            Value::Exception => i64::from(each == Outcomes::ERROR),
            Value::Told(number) => number,
            Value::Made => 0,
        };
        if value == Value::Made {
            return None;
        }
        // Of an object that is there a call may say anything.
        let is_any = |each| each == Outcomes::THERE && matches!(value, Value::Told(_));
        let outcomes = self
            .outcomes
            .retain(|each| is_any(each) || holds(number(each)));
        (outcomes.may_lack()).then(|| Self {
            outcomes,
            ..self.clone()
        })
    }
}

fn targets(terminator: &Terminator, state: &State) -> Vec<(BlockId, State)> {
    match terminator {
        Terminator::Branch {
            condition,
            then,
            otherwise,
        } => {
            let edges = [(true, *then), (false, *otherwise)].into_iter();
            let next = edges
                .filter_map(|(taken, target)| Some((target, decided(state, condition, taken)?)));
            next.collect()
        }
        Terminator::Switch {
            value,
            cases,
            default,
            ..
        } => match state.value(value) {
            Some(value) => switched(state, value, cases, *default),
            None => terminator
                .targets()
                .into_iter()
                .map(|it| (it, state.clone()))
                .collect(),
        },
        _ => terminator
            .targets()
            .into_iter()
            .map(|it| (it, state.clone()))
            .collect(),
    }
}

fn decided(state: &State, condition: &Condition, taken: bool) -> Option<State> {
    let Some(value) = state.value(&condition.lhs) else {
        return Some(state.clone()).filter(|_| state.value(&condition.rhs).is_none());
    };
    let number = match condition.rhs {
        Operand::Null => 0,
        Operand::Int(number) => number,
        // It is compared with another object, which is there.
        _ if value == Value::Object && condition.comparison == Comparison::Equal => {
            return state.with(value, |it| it == 0 && !taken);
        }
        _ => return None,
    };
    state.with(value, |it| condition.comparison.holds(it, number) == taken)
}

fn switched(
    state: &State,
    value: Value,
    cases: &[(CaseLabel, BlockId)],
    default: BlockId,
) -> Vec<(BlockId, State)> {
    let matches = |label: &CaseLabel, number: i64| match label {
        CaseLabel::Int(case) => *case == number,
        CaseLabel::Range(low, high) => (*low..=*high).contains(&number),
        CaseLabel::Expr(_) => false,
    };
    let hit = cases
        .iter()
        .filter_map(|(label, target)| Some((*target, state.with(value, |it| matches(label, it))?)));
    let missed = |it: i64| !cases.iter().any(|(label, _)| matches(label, it));
    let rest = state.with(value, missed).map(|state| (default, state));
    hit.chain(rest).collect()
}
