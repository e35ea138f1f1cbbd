//! Where an exception may be pending, as far as the function itself shows.
//!
//! ```c
//! v = PyObject_GetAttr(o, name);
//! if (v == NULL) {                          /* here one is */
//!     v = PyDict_GetItem(dict, name);       /* this call kept it */
//!
//! n = PyLong_AsLong(o);
//! v = PyDict_GetItem(dict, o);              /* this one, too, */
//! if (n == -1 && PyErr_Occurred())          /* and only here that shows */
//! ```

mod addresses;
pub(super) mod asked;
mod called;
mod calls;
mod coping;
mod dropped;
pub(super) mod entered;
pub(super) mod errno;
mod handled;
mod joins;
mod later;
pub(super) mod missed;
mod outcomes;
mod owed;
mod pointers;
pub(super) mod raising;
mod same_value;
pub(super) mod unasked;
pub(super) mod unheard;
mod worlds;

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ast::{BinaryOp, Function, LocalId};
use crate::cfg::{
    Block, Callee, Cfg, Comparison, Condition, Instr, InstrKind, Liveness, Op, Operand, Point,
    TempId, Terminator,
};
use crate::dataflow::{self, Analysis, Direction, NodeId, Solution};
use crate::strong::follow::hold::Carrier;
use crate::strong::types::is_number;
use called::survive;
use dropped::{dropped, leaving};
use later::{Later, asks, is_from_memory};
use raising::Helpers;
use same_value::{forwarded, held_at_end};
use worlds::{Value, World, Worlds, compared};

/// Exceptions that may be pending at the points of a function.
#[derive(Debug)]
pub(in crate::strong) struct Pending<'a> {
    flow: Flow<'a>,
    solution: Option<Solution<Worlds>>,
}

impl<'a> Pending<'a> {
    /// Computes them for a function; `entered` says whether it may be called with an exception.
    pub(in crate::strong) fn new(
        cfg: &'a Cfg,
        function: &Function,
        helpers: Helpers,
        entered: bool,
    ) -> Self {
        let tree = &function.tree;
        let locals = tree.locals.iter();
        let unsure = cfg.address_taken().iter().copied().collect();
        let blocks = cfg.iter().map(|(_, block)| block);
        let flow = Flow {
            cfg,
            gives_pointer: !function.ret.is_void() && !is_number(&function.ret),
            objects: locals
                .map(|local| local.ty.is_py_object_pointer())
                .collect(),
            leaving: leaving(cfg, &helpers),
            helpers,
            entered,
            forwarded: forwarded(cfg),
            crossing: cfg.crossing_temps(),
            liveness: Liveness::new(cfg, tree.locals.len()),
            dropped: dropped(cfg),
            tested: blocks.map(|block| held_at_end(block, &unsure)).collect(),
            unsure,
        };
        let solution = dataflow::solve(cfg, &flow).ok();
        Self { flow, solution }
    }

    /// Whether an exception may be pending right before the step at `point`: one that a test has
    /// shown, or of a call that no test has shown to be fine.
    pub(in crate::strong) fn at(&self, point: Point) -> bool {
        let Some(mut state) = self.state(point) else {
            return true;
        };
        let instrs = &self.flow.cfg.block(point.block).instrs;
        if let Some(InstrKind::Call { callee, args, .. }) =
            instrs.get(point.index).map(|it| &it.kind)
        {
            state
                .iter_mut()
                .for_each(|world| survive(callee, args, world));
        }
        self.is_left(&state)
            || state
                .clean
                .is_some_and(|world| self.is_asked_for(&world, point))
            || self.is_owed_at(point)
    }

    /// Whether a test has shown that one may be pending right before the step at `point`.
    pub(in crate::strong) fn is_shown_at(&self, point: Point) -> bool {
        let state = self.state(point);
        state.is_none_or(|state| state.shown.is_some())
    }

    /// Whether the code behind `point` asks for one of before it.
    pub(in crate::strong) fn is_asked_at(&self, point: Point) -> bool {
        let clean = self.state(point).and_then(|state| state.clean);
        clean.is_some_and(|world| self.is_asked_for(&world, point))
    }

    /// Whether `local` may hold `error` right before the step at `point`, as a call gave it that has
    /// raised, and the exception still be pending.
    pub(in crate::strong) fn is_open_at(&self, point: Point, local: LocalId, error: i64) -> bool {
        let Some(mut state) = self.state(point) else {
            return true;
        };
        state.iter_mut().any(|world| {
            let value = world.of_carrier(Carrier::Local(local));
            world.is_open(&value) && value.signs.is_sign(error)
        })
    }

