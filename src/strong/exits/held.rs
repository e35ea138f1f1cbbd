//! What the variables of a function hold at a point, and whether an exit from there is clean.
//!
//! ```c
//! tuple = PyTuple_New(n);               /* owned or NULL */
//! if (tuple == NULL)
//!     return NULL;                      /* NULL: nothing to release */
//! item = PyList_GET_ITEM(list, i);      /* here an exit has to release `tuple` */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::consumed::on_entry;
use super::error_value::{ErrorValue, is_minus_one};
use super::filled::allocates;
use super::owned_by::calls_slot;
use super::parsed::parsed;
use super::state::{Contents, ERROR, GIVEN, GONE, NULL, OTHER, OWNED, State, UNSET};
use crate::ast::{ExprId, ExprKind, LocalId, StmtId, StmtKind};
use crate::capi::{self, OutKind, Returns};
use crate::cfg::{
    Base, BlockId, Callee, Cfg, Comparison, Condition, Instr, InstrKind, Operand, Place, Point,
    Source, Terminator,
};
use crate::strong::follow::counts::{Effect, effect};
use crate::strong::follow::web::assigned;
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// The contents of variables at all points of a function.
pub(in crate::strong) struct Held<'s, 'a> {
    scene: &'s Scene<'a>,
    inputs: &'s Inputs,
}

/// The states in which blocks begin, as far as paths lead to them.
pub(in crate::strong) type Inputs = BTreeMap<BlockId, State>;

impl<'s, 'a> Held<'s, 'a> {
    pub(in crate::strong) fn new(scene: &'s Scene<'a>) -> Self {
        let inputs = scene.held.get_or_init(|| {
            let locals = (0u32..).zip(&scene.tree.locals);
            let contents = locals.map(|(at, local)| match local.is_param {
                true => on_entry(scene, LocalId(at)),
                false => UNSET,
            });
            solve(scene, Cfg::ENTRY, State::new(contents.collect()))
        });
        Self { scene, inputs }
    }

    /// The state in front of the step at `point`; `None` if no path leads there.
    pub(in crate::strong) fn at(&self, point: Point) -> Option<State> {
        let mut state = self.inputs.get(&point.block)?.clone();
        for instr in &self.scene.cfg.block(point.block).instrs[..point.index] {
            step(self.scene, instr, &mut state);
        }
        Some(state)
    }
}

/// Whether the function, if it goes on at the start of `block` in this state, releases all it
/// owns, and nothing else, and returns an error.
pub(in crate::strong) fn fails_cleanly(
    scene: &Scene<'_>,
    error: ErrorValue,
    block: BlockId,
    state: State,
) -> bool {
    let ends = ends(scene, block, state);
    let mut returns = ends
        .iter()
        .filter_map(|(state, end)| Some((state, (*end)?)));
    ends.iter().all(|(state, _)| !state.broken)
        && ends.iter().any(|(_, end)| end.is_some())
        && returns
            .all(|(state, stmt)| state.owns_nothing() && gives_error(scene, error, stmt, state))
}

/// Whether the function, if it goes on at the start of `block` in this state, returns an error.
pub(super) fn gives_only_errors(
    scene: &Scene<'_>,
    error: ErrorValue,
    block: BlockId,
    state: State,
) -> bool {
    let ends = ends(scene, block, state);
    ends.iter()
        .all(|(state, end)| end.is_none_or(|stmt| gives_error(scene, error, stmt, state)))
}

/// The states at the ends of all blocks that are reached from `start`, and the returns there.
fn ends(scene: &Scene<'_>, start: BlockId, state: State) -> Vec<(State, Option<StmtId>)> {
    let inputs = solve(scene, start, state).into_iter();
    let ends = inputs.map(|(block, mut state)| {
        let content = scene.cfg.block(block);
        let end = match content.terminator {
            Terminator::Return(_, stmt) => Some(stmt),
            _ => None,
        };
        for instr in &content.instrs {
            // The end of the scopes comes with the return itself.
            if end.is_none() || !matches!(instr.kind, InstrKind::ScopeEnd { .. }) {
                step(scene, instr, &mut state);
            }
        }
        (state, end)
    });
    ends.collect()
}

