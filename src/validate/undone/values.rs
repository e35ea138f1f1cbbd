//! What a function returns after a new exit, as far as what its variables hold there decides that.
//!
//! ```c
//! int err = 0;
//! PyObject *result = PyList_New(0);
//! …
//! if (PyDict_GetItemRef(d, k, &v) < 0)
//!     goto out;
//! …
//! out:
//!     if (err) Py_CLEAR(result);                /* it is still 0 */
//!     return result;                            /* an object, with an exception set */
//! ```
//!
//! The variables are followed from the entry to the exit, and from there on with the exception.

use rustc_hash::{FxHashMap, FxHashSet};

use super::View;
use super::ways::Exit;
use crate::ast::{LocalId, UnaryOp};
use crate::capi::{self, Counts, Returns};
use crate::cfg::{
    BlockId, Callee, CaseLabel, Cfg, Comparison, Instr, InstrKind, Op, Operand, Point, TempId,
    Terminator,
};
use crate::dataflow::{self, Analysis, Direction, Graph, NodeId, Solution};

/// What is known of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// `NULL` is 0.
    Number(i64),
    NotZero,
    /// An object as long as memory lasts; a test may show that there is none.
    Made,
}

impl Value {
    fn join(self, other: Self) -> Option<Self> {
        match (self, other) {
            _ if self == other => Some(self),
            (Self::Number(0), _) | (_, Self::Number(0)) => None,
            (Self::Made, _) | (_, Self::Made) => Some(Self::Made),
            _ => Some(Self::NotZero),
        }
    }

    /// Whether it compares so with a number.
    fn holds(self, comparison: Comparison, number: i64) -> Option<bool> {
        match (self, comparison) {
            (Self::Number(own), _) => Some(comparison.holds(own, number)),
            (Self::NotZero, Comparison::Equal) if number == 0 => Some(false),
            (Self::NotZero, Comparison::NotEqual) if number == 0 => Some(true),
            _ => None,
        }
    }
}

/// A way out, with what the function returns there.
#[derive(Debug)]
pub(super) struct End {
    pub(super) at: Point,
    /// `None` if it is not known.
    pub(super) value: Option<Value>,
    /// Whether the exception may be there.
    pub(super) is_raised: bool,
}

impl View<'_> {
    /// Where the function may return after `exit`, and what.
    pub(super) fn ends_of(&self, exit: &Exit) -> Vec<End> {
        let values = self.values.get_or_init(|| Values::new(self.cfg));
        let Some(mut state) = values.state_at(exit.start) else {
            return Vec::new();
        };
        state.is_raised = Some(true);
        values.ends(exit.start.block, state)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Carrier {
    Local(LocalId),
    Temp(TempId),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct State {
    values: FxHashMap<Carrier, Value>,
    /// Whether an exception is pending.
    is_raised: Option<bool>,
}

impl State {
    fn set(&mut self, carrier: Carrier, value: Option<Value>) {
        match value {
            Some(value) => self.values.insert(carrier, value),
            None => self.values.remove(&carrier),
        };
    }

    fn of(&self, operand: &Operand) -> Option<Value> {
        match operand {
            Operand::Temp(temp) => self.values.get(&Carrier::Temp(*temp)).copied(),
            Operand::Int(number) => Some(Value::Number(*number)),
            Operand::Null => Some(Value::Number(0)),
            Operand::Str(_) | Operand::AddressOf(_) => Some(Value::NotZero),
            Operand::Unknown => None,
        }
    }
}

/// The function, entered at a block.
struct Entered<'a> {
    cfg: &'a Cfg,
    block: BlockId,
}

impl Graph for Entered<'_> {
    fn node_count(&self) -> usize {
        self.cfg.node_count()
    }

    fn entry(&self) -> NodeId {
        self.block.index()
    }

    fn successors(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        self.cfg.successors(node)
    }

    fn predecessors(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        self.cfg.predecessors(node)
    }
}

/// The variables of a function.
pub(super) struct Values<'a> {
    cfg: &'a Cfg,
    /// Variables that may change through a pointer.
    addressed: &'a [LocalId],
    /// Temporaries that are read in another block than the one that makes them.
    crossing: FxHashSet<TempId>,
    /// The variables that a temporary was read from, or is stored in: `(r = f()) == NULL`.
    variables: FxHashMap<TempId, Vec<LocalId>>,
    /// What is known where each block begins; `None` without an answer.
    known: Option<Solution<Option<State>>>,
}

