//! What to do about a call that could not fail before.

use std::cell::LazyCell;

use super::bound::is_copied;
use super::branch::{Branch, branch, branches};
use super::counted::counted_behind;
use super::error_value::ErrorValue;
use super::failing::REPORT;
use super::handled::{is_handled, leaves_exception};
use super::joined::joined;
use super::kept_apart::loop_kept_apart;
use super::owed::leaves_owed;
use super::passed_on::is_passed_on;
use super::reported::reports;
use super::told_before::told_before;
use super::{Exits, text};
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Parent, StmtId, StmtKind, UnaryOp};
use crate::capi::{Absent, OldErrors, Replacement};
use crate::rule::{CallSite, Errors};
use crate::strong::emit::saved::loses_exception;
use crate::strong::pending::entered::is_destructor;
use crate::strong::pending::missed::{Left, left_open};
use crate::strong::pending::unasked::meets_exception;
use crate::strong::plan::takes_result;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::shape::Shape;

/// What happens if the strong function gives `NULL`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::strong) enum Failure {
    /// What happens if the borrowed one does.
    AsBefore,
    /// The same, though nothing tests for it: that a list got shorter meanwhile.
    Untested,
    /// The borrowed one could not, but the code tests for it.
    Tested,
    /// The borrowed one could not, or swallowed the error that is to be told: the statements that
    /// leave the function.
    Exit(Vec<String>),
    /// The borrowed one could not: this `if`, which comes next, asks for its failure as well.
    Joined(StmtId),
    /// The borrowed one could not: the statements that leave this loop.
    Break(StmtId, Vec<String>),
    /// The statements that leave a function which cannot tell its caller.
    Stop(Vec<String>),
    /// The borrowed one could not, and the function that gets the result raises an exception for
    /// `NULL`: the code does about that what it does about other errors of that function.
    PassedOn,
}

impl Failure {
    /// The lookup leaves no exception behind, and the one of before is still there.
    pub(in crate::strong) fn keep_exception(&mut self) {
        if let Self::Break(_, lines) = self {
            lines.retain(|line| line != "PyErr_Clear();");
        }
    }

    /// Whether the code behind the lookup only runs if that gave something.
    pub(in crate::strong) fn leaves_for_null(&self) -> bool {
        match self {
            Self::Exit(_) | Self::Joined(_) | Self::Break(..) | Self::Stop(_) => true,
            Self::AsBefore | Self::Untested | Self::Tested | Self::PassedOn => false,
        }
    }

    /// The label to which the statements that leave go.
    pub(in crate::strong) fn label(&self) -> Option<&str> {
        let (Self::Exit(lines) | Self::Break(_, lines) | Self::Stop(lines)) = self else {
            return None;
        };
        jumps_to(lines)
    }

    /// Whether nothing is left of the exception where it goes on, be it one from before.
    pub(in crate::strong) fn drops_exception(&self) -> bool {
        let (Self::Break(_, lines) | Self::Stop(lines)) = self else {
            return false;
        };
        let drops = ["PyErr_Clear();", REPORT];
        lines.iter().any(|line| drops.contains(&&**line))
    }
}

/// What to do about `NULL` from the strong function.
///
/// # Errors
/// The borrowed one never gives `NULL`, and nothing tells what to do about it.
pub(in crate::strong) fn failure(
    scene: &Scene<'_>,
    call: ExprId,
    replacement: &'static Replacement,
    shape: Shape,
) -> Result<Failure, Reason> {
    if replacement.errors == OldErrors::Swallowed {
        // An exception that is pending already is the one to be told.
        let site = CallSite {
            item: scene.item,
            expr: call,
        };
        let is_told =
            scene.cx.errors_of(site) == Errors::Propagate && !meets_exception(scene, call);
        return Ok(match is_told {
            true => propagated(scene, call, shape),
            false => Failure::AsBefore,
        });
    }
    if replacement.absent != Absent::Error {
        return Ok(Failure::AsBefore);
    }
    match replacement.errors {
        OldErrors::Unchecked => unchecked(scene, call, replacement, shape),
        // Where the code has asked for the size, only another thread makes the checked call fail.
        OldErrors::Raised if replacement.reads_list() => Ok(match left_open(scene, call) {
            Left::Settled => Failure::AsBefore,
            Left::Unknown => Failure::Untested,
            Left::Open => {
                let failure = unchecked(scene, call, replacement, shape);
                failure.unwrap_or(Failure::Untested)
            }
        }),
        OldErrors::Raised | OldErrors::Swallowed => Ok(Failure::AsBefore),
    }
}