fn gives_error(scene: &Scene<'_>, error: ErrorValue, stmt: StmtId, state: &State) -> bool {
    let StmtKind::Return(Some(value)) = scene.tree.stmt(stmt).kind else {
        return false;
    };
    match scene.as_local(value) {
        Some(local) => state.is_error(local, error),
        None => error.is(scene, value),
    }
}

/// The states at the starts of all blocks that are reached from `start`.
fn solve(scene: &Scene<'_>, start: BlockId, state: State) -> Inputs {
    let mut inputs = BTreeMap::from([(start, state)]);
    let mut dirty = BTreeSet::from([start]);
    while let Some(block) = dirty.pop_first() {
        let mut state = inputs[&block].clone();
        for instr in &scene.cfg.block(block).instrs {
            step(scene, instr, &mut state);
        }
        let terminator = &scene.cfg.block(block).terminator;
        for (edge, target) in terminator.targets().into_iter().enumerate() {
            let mut next = state.clone();
            if let Terminator::Branch { condition, .. } = terminator
                && !refine(condition, edge == 0, &mut next)
            {
                continue;
            }
            next.temps.clear();
            let changed = match inputs.get_mut(&target) {
                Some(known) => known.join(&next),
                None => inputs.insert(target, next).is_none(),
            };
            if changed {
                dirty.insert(target);
            }
        }
    }
    inputs
}

/// Adds what the outcome of a test says; whether it can be at all.
fn refine(condition: &Condition, holds: bool, state: &mut State) -> bool {
    let zero = match condition.comparison {
        Comparison::Equal => holds,
        Comparison::NotEqual => !holds,
        _ => return true,
    };
    let Some(local) = state.local(&condition.lhs) else {
        return true;
    };
    if !condition.rhs.is_zero() {
        return true;
    }
    let contents = state.of(local);
    let left = match zero {
        true if contents & (NULL | OTHER | UNSET) == 0 => 0,
        true => NULL,
        false => contents & !NULL,
    };
    state.refine(local, left);
    left != 0
}

fn step(scene: &Scene<'_>, instr: &Instr, state: &mut State) {
    match &instr.kind {
        InstrKind::Load { dst, place } => {
            if let Some(local) = place.as_local() {
                state.broken |= state.of(local) & (UNSET | GONE) != 0;
                state.temps.insert(*dst, local);
            } else if let Base::Local(array) = place.base {
                // `Py_DECREF(items[i])` in front of the loop that fills the array.
                state.broken |= state.is_surely_unset(array);
            }
        }
        InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
            if let Some(local) = state.local(src) {
                state.temps.insert(*dst, local);
            }
        }
        InstrKind::Store { place, value } => store(scene, place, value, instr.source, state),
        InstrKind::Call { callee, args, .. } => {
            let name = match callee {
                Callee::Named(name) => &**name,
                Callee::Indirect(_) => "",
            };
            for at in 0..args.len() {
                argument(scene, name, args, at, instr.source, state);
            }
        }
        InstrKind::Declare { local } => state.set(*local, UNSET),
        InstrKind::ScopeEnd { locals } => {
            for &local in locals {
                state.set(local, UNSET);
            }
        }
        InstrKind::Op { .. } | InstrKind::Asm => {}
    }
}

