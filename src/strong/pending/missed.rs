//! What a function does where a lookup gives `NULL` with an exception, though the index was in range
//! when the code asked for the size: another thread has made the list shorter meanwhile.
//!
//! ```c
//! for (i = 0; i < PyList_Size(list); i++) {
//!     item = PyList_GetItemRef(list, i);
//!     if (!PyBytes_Check(item))             /* reads NULL */
//!         …
//!     if (item == Py_None)                  /* goes on with the exception, */
//!         count++;
//! }
//! return PyLong_FromLong(count);            /* and gives a result: a SystemError */
//! ```

use std::rc::Rc;

use super::asked::{Asking, asking};
use super::coping::copes;
use super::handled::settles_error;
use super::raising::Signs;
use super::worlds::{Known, Value, World, Worlds};
use super::{Flow, Pending};
use crate::ast::{ExprId, ExprKind, Name, StmtId, StmtKind, Tree, TypeKind, UnaryOp};
use crate::capi::{self, OnNull, Returns};
use crate::cfg::{
    Base, BlockId, Callee, Instr, InstrKind, Operand, Point, TempId, Terminator, reaches,
};
use crate::dataflow::{self, Analysis, Direction, NodeId};
use crate::rule::PackageCx;
use crate::strong::exits::branch::branches;
use crate::strong::exits::error_value::{ErrorValue, returned_behind};
use crate::strong::follow::hold::Carrier;
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// What a lookup gives that finds nothing.
pub(super) const NULL: i64 = 0;

/// What a function does where a lookup gives `NULL` with an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::strong) enum Left {
    /// It tests for that, or does no harm.
    Settled,
    /// A function that is called by a pointer gets it, which may deal with it; or the code keeps it, or
    /// looks after the exception.
    Unknown,
    /// It reads through that or gives it to a function that may, or comes back without its error
    /// while the exception is pending.
    Open,
}

/// What the function does where `call` gives `NULL` with an exception.
pub(in crate::strong) fn left_open(scene: &Scene<'_>, call: ExprId) -> Left {
    let Some(missed) = Missed::new(scene, call, NULL) else {
        return Left::Open;
    };
    let error = ErrorValue::of(scene, &branches(scene));
    let (mut left, mut is_handled, mut is_read) = (Left::Settled, false, false);
    let solved = missed.visit(|step, state| {
        let reads = matches!(step, Step::Instr(instr) if missed.reads(instr, state));
        is_handled |= matches!(step, Step::Instr(instr) if missed.handles(instr, state));
        is_read |= reads;
        left = left.max(match step {
            Step::Instr(_) if !reads => Left::Settled,
            Step::Instr(instr) => match &instr.kind {
                InstrKind::Call {
                    callee: Callee::Indirect(_),
                    ..
                } => Left::Unknown,
                _ => Left::Open,
            },
            Step::End(end) if tells(scene, error, end, state) != Tells::Yes => Left::Open,
            Step::End(_) => Left::Settled,
        });
    });
    match solved {
        Some(()) if is_handled || !is_read && settles_error(scene, call) => left.min(Left::Unknown),
        Some(()) => left,
        None => Left::Open,
    }
}

/// Whether the function, where `call` finds nothing, reads through its `NULL` or gives it to a function
/// that may.
pub(in crate::strong) fn reads_missing(scene: &Scene<'_>, call: ExprId) -> bool {
    let Some(missed) = Missed::new(scene, call, NULL) else {
        return true;
    };
    let mut reads = false;
    let solved = missed.visit(|step, state| {
        reads |= matches!(step, Step::Instr(instr) if missed.reads(instr, state));
    });
    solved.is_none() || reads
}

/// Whether the function, where `call` gives `NULL`, asks whether that is an error: to it `NULL` may be
/// a slot that is not filled yet, as of a new list.
///
/// ```c
/// if (PyList_GetItem(list, i) != NULL)
///     return 0;
/// if (PyErr_Occurred())
///     return -1;
/// return PyList_SetItem(list, i, make());
/// ```
pub(in crate::strong) fn asks_for_error(scene: &Scene<'_>, call: ExprId) -> bool {
    let Some(missed) = Missed::new(scene, call, NULL) else {
        return false;
    };
    let is_question = |instr: &Instr| match &instr.kind {
        InstrKind::Call { callee, .. } => callee.name() == Some("PyErr_Occurred"),
        _ => false,
    };
    let calls = scene
        .cfg
        .steps()
        .filter(|(_, instr)| matches!(instr.kind, InstrKind::Call { .. }));
    let (questions, others): (Vec<_>, Vec<_>) = calls.partition(|(_, instr)| is_question(instr));
    // What another call has raised may be meant, and behind a label what anything has.
    let labels = scene.tree.stmts.iter().filter_map(|stmt| match stmt.kind {
        StmtKind::Label { body, .. } => scene.cfg.before(body),
        _ => None,
    });
    let others = others.into_iter().map(|(point, _)| point);
    let others: Vec<Point> = others.chain(labels).collect();
    let mut asked = questions.into_iter().map(|(point, _)| point);
    let leads = |point| reaches(scene.cfg, missed.call.next(), point, &others);
    if !asked.any(|point| !others.contains(&point) && leads(point)) {
        return false;
    }
    let mut asks = false;
    let solved = missed.visit(|step, _| {
        asks |= matches!(step, Step::Instr(instr) if is_question(instr));
    });
    solved.is_none() || asks
}

