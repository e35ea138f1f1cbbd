//! Functions that tell their caller where something fails: a loop of theirs does not just end.
//!
//! ```c
//! for (i = 0; i < n; i++) {
//!     PyObject *r = PyObject_Str(PyList_GET_ITEM(list, i));
//!     if (r == NULL)
//!         UNLOCK_AND_RETURN_NULL(self);          /* the caller would take a part for the whole */
//!     …
//! ```

use super::branch::{branches, is_failure, stmts};
use super::error_value::{ErrorValue, number};
use super::handled::{asks, has_handler, is_handled, leaves_exception, raises};
use crate::ast::{ExprId, StmtId, StmtKind};
use crate::cfg::{Point, reaches};
use crate::strong::pending::asked::{Asking, asking};
use crate::strong::scene::Scene;

/// Whether the function leaves with an error where something fails in the loop around `call`, or
/// behind it, be it by a macro.
pub(super) fn reports(scene: &Scene<'_>, call: ExprId) -> bool {
    let Some(point) = scene.cfg.call(call) else {
        return true;
    };
    let is_asked = || asking(scene.cx, scene.function) != Asking::Nobody;
    if scene.function.ret.is_void() && !leaves_exception(scene) && !is_asked() {
        return false;
    }
    if notes_exception(scene, point) {
        return true;
    }
    let error = ErrorValue::of(scene, &branches(scene));
    let is_behind = |stmt: StmtId| {
        let at = scene.cfg.before(stmt);
        at.is_some_and(|at| reaches(scene.cfg, point, at, &[]))
    };
    stmts(scene).any(|stmt| match scene.tree.stmt(stmt).kind {
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => {
            let fails = is_failure(scene, stmt, cond);
            let mut sides = [Some((then, fails)), otherwise.map(|it| (it, false))]
                .into_iter()
                .flatten();
            is_behind(stmt) && sides.any(|(side, fails)| tells(scene, side, fails, error))
        }
        _ => false,
    })
}

/// Whether what `PyErr_Occurred` says behind `point` is more than what a condition decides:
/// `ok = !(x == -1 && PyErr_Occurred());`, `return PyErr_Occurred() ? -1 : 0;`.
fn notes_exception(scene: &Scene<'_>, point: Point) -> bool {
    let is_question = |&(_, name): &(ExprId, &str)| name == "PyErr_Occurred";
    scene.tree.calls().filter(is_question).any(|(call, _)| {
        let is_condition = scene.stmt_of(call).is_some_and(|stmt| {
            let (StmtKind::If { cond, .. }
            | StmtKind::While { cond, .. }
            | StmtKind::For {
                cond: Some(cond), ..
            }) = scene.tree.stmt(stmt).kind
            else {
                return false;
            };
            let cond = scene.tree.expr(cond).range;
            cond.contains(scene.tree.expr(call).range)
        });
        let at = scene.cfg.call(call).filter(|_| !is_condition);
        at.is_some_and(|at| reaches(scene.cfg, point, at, &[]))
    })
}

/// Whether a function notes for others that something behind `point` has failed, and goes on:
/// `if (PyErr_Occurred()) state->failed = 1;`.
pub(super) fn notes_failure(scene: &Scene<'_>, point: Point) -> bool {
    let notes = |stmt: StmtId| match scene.tree.stmt(stmt).kind {
        StmtKind::If { cond, then, .. } => {
            asks(scene, cond)
                && is_failure(scene, stmt, cond)
                && !is_handled(scene, then)
                && scene
                    .cfg
                    .before(then)
                    .is_some_and(|at| reaches(scene.cfg, point, at, &[]))
        }
        _ => false,
    };
    !has_handler(scene) && (notes_exception(scene, point) || stmts(scene).any(notes))
}

/// Whether a branch leaves the function, or a loop and then the function, and does so with an error:
/// it is taken where something `fails`, raises, or returns the error.
fn tells(scene: &Scene<'_>, branch: StmtId, fails: bool, error: ErrorValue) -> bool {
    let mut inner = scene.inner_stmts(branch);
    inner.push(branch);
    let is_jump = |&stmt: &StmtId| match scene.tree.stmt(stmt).kind {
        StmtKind::Goto(_) | StmtKind::Return(_) => true,
        StmtKind::Break => !is_handled(scene, branch),
        _ => false,
    };
    let returns_error = |&stmt: &StmtId| match scene.tree.stmt(stmt).kind {
        // Some tell failures apart: `return -2;`.
        StmtKind::Return(Some(value)) => {
            error.is(scene, value) || number(scene, value).is_some_and(|it| it < 0)
        }
        _ => false,
    };
    let range = scene.tree.stmt(branch).range;
    let called = |is_wanted: fn(&str) -> bool| {
        let mut calls = scene.tree.calls();
        calls.any(|(call, name)| range.contains(scene.tree.expr(call).range) && is_wanted(name))
    };
    let leaves = scene.cfg.after(branch).is_none() && inner.iter().any(is_jump);
    let is_error = fails || called(raises) || inner.iter().any(returns_error);
    leaves && is_error && !called(|name| name == "PyErr_Clear")
}