fn store(scene: &Scene<'_>, place: &Place, value: &Operand, source: Source, state: &mut State) {
    let Some(local) = place.as_local() else {
        return store_inside(scene, place, value, source, state);
    };
    match (value, state.local(value)) {
        (value, _) if value.is_zero() => state.set(local, NULL),
        // The variable is gone, its value is not: `p = ({ char *q = malloc(n); q; });`.
        (_, Some(from)) if state.of(from) == UNSET => state.set(local, OWNED | GIVEN | NULL),
        (_, Some(from)) => state.copy(local, from),
        _ => {
            let value = assigned(scene, source, local);
            let contents = value.map_or(OTHER, |value| contents(scene, local, value));
            state.set(local, contents);
        }
    }
    if let Operand::Temp(temp) = value {
        state.temps.insert(*temp, local);
    }
}

/// A store to memory, which takes the value over, or into an array or struct of the function.
fn store_inside(
    scene: &Scene<'_>,
    place: &Place,
    value: &Operand,
    source: Source,
    state: &mut State,
) {
    let given = state.local(value);
    let Base::Local(array) = place.base else {
        if let Some(given) = given {
            state.give_up(given, OTHER);
        }
        return;
    };
    let made = match source {
        Source::Expr(expr) => match scene.tree.expr(expr).kind {
            ExprKind::Assign { rhs, .. } => {
                scene.call(rhs).map_or(0, |(name, _)| result(scene, name))
            }
            _ => 0,
        },
        Source::Stmt(_) => 0,
    };
    let contents = made | given.map_or(0, |given| state.of(given));
    let before = state.of(array) & !UNSET;
    state.refine(array, before | contents & OWNED | OTHER);
}

/// What `local` holds after `local = value`.
fn contents(scene: &Scene<'_>, local: LocalId, value: ExprId) -> Contents {
    let number = is_number(&scene.tree.local(local).ty);
    match &scene.tree.expr(value).kind {
        ExprKind::Cast { operand, .. } => contents(scene, local, *operand),
        _ if number && is_minus_one(scene, value) => ERROR,
        _ if number => OTHER,
        ExprKind::Call { .. } => match scene.call(value) {
            Some((name, _)) => result(scene, name),
            None => OWNED | GIVEN | NULL,
        },
        ExprKind::Conditional {
            then: Some(then),
            otherwise,
            ..
        } => contents(scene, local, *then) | contents(scene, local, *otherwise),
        ExprKind::Conditional { .. } => OWNED | GIVEN | NULL,
        _ if scene.is_null(value) => NULL,
        _ => OTHER,
    }
}

/// What `call` gives, as far as the function may have to release it.
pub(super) fn makes(scene: &Scene<'_>, call: ExprId) -> Contents {
    match scene.call(call) {
        Some((name, _)) => result(scene, name),
        None if calls_slot(scene, call) => OWNED | NULL,
        None => OTHER,
    }
}

fn result(scene: &Scene<'_>, name: &str) -> Contents {
    match capi::effects(name) {
        Some(effects) => match effects.returns {
            Returns::New => OWNED | NULL,
            Returns::Null => NULL,
            Returns::Plain if name.contains("lloc") => OWNED | NULL,
            Returns::Plain if matches!(name, "PyMem_New" | "PyMem_Resize") => OWNED | NULL,
            Returns::Borrowed | Returns::Void | Returns::Plain => OTHER,
        },
        None => match scene.cx.summaries().returns(name) {
            Some(Returns::Borrowed) => OTHER,
            Some(Returns::New) => OWNED | NULL,
            _ if makes_memory(name) => OWNED | NULL,
            // What a function of the project or of C gives may have to be released.
            _ => OWNED | GIVEN | NULL,
        },
    }
}

/// Whether a function of C gives memory that is to be freed: `strdup`, `g_new0`.
fn makes_memory(name: &str) -> bool {
    allocates(name) || name.contains("strdup") || name.starts_with("g_new")
}

