//! Where an exception may be pending, as far as the function itself shows.
//!
//! ```c
//! v = PyObject_GetAttr(o, name);
//! if (v == NULL) {                          /* here one is */
//!     v = PyDict_GetItem(dict, name);       /* this call kept it */
//! ```

use std::collections::BTreeMap;

use super::hold::Carrier;
use super::scene::Scene;
use crate::capi::{self, Absent, OldErrors, Returns};
use crate::cfg::{
    Callee, Cfg, Comparison, Condition, Instr, InstrKind, Operand, Point, Terminator,
};
use crate::dataflow::{self, Analysis, Direction, NodeId, Solution};

/// What a value says of a pending exception: the union of these over all paths.
type Signs = u8;

/// 0 says that one was raised.
const ZERO: Signs = 1;
/// A negative number says so.
const NEGATIVE: Signs = 2;
/// Anything but 0 says so.
const NONZERO: Signs = 4;
/// Anything but 0 says so, and 0 that there is none: `PyErr_Occurred`.
const ASKED: Signs = 8;
/// 0 says that one was raised, if the value is an object: a function of the package.
const ZERO_OBJECT: Signs = 16;

/// Exceptions that may be pending at the points of a function.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    cfg: &'a Cfg,
    objects: Vec<bool>,
    solution: Option<Solution<State>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct State {
    pending: bool,
    signs: BTreeMap<Carrier, Signs>,
}

impl<'a> Pending<'a> {
    /// Computes them for the function of `scene`, entered without an exception.
    pub(super) fn new(scene: &Scene<'a>) -> Self {
        let locals = scene.tree.locals.iter();
        let flow = Flow {
            cfg: scene.cfg,
            objects: locals
                .map(|local| local.ty.is_py_object_pointer())
                .collect(),
        };
        let solution = dataflow::solve(scene.cfg, &flow).ok();
        Self {
            cfg: scene.cfg,
            objects: flow.objects,
            solution,
        }
    }

    /// Whether an exception may be pending right before the step at `point`.
    pub(super) fn at(&self, point: Point) -> bool {
        let Some(solution) = &self.solution else {
            return true;
        };
        let mut state = solution.input(point.block.index()).clone();
        for instr in &self.cfg.block(point.block).instrs[..point.index] {
            step(&self.objects, instr, &mut state);
        }
        state.pending
    }
}

struct Flow<'a> {
    cfg: &'a Cfg,
    /// Which variables are `PyObject *`.
    objects: Vec<bool>,
}

impl Analysis for Flow<'_> {
    type Domain = State;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> State {
        State::default()
    }

    fn boundary(&self) -> State {
        State::default()
    }

    fn transfer(&self, node: NodeId, state: &mut State) {
        for instr in &self.cfg.blocks[node].instrs {
            step(&self.objects, instr, state);
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
        for (&carrier, signs) in &from.signs {
            *into.signs.entry(carrier).or_default() |= signs;
        }
        *into != before
    }
}

fn step(objects: &[bool], instr: &Instr, state: &mut State) {
    match &instr.kind {
        InstrKind::Call {
            dst,
            callee: Callee::Named(name),
            ..
        } => {
            state.pending = (state.pending || raises(name)) && !takes_exception(name);
            set(state, Carrier::Temp(*dst), signs(name));
        }
        InstrKind::Load { dst, place } => {
            let local = place.as_local().map(Carrier::Local);
            let signs = local.and_then(|local| state.signs.get(&local).copied());
            set(state, Carrier::Temp(*dst), signs.unwrap_or_default());
        }
        InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
            let signs = of(src, state);
            set(state, Carrier::Temp(*dst), signs);
        }
        InstrKind::Store { place, value } => {
            if let Some(local) = place.as_local() {
                let signs = match of(value, state) {
                    ZERO_OBJECT if objects[local.0 as usize] => ZERO,
                    ZERO_OBJECT => 0,
                    signs => signs,
                };
                set(state, Carrier::Local(local), signs);
            }
        }
        _ => {}
    }
}

fn set(state: &mut State, carrier: Carrier, signs: Signs) {
    if signs == 0 {
        state.signs.remove(&carrier);
    } else {
        state.signs.insert(carrier, signs);
    }
}

fn of(operand: &Operand, state: &State) -> Signs {
    match operand {
        Operand::Temp(temp) => state.signs.get(&Carrier::Temp(*temp)).copied(),
        _ => None,
    }
    .unwrap_or_default()
}

/// Adds what the outcome of a test says.
fn refine(condition: &Condition, holds: bool, state: &mut State) {
    let signs = of(&condition.lhs, state);
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
    }
    state.pending |= equal && zero && signs & ZERO != 0;
    state.pending |= (less && zero || equal && minus_one) && signs & NEGATIVE != 0;
}

/// Whether the call of `name` leaves an exception set.
fn raises(name: &str) -> bool {
    [
        "PyErr_Set",
        "PyErr_Format",
        "PyErr_NoMemory",
        "PyErr_Bad",
        "PyErr_Restore",
    ]
    .iter()
    .any(|start| name.starts_with(start))
        && !takes_exception(name)
}

/// Whether no exception is pending after the call of `name`.
fn takes_exception(name: &str) -> bool {
    [
        "PyErr_Clear",
        "PyErr_Fetch",
        "PyErr_GetRaised",
        "PyErr_Print",
        "PyErr_WriteUnraisable",
    ]
    .iter()
    .any(|start| name.starts_with(start))
        || matches!(
            name,
            "PyErr_FormatUnraisable"
                | "PyErr_SetInterrupt"
                | "PyErr_SetExcInfo"
                | "PyErr_SetHandledException"
        )
}

/// What the result of `name` says.
fn signs(name: &str) -> Signs {
    // Their `NULL` is an answer.
    const ANSWERS: [&str; 3] = ["PyIter_Next", "PyFrame_GetBack", "PyThreadState_GetFrame"];
    if matches!(name, "PyErr_Occurred" | "PyErr_ExceptionMatches") {
        return if name == "PyErr_Occurred" {
            ASKED
        } else {
            NONZERO
        };
    }
    let Some(effects) = capi::effects(name) else {
        return ZERO_OBJECT;
    };
    match effects.returns {
        Returns::New if !ANSWERS.contains(&name) => ZERO,
        Returns::Borrowed { .. } => {
            let raising = capi::replacement(name)
                .is_some_and(|row| row.absent == Absent::Error && row.errors == OldErrors::Raised);
            if raising { ZERO } else { 0 }
        }
        Returns::Plain if name.starts_with("PyArg_") || name.contains("_AsUTF8") => ZERO,
        Returns::Plain if is_status(name) => NEGATIVE | NONZERO,
        Returns::Plain => NEGATIVE,
        Returns::New | Returns::Null | Returns::Void => 0,
    }
}

/// Whether the function `name` gives 0, or -1 with an exception.
fn is_status(name: &str) -> bool {
    ["_Set", "_Append", "_Insert", "_Del", "_Ready"]
        .iter()
        .any(|part| name.contains(part))
}
