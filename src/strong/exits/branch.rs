//! The branches of a function that leave it after a failure.

use super::beside::is_quiet;
use super::block::called_for;
use super::error_value::{is_minus_one, number};
use super::handled::{clears, raises};
use super::held::frees;
use super::undone::undone;
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Init, LocalId, Parent, StmtId, StmtKind, Storage, UnaryOp,
};
use crate::capi::Returns;
use crate::source::ByteOffset;
use crate::strong::pending::raising::{is_status, signs};
use crate::strong::scene::Scene;

/// `if (failed) { releases; jump; }`; what it undoes beside references is among the releases.
#[derive(Debug, Clone)]
pub(in crate::strong) struct Branch {
    /// The `if`.
    pub test: StmtId,
    pub then: StmtId,
    pub releases: Vec<StmtId>,
    pub jump: StmtId,
    /// It is taken with an exception set, for all to see.
    pub evident: bool,
    /// It clears the exception.
    pub clears: bool,
}

pub(in crate::strong) fn stmts<'s>(scene: &'s Scene<'_>) -> impl Iterator<Item = StmtId> + 's {
    let count = u32::try_from(scene.tree.stmts.len()).expect("arenas are indexed by u32");
    (0..count).map(StmtId)
}

/// All branches of the function that leave it by `goto`, or with a value.
pub(in crate::strong) fn branches(scene: &Scene<'_>) -> Vec<Branch> {
    let all = stmts(scene).flat_map(|stmt| match scene.tree.stmt(stmt).kind {
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => {
            let then = evident(scene, stmt, then, is_failure(scene, stmt, cond));
            // if (made) Py_DECREF(made); else return NULL;
            let otherwise = otherwise.and_then(|otherwise| {
                evident(scene, stmt, otherwise, is_success(scene, stmt, cond))
            });
            [then, otherwise]
        }
        _ => [None, None],
    });
    all.flatten().collect()
}

/// The branch `then` of `test`, which is taken after a failure if it `fails`.
fn evident(scene: &Scene<'_>, test: StmtId, then: StmtId, fails: bool) -> Option<Branch> {
    let mut branch = branch(scene, test, then)?;
    branch.evident |= fails;
    branch.evident &= !branch.clears;
    Some(branch)
}

/// Whether the condition of `stmt` is that a function gave an object, or a variable holds one that
/// it gave, and it raised an exception otherwise.
pub(super) fn is_success(scene: &Scene<'_>, stmt: StmtId, cond: ExprId) -> bool {
    match scene.tree.expr(cond).kind {
        ExprKind::Binary {
            op: BinaryOp::NotEquals,
            lhs,
            rhs,
        } if scene.is_null(rhs) => failed(scene, stmt, lhs, Found::Zero),
        ExprKind::Binary { .. } | ExprKind::Unary { .. } => false,
        _ => failed(scene, stmt, cond, Found::Zero),
    }
}

/// The branch `then` if it does nothing but raise, release and leave.
pub(in crate::strong) fn branch(scene: &Scene<'_>, test: StmtId, then: StmtId) -> Option<Branch> {
    let leaves = |jump: &StmtKind| matches!(jump, StmtKind::Goto(_) | StmtKind::Return(Some(_)));
    branch_with(scene, test, then, leaves, |_| false)
}

/// Sorts branches by how far from `here` they leave.
pub(super) fn nearest_first(scene: &Scene<'_>, here: ByteOffset, branches: &mut [Branch]) {
    branches.sort_by_key(|branch| {
        let at = scene.stmt_span(branch.jump);
        at.map(|span| span.start().0.abs_diff(here.0))
    });
}

/// The branches that do nothing but raise, release, note the failure in variables, and jump to a
/// label: `{ status = -1; goto done; }`.
pub(super) fn jumps(scene: &Scene<'_>) -> Vec<Branch> {
    let jumps = |jump: &StmtKind| matches!(jump, StmtKind::Goto(_));
    let all = stmts(scene).filter_map(|stmt| match scene.tree.stmt(stmt).kind {
        StmtKind::If { then, .. } => {
            branch_with(scene, stmt, then, jumps, |stmt| is_note(scene, stmt))
        }
        _ => None,
    });
    all.collect()
}

