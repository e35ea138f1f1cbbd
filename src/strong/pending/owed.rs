//! Exceptions that a function must have met by then: it fails, and raises none on the way.
//!
//! ```c
//! if (lib_step(state) != LIB_OK)           /* out of sight */
//!     goto fail;
//! …
//! fail:
//! v = PyDict_GetItem(hooks, name);         /* here one is pending: */
//! if (v != NULL)
//!     count++;
//! return NULL;                             /* nobody raises it behind that */
//! ```
//!
//! That is how the function's own code shows what calls do of which nothing else is known. Only paths
//! count on which objects are there: that one is missing may be the failure itself.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::later::is_asking;
use super::raising::Signs;
use super::worlds::{Known, Value, World, Worlds};
use super::{Flow, Pending};
use crate::ast::LocalId;
use crate::capi::{self, Returns, takes_exception};
use crate::cfg::{Callee, Instr, InstrKind, Operand, Point, TempId, Terminator};
use crate::dataflow::{self, Analysis, Direction, NodeId};
use crate::strong::follow::hold::Carrier;

impl Pending<'_> {
    /// Whether the function shows by how it goes on behind `point` that a call of which nothing is
    /// known may have left an exception by then.
    pub(in crate::strong) fn is_owed_at(&self, point: Point) -> bool {
        let Some(state) = self.state(point) else {
            return true;
        };
        let clean = state.clean.filter(|world| !world.unseen.is_empty());
        clean.is_some_and(|world| Tail::new(self, point, world, Sought::Failure).is_found())
    }

    /// Whether the function asks behind `point` for an exception, other than where a test shows the
    /// failure that it means: of calls of which nothing is known.
    pub(super) fn asks_for_unseen(&self, world: &World, point: Point) -> bool {
        let tail = || Tail::new(self, point, world.clone(), Sought::Question);
        !world.unseen.is_empty() && tail().is_found()
    }

    /// The numbers that the function returns where it has raised.
    fn failures(&self) -> BTreeSet<i64> {
        let ends = self.flow.cfg.iter().filter_map(|(id, block)| {
            let Terminator::Return(Some(value), _) = &block.terminator else {
                return None;
            };
            let index = block.instrs.len();
            let state = self.state(Point { block: id, index })?;
            let raised = state.shown.filter(|_| state.clean.is_none())?;
            match raised.known_of(value) {
                Some(Known::Number(number)) => Some(number),
                _ => None,
            }
        });
        ends.collect()
    }
}

impl World {
    /// Whether all calls that may have failed are of functions out of sight.
    fn is_unseen_only(&self) -> bool {
        self.open.iter().all(|call| self.unseen.contains(call))
    }

    /// The calls that gave `value` gave an object, and so no exception.
    pub(super) fn gave_object(&mut self, value: &Value) {
        value
            .calls
            .iter()
            .for_each(|&call| self.unseen.remove(call));
    }

    /// Takes `local`, of which nothing is known, for an object.
    fn suppose_there(&mut self, local: LocalId) {
        let carrier = Carrier::Local(local);
        if !self.values.contains_key(&carrier) {
            self.known.entry(carrier).or_insert(Known::NonZero);
        }
    }

    /// Takes `local`, of which nothing is known, for a number of `call`, which is no open one.
    fn suppose_from(&mut self, local: LocalId, call: TempId) {
        let carrier = Carrier::Local(local);
        if !self.known.contains_key(&carrier) {
            let (signs, calls) = (Signs::of_output(true), [call].into());
            self.values.insert(carrier, Rc::new(Value { signs, calls }));
        }
    }
}

/// What is looked for behind a point.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sought {
    /// A failure that cannot be that of a call in between.
    Failure,
    /// A question for any exception.
    Question,
}

/// The paths behind a point on which nothing raises an exception.
struct Tail<'p, 'a> {
    flow: &'p Flow<'a>,
    sought: Sought,
    from: Point,
    /// What is known at the point.
    seed: World,
    /// Stands for what gave the numbers that are there at the point, the number after those of all calls:
    /// `rc = lib_step(state); v = PyDict_GetItem(hooks, name); … return rc;`
    before: TempId,
    /// The numbers that tell of an exception, besides those below zero.
    failures: BTreeSet<i64>,
}

impl<'p, 'a> Tail<'p, 'a> {
    fn new(pending: &'p Pending<'a>, from: Point, mut seed: World, sought: Sought) -> Self {
        seed.open.clear();
        seed.lost.clear();
        seed.unseen.clear();
        let flow = &pending.flow;
        let before = TempId(flow.cfg.temps);
        for (local, &is_object) in (0u32..).map(LocalId).zip(&flow.objects) {
            if !is_object {
                seed.suppose_from(local, before);
            } else if sought == Sought::Failure && !flow.unsure.contains(&local) {
                seed.suppose_there(local);
            }
        }
        let failures = match flow.gives_pointer {
            true => [0].into(),
            false => pending.failures(),
        };
        Self {
            flow,
            sought,
            from,
            seed,
            before,
            failures,
        }
    }

