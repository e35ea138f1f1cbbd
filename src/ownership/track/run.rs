//! Runs states along all paths.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::crowd::Crowd;
use super::effects::Callees;
use super::facts::Facts;
use super::owed::settle;
use super::state::{State, Value};
use super::step::Stepper;
use super::{Exit, Ledger, Report, Seed, Trouble};
use crate::ast::{LocalId, Tree};
use crate::cfg::{
    BlockId, CaseLabel, Cfg, Comparison, Condition, Operand, Point, Source, Terminator,
};

/// Most distinct states at the entry of one block.
const MAX_STATES_OF_BLOCK: usize = 96;

/// Most states within a block: each lookup in a row of statements doubles them.
const MAX_STATES_IN_BLOCK: usize = 2048;

/// Most states of a block that are kept apart where their references do not differ, when paths are many.
const MAX_EXACT_STATES_OF_BLOCK: usize = 16;

/// Most steps over all states, for functions of thousands of blocks.
const MAX_VISITS: usize = 200_000;

/// All that following the seeds showed.
#[derive(Debug)]
pub struct Followed {
    /// What is wrong, by seed.
    pub troubles: Vec<Trouble>,
    /// The ways out, each once.
    pub exits: BTreeSet<Exit>,
    /// Seeds with the steps that store what was read through a pointer to their instances where
    /// it stays behind the function.
    pub contents: BTreeSet<(usize, Source)>,
    /// What the function does with the references of each seed, by its index.
    pub ledgers: BTreeMap<usize, Ledger>,
}

/// Follows `seeds` through the function: all together and all variables with them, or less if that
/// makes too many states. Not to know all the values of the other variables, or of the other seeds,
/// makes more paths possible, never fewer, so what is clean then, or doubtful at most, is no worse.
///
/// Only what `counts` is reported.
#[must_use]
pub fn run(
    cfg: &Cfg,
    tree: &Tree,
    seeds: &[Seed],
    callees: &dyn Callees,
    counts: &dyn Fn(&Trouble) -> bool,
) -> Report {
    let facts = Facts::new(cfg, tree);
    let together = |blur| {
        let mut followed = Walk::new(&facts, seeds, callees, blur).run(&mut 0)?;
        followed.troubles.retain(counts);
        let is_no_worse = |trouble: &Trouble| !blur || trouble.problem.is_doubt();
        let holds = followed.troubles.iter().all(is_no_worse);
        holds.then_some(followed.troubles)
    };
    if let Some(troubles) = together(false).or_else(|| together(true)) {
        return Report::Complete(troubles);
    }
    let mut visits = 0;
    let mut doubts = Vec::new();
    for (at, seed) in seeds.iter().enumerate() {
        let walk = Walk::new(&facts, std::slice::from_ref(seed), callees, true);
        let troubles = walk.run(&mut visits).map(|followed| {
            let troubles = followed.troubles.into_iter();
            let named = troubles.map(|trouble| Trouble {
                seed: at,
                ..trouble
            });
            named.filter(counts).collect::<Vec<_>>()
        });
        match troubles {
            Some(troubles) if troubles.iter().all(|trouble| trouble.problem.is_doubt()) => {
                doubts.extend(troubles);
            }
            _ => return Report::TooComplex,
        }
    }
    Report::Complete(doubts)
}

/// Follows `seeds` together; `None` if there are too many paths.
#[must_use]
pub fn follow(cfg: &Cfg, tree: &Tree, seeds: &[Seed], callees: &dyn Callees) -> Option<Followed> {
    let facts = Facts::new(cfg, tree);
    Walk::new(&facts, seeds, callees, false).run(&mut 0)
}

/// As [`follow`], but only `holders` hold the references: what other variables get of one is the
/// business of the code around.
#[must_use]
pub fn follow_in(
    cfg: &Cfg,
    tree: &Tree,
    seeds: &[Seed],
    callees: &dyn Callees,
    holders: &BTreeSet<LocalId>,
) -> Option<Followed> {
    let facts = Facts::new(cfg, tree);
    let mut walk = Walk::new(&facts, seeds, callees, false);
    walk.stepper.holders = Some(holders);
    walk.run(&mut 0)
}