/// The branch `test` if it is taken after a failure and does nothing but raise, release, note the
/// failure in variables, and end the loop around it: `{ Py_CLEAR(out); status = -1; break; }`.
pub(in crate::strong) fn ending(scene: &Scene<'_>, test: StmtId) -> Option<Branch> {
    let StmtKind::If { cond, then, .. } = scene.tree.stmt(test).kind else {
        return None;
    };
    let breaks = |jump: &StmtKind| matches!(jump, StmtKind::Break);
    let is_more = |stmt| sets_number(scene, stmt) || counted(scene, stmt).is_some();
    let branch = branch_with(scene, test, then, breaks, is_more)?;
    let fails = branch.evident || is_failure(scene, test, cond);
    (fails && !branch.clears).then_some(branch)
}

/// Whether a statement gives a variable of the function -1, 0 or `NULL`: `status = -1;`.
pub(in crate::strong) fn is_note(scene: &Scene<'_>, stmt: StmtId) -> bool {
    value_noted(scene, stmt).is_some_and(|it| scene.is_null(it) || is_minus_one(scene, it))
}

/// Whether a statement gives a variable of the function a number or `NULL`: `failed = 1;`.
pub(super) fn sets_number(scene: &Scene<'_>, stmt: StmtId) -> bool {
    value_noted(scene, stmt).is_some_and(|it| scene.is_null(it) || number(scene, it).is_some())
}

/// What a statement gives a variable of the function.
fn value_noted(scene: &Scene<'_>, stmt: StmtId) -> Option<ExprId> {
    let StmtKind::Expr(expr) = scene.tree.stmt(stmt).kind else {
        return None;
    };
    let ExprKind::Assign { op: None, lhs, rhs } = scene.tree.expr(expr).kind else {
        return None;
    };
    let local = scene.as_local(lhs)?;
    (scene.tree.local(local).storage == Storage::None).then_some(rhs)
}

/// The variable that a statement counts on or back: `end--;`.
pub(in crate::strong) fn counted(scene: &Scene<'_>, stmt: StmtId) -> Option<LocalId> {
    let StmtKind::Expr(expr) = scene.tree.stmt(stmt).kind else {
        return None;
    };
    match scene.tree.expr(expr).kind {
        ExprKind::Unary { .. } => scene.as_local(scene.tree.changed(expr)?),
        _ => None,
    }
}

/// The branch `then` if it does nothing but raise, release, what `is_more` lets pass, and jump.
fn branch_with(
    scene: &Scene<'_>,
    test: StmtId,
    then: StmtId,
    leaves: impl Fn(&StmtKind) -> bool,
    is_more: impl Fn(StmtId) -> bool,
) -> Option<Branch> {
    let body = match &scene.tree.stmt(then).kind {
        StmtKind::Block(stmts) => &stmts[..],
        _ => &[then],
    };
    let (&jump, before) = body.split_last()?;
    if !leaves(&scene.tree.stmt(jump).kind) {
        return None;
    }
    let mut branch = Branch {
        test,
        then,
        releases: Vec::new(),
        jump,
        evident: false,
        clears: false,
    };
    for &stmt in before {
        if releases_all(scene, stmt) {
            branch.releases.push(stmt);
            continue;
        }
        let StmtKind::Expr(expr) = scene.tree.stmt(stmt).kind else {
            return None;
        };
        match scene.call(expr).map(|(name, _)| name) {
            // `PyErr_Clear(); PyErr_Format(PyExc_TypeError, …);`
            Some(name) if raises(name) => (branch.evident, branch.clears) = (true, false),
            Some(_) if clears(scene, expr) => branch.clears = true,
            // It tells of the other failure.
            Some("printf" | "fprintf" | "puts" | "perror") => {}
            Some("Py_DECREF" | "Py_XDECREF" | "Py_CLEAR") => branch.releases.push(stmt),
            Some(name) if frees(name) => branch.releases.push(stmt),
            _ if undone(scene, stmt).is_some() => branch.releases.push(stmt),
            _ if is_more(stmt) => branch.releases.push(stmt),
            _ => return None,
        }
    }
    Some(branch)
}