    /// Whether there may be one that a test has shown, or that the code behind `point` asks for, or of
    /// which nothing tells.
    pub(in crate::strong) fn is_known_at(&self, point: Point) -> bool {
        self.is_shown_at(point)
            || self.is_asked_at(point)
            || self.lost_at(point).is_some()
            || self.is_owed_at(point)
    }

    /// A call before `point` that may have left an exception of which nothing tells.
    pub(in crate::strong) fn lost_at(&self, point: Point) -> Option<&str> {
        let clean = self.state(point)?.clean?;
        match self.callee(clean.lost.iter().next()?)? {
            Callee::Named(name) => Some(name),
            Callee::Indirect(_) => None,
        }
    }

    /// Whether one may be pending at `point`, not for missing memory alone.
    fn is_left_at(&self, point: Point) -> bool {
        self.state(point).is_none_or(|state| self.is_left(&state))
    }

    fn is_left(&self, state: &Worlds) -> bool {
        let is_left = |world: &World| {
            !world.lost.is_empty() || self.has_left_besides(world, &Value::default())
        };
        state.shown.is_some() || state.clean.as_ref().is_some_and(is_left)
    }

    /// Whether another call than those that gave `value` may have left one that no test has shown to
    /// be fine.
    ///
    /// ```c
    /// total += PyLong_AsLong(o);
    /// return 0;
    /// ```
    fn has_left_besides(&self, world: &World, value: &Value) -> bool {
        let mut open = world.open.iter();
        open.any(|call| self.flow.leaving.contains(&call) && !value.calls.contains(&call))
    }

    /// What the call with the result `call` calls.
    fn callee(&self, call: TempId) -> Option<&Callee> {
        let mut instrs = self.flow.cfg.iter().flat_map(|(_, block)| &block.instrs);
        instrs.find_map(|instr| match &instr.kind {
            InstrKind::Call { dst, callee, .. } if *dst == call => Some(callee),
            _ => None,
        })
    }

    /// Whether the code behind `point` asks for errors of the calls before it, be it only that memory
    /// was missing.
    fn is_asked_for(&self, world: &World, point: Point) -> bool {
        let later = Later::new(self, point);
        let is_tested = world.values().any(|(carrier, value)| match carrier {
            Carrier::Local(local) => {
                world.is_open(value)
                    && self.flow.liveness.is_live(local, point)
                    && later.tests(local, &value.signs)
            }
            Carrier::Temp(_) => false,
        });
        let may_be_left = || {
            self.has_left_besides(world, &Value::default()) || self.asks_for_unseen(world, point)
        };
        is_tested || later.asks && may_be_left()
    }

    /// What is known right before the step at `point`; `None` if nothing is.
    pub(in crate::strong) fn state(&self, point: Point) -> Option<Worlds> {
        let solution = self.solution.as_ref()?;
        let mut state = solution.input(point.block.index()).clone();
        for instr in &self.flow.cfg.block(point.block).instrs[..point.index] {
            self.flow.step(instr, &mut state);
        }
        Some(state)
    }
}

#[derive(Debug)]
struct Flow<'a> {
    cfg: &'a Cfg,
    /// Whether the function gives a pointer, and so `NULL` where it fails.
    gives_pointer: bool,
    /// Which variables are `PyObject *`.
    objects: Vec<bool>,
    helpers: Helpers,
    /// Whether the function may be called with an exception.
    entered: bool,
    /// What loads give that read what was stored just before.
    forwarded: FxHashMap<TempId, Operand>,
    /// By block, what holds the value that it ends with a test of.
    tested: Vec<Vec<Carrier>>,
    /// Variables that change behind the function's back.
    unsure: FxHashSet<LocalId>,
    /// Temporaries that outlive their block.
    crossing: FxHashSet<TempId>,
    /// The others say nothing that anybody asks for.
    liveness: Liveness<'a>,
    /// Results that nothing looks at.
    dropped: FxHashSet<TempId>,
    /// Results of calls that may leave an exception, not for missing memory alone.
    leaving: FxHashSet<TempId>,
}

impl Analysis for Flow<'_> {
    type Domain = Worlds;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Worlds {
        Worlds::default()
    }

    fn boundary(&self) -> Worlds {
        Worlds::at_entry(self.entered)
    }

    fn transfer(&self, node: NodeId, state: &mut Worlds) {
        for instr in &self.cfg.blocks[node].instrs {
            self.step(instr, state);
        }
    }

    fn edge(&self, node: NodeId, edge: usize, state: &mut Worlds) {
        if let Terminator::Branch { condition, .. } = &self.cfg.blocks[node].terminator {
            self.meet_object(condition, &self.tested[node], edge == 0, state);
            state.follow(condition, &self.tested[node], edge == 0);
        }
        if let Terminator::Switch { value, cases, .. } = &self.cfg.blocks[node].terminator {
            state.choose(value, cases, edge);
        }
        let next = self.cfg.blocks[node].successors[edge];
        let mut others = self.cfg.blocks[node].successors.iter();
        let is_asked = others.any(|&it| it != next && asks(&self.cfg.block(it).instrs));
        for world in state.iter_mut() {
            if is_asked {
                answered(&self.cfg.blocks[node], world);
            }
            world.keep(|carrier| match carrier {
                Carrier::Temp(temp) => self.crossing.contains(temp),
                Carrier::Local(local) => self.liveness.is_live_into(*local, next),
            });
        }
    }

    fn join(&self, into: &mut Worlds, from: &Worlds) -> bool {
        into.join(from)
    }
}