    /// Whether one of them ends in a failure, or in what deals with one; or asks.
    fn is_found(&self) -> bool {
        let Ok(solution) = dataflow::solve(self.flow.cfg, self) else {
            return true;
        };
        self.flow.cfg.iter().any(|(id, block)| {
            let mut state = solution.input(id.index()).clone();
            let mut is_met = false;
            self.run(id.index(), &mut state, |instr, world| {
                is_met |= match self.sought {
                    Sought::Failure => world.is_unseen_only() && calls(instr, is_taking),
                    Sought::Question => calls(instr, is_asking),
                };
            });
            let failed = match (&block.terminator, &state.clean) {
                (Terminator::Return(Some(value), _), Some(world)) => {
                    self.sought == Sought::Failure && self.is_failure(value, world)
                }
                _ => false,
            };
            is_met || failed
        })
    }

    fn is_failure(&self, value: &Operand, world: &World) -> bool {
        match world.known_of(value) {
            Some(Known::Number(number)) => {
                number < 0 && !self.flow.gives_pointer || self.failures.contains(&number)
            }
            Some(Known::Negative) => true,
            Some(Known::NonZero) | None => world.of(value).calls.contains(&self.before),
        }
    }

    /// Runs the steps of a block; `look` gets each with what is known before it.
    fn run(&self, node: NodeId, state: &mut Worlds, mut look: impl FnMut(&Instr, &World)) {
        for (index, instr) in self.flow.cfg.blocks[node].instrs.iter().enumerate() {
            let is_start = self.from.block.index() == node && self.from.index == index;
            if is_start {
                state.join(&Worlds {
                    clean: Some(self.seed.clone()),
                    shown: None,
                });
            }
            if let Some(world) = &state.clean {
                look(instr, world);
            }
            self.flow.step(instr, state);
            state.shown = None;
            if let InstrKind::Call { dst, callee, .. } = &instr.kind {
                if is_taking(callee) || !is_start && self.may_mean(*dst, callee) {
                    state.clean = None;
                }
                if let Some(world) = &mut state.clean
                    && self.sought == Sought::Failure
                    && (is_start || is_lending(callee))
                {
                    let carrier = Carrier::Temp(*dst);
                    let value = world.of_carrier(carrier);
                    world.set(carrier, value, Some(Known::NonZero));
                }
            }
        }
    }

    /// Whether a failure behind the call may be its own, without that a test shows it.
    fn may_mean(&self, dst: TempId, callee: &Callee) -> bool {
        let is_dropped = self.flow.dropped.contains(&dst);
        if self.sought == Sought::Question {
            return false;
        }
        match callee {
            Callee::Named(name) => match self.flow.helpers.get(name) {
                Some(helper) => helper.unsure || helper.silent || helper.leaves && is_dropped,
                None => !is_dropped && self.flow.helpers.unseen.contains(name),
            },
            Callee::Indirect(_) => !is_dropped && self.flow.is_unseen(dst, callee),
        }
    }
}

/// Whether a call gives an object of something, if it is there.
fn is_lending(callee: &Callee) -> bool {
    let effects = callee.name().and_then(capi::effects);
    effects.is_some_and(|effects| effects.returns == Returns::Borrowed)
}

/// Whether a call deals with an exception.
fn is_taking(callee: &Callee) -> bool {
    callee.name().is_some_and(takes_exception)
}

/// Whether a step is a call of such a function.
fn calls(instr: &Instr, is_one: fn(&Callee) -> bool) -> bool {
    matches!(&instr.kind, InstrKind::Call { callee, .. } if is_one(callee))
}

impl Analysis for Tail<'_, '_> {
    type Domain = Worlds;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Worlds {
        Worlds::default()
    }

    fn boundary(&self) -> Worlds {
        Worlds::default()
    }

    fn transfer(&self, node: NodeId, state: &mut Worlds) {
        self.run(node, state, |_, _| {});
    }

    fn edge(&self, node: NodeId, edge: usize, state: &mut Worlds) {
        self.flow.edge(node, edge, state);
        // The test shows an exception that was raised on the way.
        if state.shown.take().is_some() {
            state.clean = None;
        }
    }

    fn join(&self, into: &mut Worlds, from: &Worlds) -> bool {
        into.join(from)
    }
}