/// Whether `stmt` is a loop that does nothing but release what was collected by then:
/// `while (end != items) { end--; Py_DECREF(*end); }`.
pub(in crate::strong) fn releases_all(scene: &Scene<'_>, stmt: StmtId) -> bool {
    let (StmtKind::For { body, .. } | StmtKind::While { body, .. }) = scene.tree.stmt(stmt).kind
    else {
        return false;
    };
    let stmts = match &scene.tree.stmt(body).kind {
        StmtKind::Block(stmts) => &stmts[..],
        _ => &[body],
    };
    let is_step = |expr: ExprId| {
        let place = scene.tree.changed(expr);
        place.is_some_and(|place| scene.as_local(place).is_some())
    };
    let is_release = |expr: ExprId| {
        let name = scene.call(expr).map(|(name, _)| name);
        name.is_some_and(|name| {
            matches!(name, "Py_DECREF" | "Py_XDECREF" | "Py_CLEAR") || frees(name)
        })
    };
    let is_part = |&stmt: &StmtId| match scene.tree.stmt(stmt).kind {
        StmtKind::Expr(expr) => is_step(expr) || is_release(expr),
        _ => false,
    };
    !stmts.is_empty() && stmts.iter().all(is_part)
}

/// Whether the condition of `stmt` is that a function raised an exception: one of the C API, or of
/// the package.
pub(in crate::strong) fn is_failure(scene: &Scene<'_>, stmt: StmtId, cond: ExprId) -> bool {
    match scene.tree.expr(cond).kind {
        ExprKind::Binary {
            op: BinaryOp::LogicalOr,
            lhs,
            rhs,
        } => is_failure(scene, stmt, lhs) && is_failure(scene, stmt, rhs),
        ExprKind::Binary {
            op: BinaryOp::LogicalAnd,
            lhs,
            rhs,
        } => is_failure(scene, stmt, lhs) || is_failure(scene, stmt, rhs),
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => asks_for_exception(scene, operand) || failed(scene, stmt, operand, Found::Zero),
        // `NULL == x` is `x == NULL`.
        ExprKind::Binary {
            op: op @ (BinaryOp::Equals | BinaryOp::NotEquals),
            lhs: value,
            rhs: other,
        } if is_error_value(scene, value) && !is_error_value(scene, other) => {
            is_answer(scene, stmt, op, other, value)
        }
        ExprKind::Binary { op, lhs, rhs } => is_answer(scene, stmt, op, lhs, rhs),
        _ => {
            let asks = scene
                .call(cond)
                .is_some_and(|(name, _)| name == "PyErr_Occurred");
            asks || asks_for_exception(scene, cond) || failed(scene, stmt, cond, Found::NotZero)
        }
    }
}

fn is_error_value(scene: &Scene<'_>, value: ExprId) -> bool {
    scene.is_null(value) || is_minus_one(scene, value)
}

/// Whether what `lhs` is compared with is what it gives with an exception.
fn is_answer(scene: &Scene<'_>, stmt: StmtId, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> bool {
    match op {
        BinaryOp::Equals if scene.is_null(rhs) => failed(scene, stmt, lhs, Found::Zero),
        BinaryOp::Equals if is_minus_one(scene, rhs) => failed(scene, stmt, lhs, Found::Negative),
        BinaryOp::Less if scene.is_null(rhs) => failed(scene, stmt, lhs, Found::Negative),
        BinaryOp::NotEquals if scene.is_null(rhs) => failed(scene, stmt, lhs, Found::NotZero),
        _ => false,
    }
}

/// Whether a call asks which exception is pending: there is one, whatever the answer.
/// `if (!PyErr_ExceptionMatches(PyExc_KeyError)) return NULL;`
fn asks_for_exception(scene: &Scene<'_>, value: ExprId) -> bool {
    let called = scene.call(value);
    called.is_some_and(|(name, _)| name == "PyErr_ExceptionMatches")
}

/// What a test found a value to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Zero,
    NotZero,
    Negative,
}