/// Whether the function, where `call` finds nothing, counts a reference to that without a test.
pub(in crate::strong) fn counts_missing(scene: &Scene<'_>, call: ExprId) -> bool {
    let Some(missed) = Missed::new(scene, call, NULL) else {
        return true;
    };
    let mut counts = false;
    let solved = missed.visit(|step, state| {
        let Step::Instr(instr) = step else { return };
        let InstrKind::Call { callee, args, .. } = &instr.kind else {
            return;
        };
        let is_count = callee.name() == Some("Py_INCREF");
        counts |= is_count && args.iter().any(|arg| missed.gives(state, arg));
    });
    solved.is_none() || counts
}

/// Whether the result of a function says that there is an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tells {
    Yes,
    /// That is not known: `return self->result;`
    Unknown,
    No,
}

/// Whether the function says so where it comes back there with the exception; if it does so without,
/// or not at all, there is nothing to say.
pub(super) fn tells(
    scene: &Scene<'_>,
    error: ErrorValue,
    end: &Terminator,
    state: &Worlds,
) -> Tells {
    let (Some(world), Terminator::Return(value, stmt)) = (&state.shown, end) else {
        return Tells::Yes;
    };
    let Some(value) = value else {
        return match asking(scene.cx, scene.function) {
            Asking::Nobody => Tells::No,
            Asking::Some | Asking::All => Tells::Yes,
        };
    };
    let written = match scene.tree.stmt(*stmt).kind {
        StmtKind::Return(value) => value,
        _ => None,
    };
    // `return PyErr_Format(…);`
    let raises = |value: ExprId| {
        let effects = scene.call(scene.tree.without_casts(value));
        let effects = effects.and_then(|(name, _)| capi::effects(name));
        error == ErrorValue::Null && effects.is_some_and(|it| it.returns == Returns::Null)
    };
    let is_error = |value: ExprId| error.is(scene, value) || raises(value);
    if written.is_some_and(is_error) || gives_struct(scene, *stmt) {
        return Tells::Yes;
    }
    let raised = || {
        let returns = scene.error_return(&scene.function.name);
        returns.and_then(|it| it.numbers.as_ref())
    };
    match world.known_of(value) {
        Some(Known::Number(number)) if error.is_number(number) => Tells::Yes,
        Some(Known::Number(number)) => {
            let mut evident = branches(scene).into_iter().filter(|it| it.evident);
            let is_raised = raised().is_some_and(|it| it.numbers.contains(&number))
                || evident.any(|it| returned_behind(scene, it.jump) == Some(number));
            if is_raised { Tells::Yes } else { Tells::No }
        }
        Some(Known::NonZero) if error == ErrorValue::Null => Tells::No,
        _ if written.is_some_and(|value| is_made(scene, value)) => Tells::No,
        _ => Tells::Unknown,
    }
}

/// Whether a value is an object that is there, or that is made there: `Py_None`, `PyLong_FromLong(0)`.
fn is_made(scene: &Scene<'_>, value: ExprId) -> bool {
    let value = scene.tree.without_casts(value);
    match &scene.tree.expr(value).kind {
        ExprKind::Name(Name::Global(_)) => scene.function.ret.is_py_object_pointer(),
        ExprKind::Unary { op, .. } => *op == UnaryOp::AddressOf,
        _ => {
            let effects = scene.call(value).and_then(|(name, _)| capi::effects(name));
            effects.is_some_and(|it| it.returns == Returns::New)
        }
    }
}

/// Whether `stmt` returns a variable that is neither a number nor a pointer: what in it says of an
/// error is up to the callers.
fn gives_struct(scene: &Scene<'_>, stmt: StmtId) -> bool {
    let StmtKind::Return(Some(value)) = scene.tree.stmt(stmt).kind else {
        return false;
    };
    let local = scene
        .as_local(value)
        .map(|local| &scene.tree.local(local).ty);
    local.is_some_and(|ty| !is_number(ty) && !matches!(ty.kind, TypeKind::Pointer(_)))
}