/// What to do about `NULL` from the strong function, for which nothing tests so far.
///
/// # Errors
/// Nothing tells.
fn unchecked(
    scene: &Scene<'_>,
    call: ExprId,
    replacement: &'static Replacement,
    shape: Shape,
) -> Result<Failure, Reason> {
    let stmt = scene.stmt_of(call).ok_or(Reason::Unreachable)?;
    // Most calls are decided without.
    let exits = LazyCell::new(|| Exits::new(scene, call, shape.local()));
    let says_none = || exits.as_ref().is_some_and(Exits::say_none);
    let fails = |branch: &Branch| {
        let exits = exits.as_ref();
        exits.is_none_or(|exits| exits.ends_with_error(branch))
    };
    if shape.local().is_some_and(|local| {
        is_tested(scene, stmt, local, fails) || is_handed_on(scene, stmt, local) && !says_none()
    }) {
        return Ok(Failure::Tested);
    }
    if replacement.borrowed == "PyList_GET_ITEM"
        && let Some(local) = shape.local()
        && is_filled_where_null(scene, stmt, local)
    {
        return Err(Reason::Unfilled);
    }
    let is_init = matches!(scene.parent_of_stmt(stmt), Some(Parent::Stmt(outer))
        if matches!(scene.tree.stmt(outer).kind, StmtKind::For { init, .. } if init == Some(stmt)));
    if is_init {
        return Err(Reason::LoopCondition);
    }
    if matches!(shape, Shape::Inside(..)) {
        return Err(Reason::NoSwap(
            "put the lookup in its own statement, and test its result for `NULL` (the checked call \
             can fail where the macro could not)",
        ));
    }
    if let Some(stmt) = counted_behind(scene, call) {
        return Err(at_stmt(scene, stmt, replacement, Reason::CountedBehind));
    }
    let no_exit = || Reason::NoExit(replacement.strong);
    let found = exit(scene, exits.as_ref(), call, shape, replacement);
    if let (Some(Failure::Exit(lines)), Some(local)) = (&found, shape.local())
        && leaves_next(scene, stmt, local, lines)
    {
        return Ok(Failure::Tested);
    }
    let passed_on = || is_passed_on(scene, call, shape, replacement).then_some(Failure::PassedOn);
    found.or_else(passed_on).ok_or_else(|| {
        if let Some(stmt) = told_before(scene, call).filter(|_| scene.function.ret.is_void()) {
            return at_stmt(scene, stmt, replacement, Reason::ToldBefore);
        }
        if let Some(filled) = exits.as_ref().and_then(Exits::filled) {
            return Reason::Filled(replacement.strong, filled.to_owned());
        }
        if let Some((caller, error)) = exits.as_ref().and_then(Exits::mistaken) {
            return Reason::Mistaken(replacement.strong, caller, error);
        }
        let unsure = exits.as_ref().and_then(|exits| exits.unlocked()?.unsure());
        unsure.map_or_else(no_exit, |stmt| {
            at_stmt(scene, stmt, replacement, Reason::Undoes)
        })
    })
}

/// What to do about an error that the borrowed function swallowed and that is to be told.
fn propagated(scene: &Scene<'_>, call: ExprId, shape: Shape) -> Failure {
    let local = shape.local();
    let exits = Exits::new(scene, call, local);
    let exits =
        exits.filter(|exits| counted_behind(scene, call).is_none() && exits.unheard().is_none());
    let exit = exits.and_then(|exits| with_error(scene, &exits));
    // A variable of another type is left as it was before the lookup.
    let apart = local.filter(|&local| !takes_result(scene, local));
    let exit = exit.filter(|lines| apart.is_none_or(|local| !speaks_of(scene, lines, local)));
    let exit = exit.filter(|lines| !leaves_owed(scene, call, local, lines));
    exit.map_or(Failure::AsBefore, Failure::Exit)
}

/// The label that the last of `lines` jumps to.
pub(super) fn jumps_to(lines: &[String]) -> Option<&str> {
    lines.last()?.strip_prefix("goto ")?.strip_suffix(';')
}

/// Whether an exit names a variable, or jumps to what may.
pub(super) fn speaks_of(scene: &Scene<'_>, lines: &[String], local: LocalId) -> bool {
    let name = scene.name(local);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = lines.iter().flat_map(|line| line.split(|c| !is_word(c)));
    words.any(|word| word == name || word == "goto")
}