impl<'a> Values<'a> {
    fn new(cfg: &'a Cfg) -> Self {
        let mut variables: FxHashMap<TempId, Vec<LocalId>> = FxHashMap::default();
        for (_, instr) in cfg.steps() {
            let (temp, place) = match &instr.kind {
                InstrKind::Load { dst, place } => (*dst, place),
                InstrKind::Store {
                    place,
                    value: Operand::Temp(temp),
                } => (*temp, place),
                _ => continue,
            };
            variables.entry(temp).or_default().extend(place.as_local());
        }
        let mut values = Self {
            cfg,
            addressed: cfg.address_taken(),
            crossing: cfg.crossing_temps(),
            variables,
            known: None,
        };
        values.known = values.solved(Cfg::ENTRY, State::default());
        values
    }

    /// What is known where each block begins if the function is entered at `block`.
    fn solved(&self, block: BlockId, state: State) -> Option<Solution<Option<State>>> {
        let cfg = self.cfg;
        let solved = Solved {
            values: self,
            state,
        };
        dataflow::solve(&Entered { cfg, block }, &solved).ok()
    }

    /// What is known at `point`; `None` if nothing leads there.
    fn state_at(&self, point: Point) -> Option<State> {
        let known = self.known.as_ref()?;
        let mut state = known.input(point.block.index()).clone()?;
        for instr in &self.cfg.block(point.block).instrs[..point.index] {
            self.step(instr, &mut state);
        }
        Some(state)
    }

    /// The ways out from the beginning of `block`, where `state` is known.
    fn ends(&self, block: BlockId, state: State) -> Vec<End> {
        let Some(known) = self.solved(block, state) else {
            return Vec::new();
        };
        let end = |block: BlockId| {
            let mut state = known.input(block.index()).clone()?;
            let content = self.cfg.block(block);
            let Terminator::Return(value, _) = &content.terminator else {
                return None;
            };
            for instr in &content.instrs {
                self.step(instr, &mut state);
            }
            Some(End {
                at: Point {
                    block,
                    index: content.instrs.len(),
                },
                value: value.as_ref().and_then(|value| state.of(value)),
                is_raised: state.is_raised != Some(false),
            })
        };
        let blocks = self.cfg.iter();
        blocks.filter_map(|(block, _)| end(block)).collect()
    }