impl Flow<'_> {
    /// Takes into account that a variable for an object holds one where a test turns out so.
    fn meet_object(&self, test: &Condition, held: &[Carrier], holds: bool, state: &mut Worlds) {
        let is_object = |it: &Carrier| match it {
            Carrier::Local(local) => self.objects[local.0 as usize],
            Carrier::Temp(_) => false,
        };
        let is_there = match test.comparison {
            Comparison::Equal => !holds,
            Comparison::NotEqual => holds,
            _ => false,
        };
        if is_there && test.rhs.is_zero() && held.iter().any(is_object) {
            for world in state.iter_mut() {
                let value = world.of(&test.lhs);
                world.gave_object(&value);
            }
        }
    }

    fn step(&self, instr: &Instr, state: &mut Worlds) {
        match &instr.kind {
            InstrKind::Call { dst, callee, args } => {
                for world in state.iter_mut() {
                    survive(callee, args, world);
                }
                self.call(*dst, callee, state);
                for world in state.iter_mut() {
                    self.tell_outs(*dst, callee, args, world);
                }
            }
            kind => {
                for world in state.iter_mut() {
                    self.compute(kind, world);
                }
            }
        }
    }

    /// A step that calls nothing.
    fn compute(&self, kind: &InstrKind, world: &mut World) {
        match kind {
            InstrKind::Load { dst, place } => {
                let (value, known) = match (place.as_local(), self.forwarded.get(dst)) {
                    (Some(local), _) => {
                        let local = Carrier::Local(local);
                        (world.of_carrier(local), world.known(local))
                    }
                    (None, Some(stored)) => (world.of(stored), world.known_of(stored)),
                    (None, None) => Default::default(),
                };
                world.set(Carrier::Temp(*dst), value, known);
                if let Some(local) = place.as_local() {
                    world.copy_flag(Carrier::Local(local), Carrier::Temp(*dst));
                }
            }
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
                let (value, known) = (world.of(src), world.known_of(src));
                world.set(Carrier::Temp(*dst), value, known);
                if let Operand::Temp(src) = src {
                    world.copy_flag(Carrier::Temp(*src), Carrier::Temp(*dst));
                }
            }
            InstrKind::Op { dst, op, operands } => {
                let outcome = compared(*op, operands);
                let outcome = outcome
                    .map(|(tested, comparison, number)| world.outcome(tested, comparison, number));
                let (value, known) = outcome.unwrap_or_else(|| match op {
                    Op::Binary(BinaryOp::BitOr) => (world.either(operands), None),
                    _ => Default::default(),
                });
                world.set(Carrier::Temp(*dst), value, known);
            }
            InstrKind::Store { place, value } => {
                if let Some(local) = place.as_local() {
                    let said = world.of(value).stored(self.objects[local.0 as usize]);
                    let known = world.known_of(value);
                    let known = known.filter(|_| !self.unsure.contains(&local));
                    world.set(Carrier::Local(local), said, known);
                    if let Operand::Temp(value) = value
                        && !self.unsure.contains(&local)
                    {
                        world.copy_flag(Carrier::Temp(*value), Carrier::Local(local));
                    }
                } else {
                    let value = world.of(value);
                    world.keep_apart(&value);
                }
            }
            InstrKind::Declare { local } => {
                world.set(Carrier::Local(*local), Rc::default(), None);
            }
            _ => {}
        }
    }
}

/// Takes into account that the code only asks for an exception where the test at the end of `block`
/// turns out otherwise.
///
/// ```c
/// if (self->x == -1 && PyErr_Occurred())
/// if (x == -1.0 && PyErr_Occurred())
/// ```
fn answered(block: &Block, world: &mut World) {
    let Terminator::Branch { condition, .. } = &block.terminator else {
        return;
    };
    if is_from_memory(block, &condition.lhs) {
        world.answer_kept();
    } else if !matches!(condition.rhs, Operand::Int(_) | Operand::Null) {
        let value = world.of(&condition.lhs);
        world.fine(&value);
    }
}