/// What a function does on such a path.
pub(super) enum Step<'c> {
    Instr(&'c Instr),
    End(&'c Terminator),
}

/// The paths on which a call has failed with an exception.
pub(super) struct Missed<'p, 'a> {
    pub(super) cx: &'a PackageCx<'a>,
    pub(super) tree: &'a Tree,
    flow: &'p Flow<'a>,
    call: Point,
    result: TempId,
    /// What is known right after the call, if it failed.
    seed: World,
    /// What another pass gets that does not fail, if that is known.
    found: Option<Known>,
}

impl<'p, 'a> Missed<'p, 'a> {
    /// Those of a call that says by `error` that it has failed.
    pub(super) fn new(scene: &'p Scene<'a>, call: ExprId, error: i64) -> Option<Self> {
        let call = scene.cfg.call(call)?;
        let pending: &'p Pending<'a> = scene.pending();
        let block = scene.cfg.block(call.block);
        let InstrKind::Call { dst, .. } = block.instrs.get(call.index)?.kind else {
            return None;
        };
        let mut before = pending.state(call)?;
        before.raise(true);
        let mut seed = before.shown?;
        let value = Value {
            signs: Signs::of_output(error != NULL),
            calls: [dst].into(),
        };
        let failed = Some(Known::Number(error));
        seed.set(Carrier::Temp(dst), Rc::new(value), failed);
        Some(Self {
            cx: scene.cx,
            tree: scene.tree,
            flow: &pending.flow,
            call,
            result: dst,
            seed,
            found: (error == NULL).then_some(Known::NonZero),
        })
    }

    /// Gives `look` each step of the function, and how each block ends, with the state before it.
    /// `None` if no state was found.
    pub(super) fn visit(&self, mut look: impl FnMut(Step<'_>, &Worlds)) -> Option<()> {
        let solution = dataflow::solve(self.flow.cfg, self).ok()?;
        for (id, block) in self.flow.cfg.iter() {
            let mut state = solution.input(id.index()).clone();
            self.run(id, &mut state, |instr, state| {
                look(Step::Instr(instr), state);
            });
            look(Step::End(&block.terminator), &state);
        }
        Some(())
    }

    /// Runs the steps of a block; `look` gets each with the state before it.
    fn run(&self, block: BlockId, state: &mut Worlds, mut look: impl FnMut(&Instr, &Worlds)) {
        let instrs = self.flow.cfg.block(block).instrs.iter().enumerate();
        for (index, instr) in instrs {
            look(instr, state);
            self.flow.step(instr, state);
            if self.call == (Point { block, index }) {
                // Another pass finds an item: one that finds none is what is followed here.
                let found = |world: &mut World| {
                    world.set(Carrier::Temp(self.result), Rc::default(), self.found);
                };
                state.iter_mut().for_each(found);
                let (clean, shown) = (None, Some(self.seed.clone()));
                state.join(&Worlds { clean, shown });
            } else {
                self.tell(instr, state);
            }
        }
    }

    /// What comes of a call that gets the `NULL` and does not mind.
    fn tell(&self, instr: &Instr, state: &mut Worlds) {
        let InstrKind::Call { dst, callee, args } = &instr.kind else {
            return;
        };
        let Callee::Named(name) = callee else {
            if self.reads(instr, state) {
                state.clear();
            }
            return;
        };
        let clears = |(at, arg): (usize, &Operand)| {
            let mut worlds = [&state.clean, &state.shown].into_iter().flatten();
            worlds.any(|world| self.is_null(world, arg)) && copes(self.cx, name, at) == Some(true)
        };
        if args.iter().enumerate().any(clears) {
            state.clear();
        }
        if capi::effects(name).is_some_and(|it| it.format.is_some()) {
            return self.build(instr, state);
        }
        for (at, arg) in args.iter().enumerate() {
            if let Some(on_null) = capi::on_null(name, at) {
                self.take_null(state, name, on_null, arg, *dst);
            }
        }
    }

    /// What a function of the C API gives where it gets the `NULL` as `arg`.
    fn take_null(
        &self,
        state: &mut Worlds,
        name: &str,
        on_null: OnNull,
        arg: &Operand,
        dst: TempId,
    ) {
        let gives_object = capi::effects(name).is_some_and(|it| it.returns == Returns::New);
        let mut raised = false;
        for world in state.iter_mut().filter(|world| self.is_null(world, arg)) {
            let is_sure = world.known_of(arg) == Some(Known::Number(NULL));
            let (value, given) = match on_null {
                OnNull::Crashes => return,
                OnNull::Raises if gives_object => (world.of(arg), Known::Number(NULL)),
                // A number, which nobody reads through.
                OnNull::Raises => (Rc::default(), Known::Number(-1)),
                OnNull::Takes => (world.of(arg), Known::Number(NULL)),
                OnNull::Gives => (Rc::default(), Known::NonZero),
            };
            world.set(Carrier::Temp(dst), value, is_sure.then_some(given));
            raised |= on_null == OnNull::Raises;
        }
        if raised {
            state.raise(false);
        }
    }

    /// What comes of a call with a format that gets the `NULL`: `Py_BuildValue("(O)", NULL)` is `NULL`
    /// with the exception that there is, and `Py_BuildValue("z", NULL)` is `None`.
    fn build(&self, instr: &Instr, state: &mut Worlds) {
        let InstrKind::Call { dst, callee, args } = &instr.kind else {
            return;
        };
        let name = callee.name().unwrap_or_default();
        let text = |at: usize| match args.get(at) {
            Some(&Operand::Str(text)) => self.tree.as_string(text),
            _ => None,
        };
        for world in state.iter_mut() {
            let missing = (0..).zip(args).filter(|(_, arg)| self.is_null(world, arg));
            let missing: Vec<usize> = missing.map(|(at, _)| at).collect();
            let is_copied = |&at: &usize| capi::takes_null_for_value(name, at, text);
            let (value, known) = match missing.iter().all(is_copied) {
                _ if missing.is_empty() => continue,
                true => (Rc::default(), Known::NonZero),
                false => (
                    world.of_carrier(Carrier::Temp(self.result)),
                    Known::Number(NULL),
                ),
            };
            world.set(Carrier::Temp(*dst), value, Some(known));
        }
    }

    /// Whether a step reads through the `NULL`, or gives it to a function that is not known to take
    /// one.
    pub(super) fn reads(&self, instr: &Instr, state: &Worlds) -> bool {
        let mut worlds = [&state.clean, &state.shown].into_iter().flatten();
        let is_null = |world: &World, value: &Operand| self.is_null(world, value);
        worlds.any(|world| match &instr.kind {
            InstrKind::Load { place, .. } | InstrKind::Store { place, .. } => {
                matches!(&place.base, Base::Deref(pointer) if is_null(world, pointer))
            }
            InstrKind::Call { callee, args, .. } => {
                let name = callee.name();
                let takes = |at| {
                    let on_null = name.and_then(|name| capi::on_null(name, at));
                    on_null.is_some_and(|it| it != OnNull::Crashes)
                };
                let copes = |at| {
                    let builds = name.and_then(capi::effects).and_then(|it| it.format);
                    builds.is_some() || name.is_some_and(|name| copes(self.cx, name, at).is_some())
                };
                let mut args = args.iter().enumerate();
                args.any(|(at, arg)| is_null(world, arg) && !takes(at) && !copes(at))
            }
            _ => false,
        })
    }

    /// Whether a value is what the call gave where it failed.
    pub(super) fn gives(&self, state: &Worlds, value: &Operand) -> bool {
        let shown = state.shown.as_ref();
        shown.is_some_and(|world| {
            world.of(value).calls.contains(&self.result)
                && world.known_of(value) == self.seed.known(Carrier::Temp(self.result))
        })
    }

    /// Whether a value is the `NULL` of the call, as far as is known.
    pub(super) fn is_null(&self, world: &World, value: &Operand) -> bool {
        world.of(value).calls.contains(&self.result)
            && world.known_of(value) != Some(Known::NonZero)
            && !matches!(world.known_of(value), Some(Known::Number(number)) if number != 0)
    }
}

impl Analysis for Missed<'_, '_> {
    type Domain = Worlds;
    const DIRECTION: Direction = Direction::Forward;

    fn bottom(&self) -> Worlds {
        Worlds::default()
    }

    fn boundary(&self) -> Worlds {
        Worlds::default()
    }

    fn transfer(&self, node: NodeId, state: &mut Worlds) {
        self.run(
            BlockId(u32::try_from(node).expect("blocks are u32")),
            state,
            |_, _| {},
        );
    }

    fn edge(&self, node: NodeId, edge: usize, state: &mut Worlds) {
        self.flow.edge(node, edge, state);
    }

    fn join(&self, into: &mut Worlds, from: &Worlds) -> bool {
        into.join(from)
    }
}