/// Whether `value`, found to be that, is the result of a call that raised.
fn failed(scene: &Scene<'_>, stmt: StmtId, value: ExprId, found: Found) -> bool {
    let value = match scene.tree.expr(value).kind {
        ExprKind::Assign { op: None, rhs, .. } => rhs,
        ExprKind::Call { .. } | ExprKind::Stmt(_) => value,
        _ => match value_before(scene, stmt, value) {
            Some(value) => value,
            None => return false,
        },
    };
    let Some(name) = called_for(scene, scene.tree.without_casts(value), found) else {
        return false;
    };
    let returns = scene.cx.summaries().returns(name);
    match returns {
        Some(Returns::New) => found == Found::Zero,
        // `if (!PyArg_ParseTuple(…))`, `if (PyUnicode_AsUTF8(name) == NULL)`
        Some(Returns::Plain) if signs(name).is_sign(0) => found == Found::Zero,
        Some(Returns::Plain) => {
            found == Found::Negative || found == Found::NotZero && is_status(name)
        }
        None => own_failed(scene, name, found),
        _ => false,
    }
}

/// Whether a function of the package gives that where it raised, as its body shows.
fn own_failed(scene: &Scene<'_>, name: &str, found: Found) -> bool {
    let Some(known) = scene.error_return(name) else {
        return false;
    };
    match found {
        Found::Zero => known.raised.iter().eq(&[0]),
        Found::Negative => known.raised.iter().any(|&number| number < 0),
        Found::NotZero => known.numbers.as_ref().is_some_and(|it| it.else_zero),
    }
}

/// What the statement in front of `stmt` assigns to `target`: a variable or a member.
/// Declarations and releases of other variables may stand between.
pub(super) fn value_before(scene: &Scene<'_>, stmt: StmtId, target: ExprId) -> Option<ExprId> {
    let (siblings, at) = scene.siblings(first_of_chain(scene, stmt, target)?)?;
    let is_apart = |stmt: StmtId| match &scene.tree.stmt(stmt).kind {
        StmtKind::Decl(decls) => decls.iter().all(|decl| decl.init.is_none()),
        StmtKind::Expr(expr) => match scene.call(*expr) {
            Some(("Py_DECREF" | "Py_XDECREF", [arg])) => {
                let local = scene.as_local(*arg);
                local.is_some() && local != scene.as_local(target)
            }
            _ => false,
        },
        _ => false,
    };
    let mut before = siblings[..at].iter().rev();
    let before = before.find(|&&before| !is_apart(before))?;
    value_set(scene, *before, target)
}

/// The first `if` of the chain in which `stmt` stands, if those before it leave `target` alone, and
/// an exception that tells of it: `if (equal == 1) { … } else if (equal == -1) { … }`.
fn first_of_chain(scene: &Scene<'_>, stmt: StmtId, target: ExprId) -> Option<StmtId> {
    if !scene.is_else_if(stmt) {
        return Some(stmt);
    }
    let Some(Parent::Stmt(outer)) = scene.parent_of_stmt(stmt) else {
        return None;
    };
    let StmtKind::If { cond, .. } = scene.tree.stmt(outer).kind else {
        return None;
    };
    let local = scene.as_local(target)?;
    let is_set = scene.sets(local, scene.tree.expr(cond).range);
    (!is_set && is_quiet(scene, cond)).then(|| first_of_chain(scene, outer, target))?
}

/// What `stmt` assigns to `target`, if it is an assignment or a declaration.
pub(in crate::strong) fn value_set(
    scene: &Scene<'_>,
    stmt: StmtId,
    target: ExprId,
) -> Option<ExprId> {
    match &scene.tree.stmt(stmt).kind {
        StmtKind::Expr(expr) => match scene.tree.expr(*expr).kind {
            ExprKind::Assign { op: None, lhs, rhs } if is_same(scene, lhs, target) => Some(rhs),
            _ => None,
        },
        StmtKind::Decl(decls) => decls
            .iter()
            .find(|decl| Some(decl.local) == scene.as_local(target))
            .and_then(|decl| match decl.init {
                Some(Init::Expr(value)) => Some(value),
                _ => None,
            }),
        _ => None,
    }
}

/// Whether two expressions are the same variable, or written with the same words.
pub(in crate::strong) fn is_same(scene: &Scene<'_>, one: ExprId, other: ExprId) -> bool {
    if let (Some(one), Some(other)) = (scene.as_local(one), scene.as_local(other)) {
        return one == other;
    }
    match (scene.span(one), scene.span(other)) {
        (Some(one), Some(other)) => scene.text(one) == scene.text(other),
        _ => false,
    }
}