    fn step(&self, instr: &Instr, state: &mut State) {
        match &instr.kind {
            InstrKind::Load { dst, place } => {
                let value = match place.as_local() {
                    Some(local) => state.values.get(&Carrier::Local(local)).copied(),
                    // `Py_None`, `self->cache`
                    None => Some(Value::Made),
                };
                state.set(Carrier::Temp(*dst), value);
            }
            InstrKind::Store { place, value } => {
                if let Some(local) = place.as_local() {
                    let value = state.of(value).filter(|_| !self.addressed.contains(&local));
                    state.set(Carrier::Local(local), value);
                }
            }
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
                state.set(Carrier::Temp(*dst), state.of(src));
            }
            InstrKind::Op { dst, op, operands } => {
                let value = match (op, &operands[..]) {
                    (Op::Unary(UnaryOp::Minus), [only]) => match state.of(only) {
                        Some(Value::Number(number)) => number.checked_neg().map(Value::Number),
                        other => other.filter(|it| *it == Value::NotZero),
                    },
                    _ => None,
                };
                state.set(Carrier::Temp(*dst), value);
            }
            InstrKind::Call { dst, callee, args } => self.call(*dst, callee, args, state),
            InstrKind::Declare { local } => state.set(Carrier::Local(*local), None),
            InstrKind::ScopeEnd { .. } | InstrKind::Asm => {}
        }
    }

    fn call(&self, dst: TempId, callee: &Callee, args: &[Operand], state: &mut State) {
        let effects = callee.name().and_then(capi::effects);
        let value = match (callee.name(), effects) {
            (Some("PyErr_Occurred"), _) => match state.is_raised {
                Some(true) => Some(Value::NotZero),
                Some(false) => Some(Value::Number(0)),
                None => None,
            },
            (_, Some(effects)) if effects.returns == Returns::Null => Some(Value::Number(0)),
            _ => Some(Value::Made),
        };
        state.set(Carrier::Temp(dst), value);
        if let Some(name) = callee.name() {
            if capi::takes_exception(name) {
                state.is_raised = Some(false);
            } else if capi::raises_exception(name) {
                state.is_raised = Some(true);
            }
        }
        let changed = match effects.and_then(|effects| effects.counts) {
            Some(Counts::Clear) => Some(Value::Number(0)),
            Some(Counts::Replace) => args.get(1).and_then(|value| state.of(value)),
            _ => return,
        };
        for local in args.first().map_or(&[][..], |arg| self.variables(arg)) {
            state.set(Carrier::Local(*local), changed);
        }
    }

    /// The variables that hold what an operand is.
    fn variables(&self, operand: &Operand) -> &[LocalId] {
        match operand {
            Operand::Temp(temp) => self.variables.get(temp).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// What is known if a value compares so with a number; `None` if it cannot.
    fn refine(
        &self,
        test: (&Operand, Comparison, i64),
        holds: bool,
        state: &mut State,
    ) -> Option<()> {
        let (tested, comparison, number) = test;
        let value = state.of(tested);
        if value.and_then(|it| it.holds(comparison, number)) == Some(!holds) {
            return None;
        }
        let known = match (comparison, holds) {
            (Comparison::Equal, true) | (Comparison::NotEqual, false) => Value::Number(number),
            (Comparison::Equal, false) | (Comparison::NotEqual, true) if number == 0 => match value
            {
                Some(Value::Number(own)) => Value::Number(own),
                _ => Value::NotZero,
            },
            _ => return Some(()),
        };
        if let Operand::Temp(temp) = tested {
            state.set(Carrier::Temp(*temp), Some(known));
        }
        for local in self.variables(tested) {
            if !self.addressed.contains(local) {
                state.set(Carrier::Local(*local), Some(known));
            }
        }
        Some(())
    }

    /// What is known on an edge; `None` if nothing goes there.
    fn follow(&self, block: BlockId, edge: usize, state: &mut State) -> Option<()> {
        match &self.cfg.block(block).terminator {
            Terminator::Branch { condition, .. } => {
                let number = match condition.rhs {
                    Operand::Int(number) => number,
                    Operand::Null => 0,
                    _ => return Some(()),
                };
                let test = (&condition.lhs, condition.comparison, number);
                self.refine(test, edge == 0, state)
            }
            Terminator::Switch { value, cases, .. } => match cases.get(edge) {
                Some((CaseLabel::Int(number), _)) => {
                    self.refine((value, Comparison::Equal, *number), true, state)
                }
                Some(_) => Some(()),
                None => cases.iter().try_for_each(|(label, _)| match label {
                    CaseLabel::Int(number) => {
                        self.refine((value, Comparison::Equal, *number), false, state)
                    }
                    _ => Some(()),
                }),
            },
            _ => Some(()),
        }
    }
}

/// The variables of a function that is entered at a block.
struct Solved<'a> {
    values: &'a Values<'a>,
    /// Where it is entered.
    state: State,
}

impl Analysis for Solved<'_> {
    /// `None` where nothing leads.
    type Domain = Option<State>;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Option<State> {
        None
    }

    fn boundary(&self) -> Option<State> {
        Some(self.state.clone())
    }

    fn transfer(&self, node: NodeId, state: &mut Option<State>) {
        let block = BlockId(u32::try_from(node).expect("blocks are counted by u32"));
        if let Some(state) = state {
            for instr in &self.values.cfg.block(block).instrs {
                self.values.step(instr, state);
            }
        }
    }

    fn edge(&self, node: NodeId, edge: usize, state: &mut Option<State>) {
        let block = BlockId(u32::try_from(node).expect("blocks are counted by u32"));
        let Some(known) = state else { return };
        if self.values.follow(block, edge, known).is_none() {
            *state = None;
            return;
        }
        let crossing = &self.values.crossing;
        known.values.retain(|carrier, _| match carrier {
            Carrier::Local(_) => true,
            Carrier::Temp(temp) => crossing.contains(temp),
        });
    }

    fn join(&self, into: &mut Option<State>, from: &Option<State>) -> bool {
        let Some(from) = from else { return false };
        let Some(known) = into else {
            *into = Some(from.clone());
            return true;
        };
        let before = known.clone();
        known.values.retain(|carrier, value| {
            let joined = from
                .values
                .get(carrier)
                .and_then(|other| value.join(*other));
            joined.inspect(|joined| *value = *joined).is_some()
        });
        if known.is_raised != from.is_raised {
            known.is_raised = None;
        }
        *known != before
    }
}
