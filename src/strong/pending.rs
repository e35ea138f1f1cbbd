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

use std::collections::{BTreeMap, BTreeSet};

use super::hold::Carrier;
use super::later::Later;
use super::raising::{
    ASKED, Helpers, NEGATIVE, NONZERO, Signs, ZERO, ZERO_OBJECT, checks_result, error_values,
    raises, signs, takes_exception,
};
use crate::ast::Tree;
use crate::capi;
use crate::cfg::{
    Callee, Cfg, Comparison, Condition, Instr, InstrKind, Liveness, Operand, Point, TempId,
    Terminator,
};
use crate::dataflow::{self, Analysis, Direction, NodeId, Solution};

/// Exceptions that may be pending at the points of a function.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    flow: Flow<'a>,
    solution: Option<Solution<State>>,
}

/// What is known at a point.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct State {
    /// On some path a test shows an exception, or the function raised it.
    pending: bool,
    /// Calls that may have failed, and whose results no test has shown to be fine.
    open: BTreeSet<TempId>,
    values: BTreeMap<Carrier, Value>,
}

/// What a variable or temporary says of the calls that gave it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Value {
    signs: Signs,
    calls: BTreeSet<TempId>,
}

impl State {
    /// What `carrier` says of the errors of open calls; 0 for nothing.
    fn open_signs(&self, value: &Value) -> Signs {
        match value.calls.is_disjoint(&self.open) {
            true => 0,
            false => value.signs,
        }
    }
}

impl<'a> Pending<'a> {
    /// Computes them for a function; `entered` says whether it may be called with an exception.
    pub(super) fn new(cfg: &'a Cfg, tree: &Tree, helpers: Helpers, entered: bool) -> Self {
        let locals = tree.locals.iter();
        let flow = Flow {
            cfg,
            objects: locals
                .map(|local| local.ty.is_py_object_pointer())
                .collect(),
            helpers,
            entered,
        };
        let solution = dataflow::solve(cfg, &flow).ok();
        Self { flow, solution }
    }

    /// Whether an exception may be pending right before the step at `point`: one that a test has
    /// shown, or that the code behind the point still asks for.
    pub(super) fn at(&self, point: Point, liveness: &Liveness<'_>) -> bool {
        let Some(mut state) = self.state(point) else {
            return true;
        };
        let instrs = &self.flow.cfg.block(point.block).instrs;
        if let Some(InstrKind::Call { callee, args, .. }) =
            instrs.get(point.index).map(|it| &it.kind)
        {
            survive(callee, args, &mut state);
        }
        if state.pending || state.open.is_empty() {
            return state.pending;
        }
        let later = Later::new(self.flow.cfg, point);
        let mut values = state.values.iter();
        let is_tested = values.any(|(carrier, value)| match *carrier {
            Carrier::Local(local) => {
                let signs = state.open_signs(value);
                signs != 0 && liveness.is_live(local, point) && later.tests(local, signs)
            }
            Carrier::Temp(_) => false,
        });
        is_tested || later.asks && state.open.iter().any(|&call| self.runs_python(call))
    }

    fn runs_python(&self, call: TempId) -> bool {
        let instrs = self.flow.cfg.iter().flat_map(|(_, block)| &block.instrs);
        let mut calls = instrs.filter_map(|instr| match &instr.kind {
            InstrKind::Call { dst, callee, .. } => Some((*dst, callee)),
            _ => None,
        });
        calls.any(|(dst, callee)| match callee {
            _ if dst != call => false,
            Callee::Named(name) => {
                capi::effects(name).is_some_and(|effects| effects.runs_python)
                    || self.flow.helpers.contains_key(name)
            }
            Callee::Indirect(_) => true,
        })
    }

    /// What is known right before the step at `point`; `None` if nothing is.
    fn state(&self, point: Point) -> Option<State> {
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
    /// Which variables are `PyObject *`.
    objects: Vec<bool>,
    helpers: Helpers,
    /// Whether the function may be called with an exception.
    entered: bool,
}

impl Analysis for Flow<'_> {
    type Domain = State;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> State {
        State::default()
    }

    fn boundary(&self) -> State {
        State {
            pending: self.entered,
            ..State::default()
        }
    }

    fn transfer(&self, node: NodeId, state: &mut State) {
        for instr in &self.cfg.blocks[node].instrs {
            self.step(instr, state);
        }
    }

    fn edge(&self, node: NodeId, edge: usize, state: &mut State) {
        if let Terminator::Branch { condition, .. } = &self.cfg.blocks[node].terminator {
            refine(condition, edge == 0, state);
        }
    }

