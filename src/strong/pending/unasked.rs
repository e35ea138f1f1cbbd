//! Exceptions that the function itself never asks for, where a new call must not meet them.
//!
//! ```c
//! point->x = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(pair, 0));
//! point->y = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(pair, 1));
//! return 0;                                     /* the caller asks */
//! ```

use super::Pending;
use super::asked::outs;
use super::entered::exceptions;
use super::later::Later;
use super::raising::{Signs, helpers};
use crate::ast::{ExprId, Tree};
use crate::roles::Role;
use crate::strong::scene::{Scene, graph};

/// Whether an exception may be pending where `call` is made, of which the function or one that
/// calls it may ask.
pub(in crate::strong) fn meets_exception(scene: &Scene<'_>, call: ExprId) -> bool {
    let Some(point) = scene.cfg.call(call) else {
        return true;
    };
    let never_asked = || is_method(scene) && Later::new(scene.pending(), point).returns_object();
    scene.is_pending(call) || scene.pending().is_unasked(point) && !never_asked()
}

/// Whether clearing the exception of `call` may drop another one, which the function knows of, or it
/// or one that calls it asks for later. What nobody ever asks for is lost as it is.
pub(in crate::strong) fn drops_exception(scene: &Scene<'_>, call: ExprId) -> bool {
    let Some(point) = scene.cfg.call(call) else {
        return true;
    };
    let pending = scene.pending();
    let is_known = || {
        let state = pending.state(point);
        state.is_none_or(|worlds| worlds.shown.is_some())
    };
    let is_pending = scene.is_pending(call);
    is_pending && (asks(scene.tree) || is_known())
        || (is_pending || pending.is_unasked(point)) && caller_asks(scene)
}

/// Whether an exception may be pending where `call` is made, of which the function tells, or one that
/// calls it asks.
pub(in crate::strong) fn is_told_later(scene: &Scene<'_>, call: ExprId) -> bool {
    let is_unasked = |point| scene.pending().is_unasked(point) && caller_asks(scene);
    let is_kept = |point| scene.pending().is_kept_at(point) && caller_tests_memory(scene);
    let is_told = |point| is_unasked(point) || is_kept(point);
    scene.is_pending(call) || scene.cfg.call(call).is_none_or(is_told)
}

/// Whether a function that calls this one tests behind the call what is in a field, an element, or a
/// variable that it lets the function set.
fn caller_tests_memory(scene: &Scene<'_>) -> bool {
    let cx = scene.cx;
    let mut calls = cx.calls_to(&scene.function.name).iter();
    calls.any(|site| {
        let Some(caller) = cx.function(site.item) else {
            return false;
        };
        let cfg = graph(caller);
        let helpers = helpers(cx, &caller.tree, &cx.exceptions(exceptions).returns);
        let pending = Pending::new(&cfg, &caller.tree, helpers, false);
        let point = cfg.call(site.expr);
        point.is_none_or(|point| {
            let later = Later::new(&pending, point);
            let told = Signs::of_numbers(&[-1].into());
            let mut outs = outs(&caller.tree, site.expr);
            later.tests_memory() || outs.any(|out| later.tests(out, &told))
        })
    })
}

/// Whether a function that calls this one asks for an exception.
fn caller_asks(scene: &Scene<'_>) -> bool {
    let mut calls = scene.cx.calls_to(&scene.function.name).iter();
    calls.any(|site| {
        let caller = scene.cx.function(site.item);
        caller.is_some_and(|it| asks(&it.tree))
    })
}

fn asks(tree: &Tree) -> bool {
    tree.calls().any(|(_, name)| name == "PyErr_Occurred")
}

/// Whether nobody but Python calls the function, which stops a debug build where it gives an object
/// with an exception set.
fn is_method(scene: &Scene<'_>) -> bool {
    let Some(roles) = scene.cx.roles() else {
        return false;
    };
    let mut roles = roles.of(scene.cx.item(scene.item), scene.function);
    let is_method = roles.any(Role::is_method);
    is_method && scene.cx.calls_to(&scene.function.name).is_empty()
}
