//! Exceptions that the function itself never asks for, where a new call must not meet them.
//!
//! ```c
//! point->x = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(pair, 0));
//! point->y = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(pair, 1));
//! return 0;                                     /* the caller asks */
//! ```

use super::later::Later;
use super::raising::takes_exception;
use crate::ast::{ExprId, Tree};
use crate::roles::Role;
use crate::strong::scene::Scene;

/// Whether an exception may be pending where `call` is made that anybody may see.
pub(in crate::strong) fn meets_exception(scene: &Scene<'_>, call: ExprId) -> bool {
    scene.is_pending(call) && !is_never_asked(scene, call)
}

/// Whether Python itself stops at an exception that is pending where `call` is made: nothing behind
/// that asks for it or clears it, and Python gets an object with the exception.
fn is_never_asked(scene: &Scene<'_>, call: ExprId) -> bool {
    let pending = scene.pending();
    let Some(point) = scene.cfg.call(call).filter(|_| is_method(scene)) else {
        return false;
    };
    let later = Later::new(pending, point);
    !pending.is_shown_at(point)
        && pending.lost_at(point).is_none()
        && !later.asks
        && !later.calls(|name| takes_exception(name) || scene.cx.definitions(name).next().is_some())
        && later.returns_object()
}

/// Whether clearing the exception of `call` may drop another one, which the function knows of, or it
/// or one that calls it asks for later. What nobody ever asks for is lost as it is.
pub(in crate::strong) fn drops_exception(scene: &Scene<'_>, call: ExprId) -> bool {
    let Some(point) = scene.cfg.call(call) else {
        return true;
    };
    let is_known = || scene.pending().is_shown_at(point);
    scene.is_pending(call) && (asks(scene.tree) || is_known() || caller_asks(scene))
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