    fn join(&self, into: &mut State, from: &State) -> bool {
        let before = into.clone();
        into.pending |= from.pending;
        into.open.extend(&from.open);
        for (&carrier, value) in &from.values {
            let known = into.values.entry(carrier).or_default();
            known.signs |= value.signs;
            known.calls.extend(&value.calls);
        }
        *into != before
    }
}

impl Flow<'_> {
    fn step(&self, instr: &Instr, state: &mut State) {
        match &instr.kind {
            InstrKind::Call { dst, callee, args } => {
                survive(callee, args, state);
                self.call(*dst, callee, state);
            }
            InstrKind::Load { dst, place } => {
                let local = place.as_local().map(Carrier::Local);
                let value = local.and_then(|local| state.values.get(&local).cloned());
                set(state, Carrier::Temp(*dst), value.unwrap_or_default());
            }
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
                let value = of(src, state);
                set(state, Carrier::Temp(*dst), value);
            }
            InstrKind::Store { place, value } => {
                if let Some(local) = place.as_local() {
                    let mut value = of(value, state);
                    if value.signs == ZERO_OBJECT {
                        let is_object = self.objects[local.0 as usize];
                        value.signs = if is_object { ZERO } else { 0 };
                    }
                    set(state, Carrier::Local(local), value);
                }
            }
            _ => {}
        }
    }

    fn call(&self, dst: TempId, callee: &Callee, state: &mut State) {
        let Callee::Named(name) = callee else {
            state.open.insert(dst);
            return set(state, Carrier::Temp(dst), Value::default());
        };
        let helper = self.helpers.get(name).copied();
        let signs = helper.unwrap_or_else(|| signs(name));
        if takes_exception(name) || checks_result(name) {
            state.pending = false;
            state.open.clear();
        }
        if !takes_exception(name) {
            state.pending |= raises(name);
            if helper.is_some() || signs & !ASKED != 0 {
                state.open.insert(dst);
            }
        }
        let calls = BTreeSet::from([dst]);
        set(state, Carrier::Temp(dst), Value { signs, calls });
    }
}

fn set(state: &mut State, carrier: Carrier, value: Value) {
    if value.signs == 0 {
        state.values.remove(&carrier);
    } else {
        state.values.insert(carrier, value);
    }
}

fn of(operand: &Operand, state: &State) -> Value {
    let value = match operand {
        Operand::Temp(temp) => state.values.get(&Carrier::Temp(*temp)).cloned(),
        _ => None,
    };
    value.unwrap_or_default()
}

/// Takes into account that a call comes back: one that looks into `NULL` does not.
///
/// ```c
/// dict = make_dict();
/// v = PyDict_GetItemString(dict, "path");       /* so there is a dict */
/// ```
fn survive(callee: &Callee, args: &[Operand], state: &mut State) {
    let Callee::Named(name) = callee else {
        return;
    };
    let looked_into = match &**name {
        "PyDict_SetItem" | "PyDict_SetItemString" => args,
        "PyModule_GetDict" => &args[..1.min(args.len())],
        name if name.starts_with("PyDict_") || name.starts_with("PyList_") => {
            &args[..1.min(args.len())]
        }
        _ => return,
    };
    for arg in looked_into {
        let Value { signs, calls } = of(arg, state);
        if signs & !(ZERO | ZERO_OBJECT) == 0 {
            state.open.retain(|call| !calls.contains(call));
        }
    }
}

/// Adds what the outcome of a test says.
fn refine(condition: &Condition, holds: bool, state: &mut State) {
    let Value { signs, calls } = of(&condition.lhs, state);
    if error_values(signs).all(|error| excludes(condition, holds, error)) {
        state.open.retain(|call| !calls.contains(call));
    }
    let minus_one = condition.rhs == Operand::Int(-1);
    let zero = condition.rhs.is_zero();
    let (equal, less) = match (condition.comparison, holds) {
        (Comparison::Equal, true) | (Comparison::NotEqual, false) => (true, false),
        (Comparison::Less, true) | (Comparison::GreaterOrEqual, false) => (false, true),
        (Comparison::Equal, false) | (Comparison::NotEqual, true) if zero => {
            state.pending |= signs & (NONZERO | ASKED) != 0;
            return;
        }
        _ => return,
    };
    if equal && zero && signs == ASKED {
        state.pending = false;
        state.open.clear();
    }
    state.pending |= equal && zero && signs & ZERO != 0;
    state.pending |= (less && zero || equal && minus_one) && signs & NEGATIVE != 0;
}

/// Whether a value of which this test has that outcome is not `error`.
fn excludes(condition: &Condition, holds: bool, error: i64) -> bool {
    let rhs = match condition.rhs {
        Operand::Null => 0,
        Operand::Int(number) => number,
        _ => return false,
    };
    condition.comparison.holds(error, rhs) != holds
}