/// As [`follow`], but where there are many paths those with the same references are followed as
/// one, which makes more paths possible, never fewer.
#[must_use]
pub fn follow_roughly(
    cfg: &Cfg,
    tree: &Tree,
    seeds: &[Seed],
    callees: &dyn Callees,
) -> Option<Followed> {
    let facts = Facts::new(cfg, tree);
    Walk::new(&facts, seeds, callees, true).run(&mut 0)
}

/// As [`follow`], for a function that stores objects in memory without references of their own.
#[must_use]
pub fn follow_lending(
    cfg: &Cfg,
    tree: &Tree,
    seeds: &[Seed],
    callees: &dyn Callees,
) -> Option<Followed> {
    let facts = Facts::new(cfg, tree);
    let mut walk = Walk::new(&facts, seeds, callees, false);
    walk.stepper.memory_takes = false;
    walk.run(&mut 0)
}

/// One walk along all paths.
struct Walk<'a> {
    stepper: Stepper<'a>,
    seen: Vec<Crowd>,
    /// Whether states with the same references become one in a crowded block.
    blur: bool,
}

impl<'a> Walk<'a> {
    fn new(facts: &'a Facts<'a>, seeds: &'a [Seed], callees: &'a dyn Callees, blur: bool) -> Self {
        let blocks = facts.cfg.blocks.iter();
        Self {
            stepper: Stepper::new(facts, seeds, callees),
            seen: blocks.map(|_| Crowd::default()).collect(),
            blur,
        }
    }

    /// What shows; `None` if there are too many paths. Adds its steps to `visits`.
    fn run(mut self, visits: &mut usize) -> Option<Followed> {
        let mut waiting = VecDeque::from([(
            Cfg::ENTRY,
            State::entry(self.stepper.seeds, self.stepper.facts),
        )]);
        while let Some((block, state)) = waiting.pop_front() {
            *visits += 1;
            if *visits > MAX_VISITS {
                return None;
            }
            for (target, next) in run_block(&mut self.stepper, block, state)? {
                match self.enter(target, next) {
                    Some(Entry::New(next)) => waiting.push_back((target, next)),
                    Some(Entry::Known) => {}
                    None => return None,
                }
            }
        }
        Some(self.stepper.into_followed())
    }

    /// What `state` is at the entry of `block`; `None` if there are too many states.
    fn enter(&mut self, block: BlockId, mut state: State) -> Option<Entry> {
        let index = 0;
        self.stepper.forget(&mut state, Point { block, index });
        if state.instances.len() > 2 * self.stepper.seeds.len() + 2 {
            return None;
        }
        let crowd = &mut self.seen[block.index()];
        let new = match self.blur && crowd.len() >= MAX_EXACT_STATES_OF_BLOCK {
            true => crowd.merge(state, &self.stepper.carriers),
            false => crowd.add(state),
        };
        let Some(new) = new else {
            return Some(Entry::Known);
        };
        (crowd.len() <= MAX_STATES_OF_BLOCK).then_some(Entry::New(new))
    }
}

enum Entry {
    New(State),
    Known,
}

/// The states with which one state leaves a block; `None` if there are too many.
fn run_block(
    stepper: &mut Stepper<'_>,
    id: BlockId,
    state: State,
) -> Option<Vec<(BlockId, State)>> {
    let block = stepper.facts.cfg.block(id);
    let mut states = vec![state];
    for instr in &block.instrs {
        let mut next = Vec::with_capacity(states.len());
        for state in states {
            stepper.step(state, instr, &mut next);
        }
        if next.len() > MAX_STATES_IN_BLOCK {
            return None;
        }
        states = next;
    }
    let mut out = Vec::new();
    for state in states {
        leave(stepper, &block.terminator, state, &mut out);
    }
    Some(out)
}