/// Whether the code behind `stmt` asks whether the slot is empty, and goes on then: the strong
/// function must not read such a slot.
///
/// ```c
/// v = PyList_GET_ITEM(cache, i);
/// if (v == NULL) { v = make(i); PyList_SET_ITEM(cache, i, v); }
/// ```
fn is_filled_where_null(scene: &Scene<'_>, stmt: StmtId, local: LocalId) -> bool {
    let Some(test) = scene.next_step(stmt) else {
        return false;
    };
    let StmtKind::If {
        cond,
        then,
        otherwise,
    } = scene.tree.stmt(test).kind
    else {
        return false;
    };
    let tested = null_tested(scene, cond).unwrap_or(cond);
    let is_asked = scene.as_local(tested) == Some(local)
        || matches!(scene.tree.expr(cond).kind, ExprKind::Binary { op: BinaryOp::NotEquals, lhs, rhs }
            if scene.is_null(rhs) && scene.as_local(lhs) == Some(local));
    let leaves = |then| branch(scene, test, then).is_some();
    is_asked && !leaves(then) && !otherwise.is_some_and(leaves)
}

/// Whether the statement behind `stmt` does the same as `lines` if `local` is `NULL`, and may do it
/// for other reasons: `if (v == NULL || check(v) < 0) goto error;`.
fn leaves_next(scene: &Scene<'_>, stmt: StmtId, local: LocalId, lines: &[String]) -> bool {
    let Some(test) = scene.next_step(stmt) else {
        return false;
    };
    let StmtKind::If { cond, then, .. } = scene.tree.stmt(test).kind else {
        return false;
    };
    let mut first = cond;
    while let ExprKind::Binary {
        op: BinaryOp::LogicalOr,
        lhs,
        ..
    } = scene.tree.expr(first).kind
    {
        first = lhs;
    }
    let is_asked = null_tested(scene, first).is_some_and(|it| scene.as_local(it) == Some(local));
    let Some(branch) = branch(scene, test, then).filter(|_| is_asked) else {
        return false;
    };
    let does_no_more = match &scene.tree.stmt(then).kind {
        StmtKind::Block(stmts) => stmts.len() == branch.releases.len() + 1,
        _ => true,
    };
    does_no_more && text(scene, &branch).is_some_and(|same| same == lines)
}

/// What a condition finds to be `NULL`: `!v`, `v == NULL`.
pub(super) fn null_tested(scene: &Scene<'_>, cond: ExprId) -> Option<ExprId> {
    match scene.tree.expr(cond).kind {
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => Some(operand),
        ExprKind::Binary {
            op: BinaryOp::Equals,
            lhs,
            rhs,
        } if scene.is_null(rhs) => Some(lhs),
        _ => None,
    }
}

/// What `reason` makes of the strong function, the text of `stmt` and its line.
fn at_stmt(
    scene: &Scene<'_>,
    stmt: StmtId,
    replacement: &Replacement,
    reason: fn(&'static str, String, u32) -> Reason,
) -> Reason {
    let Some(span) = scene.stmt_span(stmt) else {
        return Reason::NoExit(replacement.strong);
    };
    let line = scene.cx.file(scene.file).position(span.start()).line.0;
    reason(replacement.strong, scene.text(span), line)
}

/// What to do where `call` fails; `None` if nothing fits.
fn exit(
    scene: &Scene<'_>,
    exits: Option<&Exits<'_, '_>>,
    call: ExprId,
    shape: Shape,
    replacement: &Replacement,
) -> Option<Failure> {
    // A sequence can be read from a copy, which is better than half of the work.
    let is_list = replacement.reads_list() || !is_copied(scene, call);
    let joined = || joined(scene, call, shape).filter(|_| is_list);
    let noted = || {
        let (left, lines) = exits?.noted().filter(|_| is_list)?;
        Some(Failure::Break(left, lines))
    };
    let end_of_loop = |is_told: bool| {
        let exits = exits.filter(|_| !reports(scene, call) && !is_told)?;
        let (left, lines) = exits.end_of_loop()?;
        Some(Failure::Break(left, lines))
    };
    let kept_apart = || {
        let left =
            loop_kept_apart(scene, call).filter(|_| is_list && !loses_exception(scene, call))?;
        let lines = ["PyErr_Clear();", "break;"].map(str::to_owned);
        Some(Failure::Break(left, lines.to_vec()))
    };
    // void thing_dealloc(Thing *self) { …; Py_TYPE(self)->tp_free(self); }
    let may_stop = is_list
        && scene.function.ret.is_void()
        && !is_destructor(scene.cx, &scene.function.name)
        && told_before(scene, call).is_none();
    let stop = || {
        exits?
            .unlocked()?
            .stop()
            .filter(|_| may_stop)
            .map(Failure::Stop)
    };
    let with_error = exits.and_then(|exits| with_error(scene, exits));
    // One that leaves something out is the last choice: it is for a review then.
    let (parting, with_error) = match with_error {
        Some(lines) if leaves_owed(scene, call, shape.local(), &lines) => (Some(lines), None),
        with_error => (None, with_error),
    };
    // An exception that an earlier pass has left is for the caller, whom an exit tells.
    let is_told = parting.is_some() && scene.is_pending(call);
    with_error
        .map(Failure::Exit)
        .or_else(|| joined().map(Failure::Joined))
        .or_else(noted)
        .or_else(|| end_of_loop(is_told))
        .or_else(stop)
        .or_else(kept_apart)
        .or_else(|| parting.map(Failure::Exit))
}

/// The statements that leave the function with an error, if some fit.
pub(in crate::strong) fn with_error(
    scene: &Scene<'_>,
    exits: &Exits<'_, '_>,
) -> Option<Vec<String>> {
    if scene.function.ret.is_void() {
        return None;
    }
    let candidates = candidates(exits);
    let mut found = candidates.iter().filter_map(|(_, candidate)| candidate());
    found.find(|lines| !exits.loses(lines))
}

/// A way to leave: its name, and the statements if it fits.
type Candidate<'e> = (&'static str, Box<dyn Fn() -> Option<Vec<String>> + 'e>);

/// The ways to leave with an error, the best first.
pub(super) fn candidates<'e>(exits: &'e Exits<'_, '_>) -> [Candidate<'e>; 8] {
    let unlocked = exits.unlocked();
    [
        ("taken over", Box::new(move || unlocked?.copied())),
        ("as the next one", Box::new(|| exits.neighbour())),
        ("as the one before", Box::new(|| exits.previous())),
        (
            "label of both sides",
            Box::new(move || unlocked?.common_label()),
        ),
        ("jump to a label", Box::new(move || unlocked?.to_label())),
        ("made", Box::new(move || unlocked?.made())),
        ("further down", Box::new(|| exits.later())),
        ("further up", Box::new(move || unlocked?.earlier())),
    ]
}