fn argument(
    scene: &Scene<'_>,
    name: &str,
    args: &[Operand],
    at: usize,
    source: Source,
    state: &mut State,
) {
    let arg = &args[at];
    if let Operand::AddressOf(place) = arg
        && let Some(local) = place.as_local()
    {
        state.broken |= name == "Py_CLEAR" && state.is_lent(local);
        let parsed = parsed(scene, source, at, local, state.of(local));
        let contents = parsed.unwrap_or_else(|| filled(scene, name, at, local, state.of(local)));
        if frees(name) || name == "Py_CLEAR" {
            // `Py_buffer view; … PyBuffer_Release(&view);`
            state.broken |= state.is_surely_unset(local);
            state.give_up(local, GONE);
        }
        return state.set(local, contents);
    }
    let Some(local) = state.local(arg) else {
        return;
    };
    match effect(scene, name, args, at) {
        Effect::Take => state.set(local, OWNED),
        Effect::Release => {
            state.broken |= name == "Py_DECREF" && state.of(local) & NULL != 0;
            state.broken |= state.is_lent(local);
            state.give_up(local, GONE);
        }
        Effect::Clear => {
            state.broken |= state.is_lent(local);
            state.give_up(local, GONE);
            state.set(local, NULL);
        }
        // Py_XSETREF(best, item): what releases its old value owns its new one.
        Effect::Replace => {
            let given = args.get(1).and_then(|given| state.local(given));
            let contents = given.map_or(OWNED | NULL, |given| state.of(given));
            state.broken |= state.is_lent(local);
            state.give_up(local, GONE);
            state.set(local, contents & (GIVEN | NULL) | OWNED);
        }
        // What may be left of a reference cannot be released.
        Effect::MaySteal => state.broken |= state.of(local) & OWNED != 0,
        Effect::Steal | Effect::StealOnSuccess => state.give_up(local, OTHER),
        Effect::Use if frees(name) => {
            // `fclose(NULL)`
            state.broken |= state.of(local) == NULL && !takes_null(name);
            state.give_up(local, GONE);
        }
        Effect::Use | Effect::KeepInside | Effect::Copy => {}
    }
}

/// What `local` holds after a call got its address.
fn filled(scene: &Scene<'_>, name: &str, at: usize, local: LocalId, before: Contents) -> Contents {
    if name == "Py_CLEAR" {
        return NULL;
    }
    if frees(name) {
        return GONE;
    }
    if is_number(&scene.tree.local(local).ty) {
        return OTHER;
    }
    if matches!(name, "memset" | "memcpy" | "memmove") {
        return before & OWNED | OTHER;
    }
    let Some(effects) = capi::effects(name) else {
        // A struct that holds something keeps it, whatever else it gets.
        let is_pointer = scene.tree.local(local).ty.pointee().is_some();
        let keeps = !is_pointer && before & OWNED != 0;
        return if keeps { before } else { OWNED | GIVEN | NULL };
    };
    match effects.out(at) {
        Some(OutKind::New | OutKind::Inout | OutKind::Buffer) => OWNED | NULL,
        Some(OutKind::Memory | OutKind::Converted) => OWNED | GIVEN | NULL,
        Some(OutKind::Borrowed | OutKind::Pointer) => OTHER,
        // `PyArg_ParseTuple(args, "y*", &view)`
        None if is_buffer(scene, local) => OWNED | NULL,
        // `PyArg_ParseTuple(args, FORMAT, &v)`: it may be set or not.
        None => before | OTHER,
    }
}

fn is_buffer(scene: &Scene<'_>, local: LocalId) -> bool {
    scene.tree.local(local).ty.name() == Some("Py_buffer")
}

/// Whether a function that gives something back takes `NULL` for nothing, as `free` does and those
/// that are named after it.
fn takes_null(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["free", "xdecref", "pymem_del"]
        .iter()
        .any(|word| name.contains(word))
}

/// Whether the name is that of a function which gives back what its argument holds.
pub(in crate::strong) fn frees(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = [
        "free",
        "decref",
        "release",
        "dealloc",
        "destroy",
        "close",
        "pymem_del",
    ];
    words.iter().any(|word| name.contains(word))
}