fn leave(
    stepper: &mut Stepper<'_>,
    terminator: &Terminator,
    mut state: State,
    out: &mut Vec<(BlockId, State)>,
) {
    match terminator {
        Terminator::Goto(target) => out.push((*target, state)),
        Terminator::Branch {
            condition,
            then,
            otherwise,
        } => {
            for (holds, target) in [(true, *then), (false, *otherwise)] {
                let mut next = state.clone();
                if refine(stepper, &mut next, condition, holds) {
                    out.push((target, next));
                }
            }
        }
        Terminator::Switch {
            value,
            cases,
            default,
            ..
        } => match stepper.value(&state, value) {
            Value::Int(number) => {
                let hit = cases.iter().find(|(label, _)| match label {
                    CaseLabel::Int(case) => *case == number,
                    CaseLabel::Range(low, high) => (*low..=*high).contains(&number),
                    CaseLabel::Expr(_) => false,
                });
                out.push((hit.map_or(*default, |(_, target)| *target), state));
            }
            _ => {
                out.extend(cases.iter().map(|(_, target)| (*target, state.clone())));
                out.push((*default, state));
            }
        },
        Terminator::Indirect(targets) => {
            out.extend(targets.iter().map(|target| (*target, state.clone())));
        }
        Terminator::Return(value, stmt) => {
            stepper.leave_function(&mut state, value.as_ref(), *stmt)
        }
        Terminator::Unreachable => {}
    }
}

/// Adds to `state` that the condition's truth is `holds`; whether that can be.
fn refine(stepper: &Stepper<'_>, state: &mut State, condition: &Condition, holds: bool) -> bool {
    let (left, right) = (
        stepper.value(state, &condition.lhs),
        stepper.value(state, &condition.rhs),
    );
    if let Some(known) = compare(left, condition.comparison, right) {
        return known == holds;
    }
    if let Value::Instance(id) = left {
        // An item that compares equal to Py_None is still the item, and still owned.
        let equal = holds == (condition.comparison == Comparison::Equal);
        state.instances[id].none |= right == Value::None && equal;
        return true;
    }
    let equal = match condition.comparison {
        Comparison::Equal => holds,
        Comparison::NotEqual => !holds,
        _ => return true,
    };
    let learnt = match right {
        Value::Null | Value::Int(0) if equal => Value::Null,
        Value::Null | Value::Int(0) => Value::NonNull,
        Value::Int(_) | Value::None if equal => right,
        _ => return true,
    };
    if learnt == Value::Null {
        settle(state, left);
    }
    // A derived pointer that is NULL is no longer derived; one that is not stays what it is.
    if matches!(left, Value::Derived(_) | Value::MaybeDerived(_)) && learnt != Value::Null {
        return true;
    }
    if let Operand::Temp(temp) = &condition.lhs
        && let Some(known) = state.temps.get(temp).copied()
        && let Some(local) = known.from
        && state.local(local) == known.value
    {
        let number = !stepper.holds_pointer(local) && right == Value::Int(0);
        match (number, equal) {
            (true, true) => state.set_local(local, Value::Int(0)),
            (true, false) => {}
            (false, _) => state.set_local(local, learnt),
        }
    }
    true
}

/// The outcome of a comparison, if it is the same whatever is unknown.
pub(super) fn compare(left: Value, comparison: Comparison, right: Value) -> Option<bool> {
    let zero = |value: Value| matches!(value, Value::Null | Value::Int(0));
    let pointer = |value: Value| {
        matches!(
            value,
            Value::NonNull | Value::Instance(_) | Value::Owed(_) | Value::None
        )
    };
    let equal = match (left, right) {
        (Value::Int(left), Value::Int(right)) => return Some(comparison.holds(left, right)),
        (left, right) if zero(left) && zero(right) => true,
        (left, right) if zero(left) && pointer(right) || pointer(left) && zero(right) => false,
        (Value::None, Value::None) => true,
        (Value::Instance(left), Value::Instance(right)) if left == right => true,
        _ => return None,
    };
    match comparison {
        Comparison::Equal => Some(equal),
        Comparison::NotEqual => Some(!equal),
        Comparison::Less
        | Comparison::LessOrEqual
        | Comparison::Greater
        | Comparison::GreaterOrEqual => None,
    }
}