/// Whether the code already leaves with an error if the result, in `local`, is `NULL`: the test is
/// the statement behind `stmt`, or `stmt` itself. `fails` tells if all returns behind a jump do.
fn is_tested(
    scene: &Scene<'_>,
    stmt: StmtId,
    local: LocalId,
    fails: impl Fn(&Branch) -> bool,
) -> bool {
    let next = scene.next_step(stmt);
    [Some(stmt), next].into_iter().flatten().any(|stmt| {
        let StmtKind::If { cond, then, .. } = scene.tree.stmt(stmt).kind else {
            return false;
        };
        let Some(tested) = null_tested(scene, cond) else {
            return false;
        };
        let tested = match scene.tree.expr(tested).kind {
            ExprKind::Assign { op: None, lhs, .. } => lhs,
            _ => tested,
        };
        if scene.as_local(tested) != Some(local) {
            return false;
        }
        let Some(branch) = branch(scene, stmt, then) else {
            return goes_on(scene, then);
        };
        match scene.tree.stmt(branch.jump).kind {
            StmtKind::Return(Some(value)) => {
                ErrorValue::of(scene, &branches(scene)).is(scene, value)
            }
            // `out: return PyLong_FromLong(found);`
            StmtKind::Goto(_) if !scene.function.ret.is_void() => fails(&branch),
            // `error: PyErr_Print(); return;`
            StmtKind::Goto(_) => is_handled(scene, branch.then) || leaves_exception(scene),
            _ => true,
        }
    })
}

/// Whether nothing is done with the result but to give it to the caller, who gets `NULL` and the
/// exception like the result of any call: `v = PyList_GET_ITEM(list, i); Py_INCREF(v); return v;`.
fn is_handed_on(scene: &Scene<'_>, stmt: StmtId, local: LocalId) -> bool {
    let Some((siblings, at)) = scene.siblings(stmt) else {
        return false;
    };
    let [_, taken, returned, ..] = siblings[at..] else {
        return false;
    };
    let is_it = |expr: ExprId| scene.as_local(expr) == Some(local);
    let is_taken = match scene.tree.stmt(taken).kind {
        StmtKind::Expr(expr) => {
            matches!(scene.call(expr), Some(("Py_INCREF" | "Py_XINCREF", [arg])) if is_it(*arg))
        }
        _ => false,
    };
    let is_returned = match scene.tree.stmt(returned).kind {
        StmtKind::Return(Some(value)) => is_it(value),
        _ => false,
    };
    is_taken && is_returned && scene.function.ret.is_py_object_pointer()
}

/// Whether a block clears the error and goes on: `PyErr_Clear(); continue;`.
fn goes_on(scene: &Scene<'_>, block: StmtId) -> bool {
    let StmtKind::Block(stmts) = &scene.tree.stmt(block).kind else {
        return false;
    };
    let clears = |stmt: &StmtId| match scene.tree.stmt(*stmt).kind {
        StmtKind::Expr(expr) => matches!(scene.call(expr), Some(("PyErr_Clear", _))),
        _ => false,
    };
    stmts.first().is_some_and(clears)
}
