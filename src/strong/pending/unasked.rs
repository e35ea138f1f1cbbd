//! Exceptions that the function itself never asks for, where a new call must not meet them.
//!
//! ```c
//! point->x = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(pair, 0));
//! point->y = PyFloat_AsDouble(PySequence_Fast_GET_ITEM(pair, 1));
//! return 0;                                     /* the caller asks */
//! ```

use std::collections::BTreeSet;

use super::later::Later;
use crate::ast::{ExprId, Function, Tree};
use crate::capi::takes_exception;
use crate::cfg::{Cfg, Point, reaches};
use crate::roles::Role;
use crate::strong::scene::{Scene, graph};

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
        && !pending.is_owed_at(point)
        && !later.asks
        && !later.calls(|name| takes_exception(name) || scene.cx.definitions(name).next().is_some())
        && later.returns_object()
}

/// Whether clearing the exception of `call` may drop another one, which the function knows of, or it
/// or one that calls it asks for later, or which is left to Python.
pub(in crate::strong) fn drops_exception(scene: &Scene<'_>, call: ExprId) -> bool {
    let Some(point) = scene.cfg.call(call) else {
        return true;
    };
    let is_known = || scene.pending().is_shown_at(point) || scene.pending().is_owed_at(point);
    let is_left = || {
        is_left(
            scene,
            scene.function,
            scene.cfg,
            point,
            &mut BTreeSet::new(),
        )
    };
    scene.is_pending(call) && (asks(scene.tree) || is_known() || caller_asks(scene) || is_left())
}

/// Whether an exception that is pending at `point` may stay so until Python sees it, or code that is not
/// known: no call on the way takes it, there or in a function that calls this one.
///
/// ```c
/// for (i = 0; i < n; i++) {
///     item = PyList_GetItemRef(list, i);
///     if (item == NULL) {
///         PyErr_Clear();
///         break;
///     }
///     setup.value = PyLong_AsLong(item);       /* the next pass would clear its exception */
/// }
/// Py_RETURN_NONE;                              /* a `SystemError`, and rightly so */
/// ```
fn is_left<'a>(
    scene: &Scene<'a>,
    function: &'a Function,
    cfg: &Cfg,
    point: Point,
    seen: &mut BTreeSet<&'a str>,
) -> bool {
    let calls = function.tree.calls();
    let taking = calls.filter(|(_, name)| takes_exception(name));
    let taking: Vec<Point> = taking.filter_map(|(call, _)| cfg.call(call)).collect();
    let comes_back = cfg.returns().any(|end| reaches(cfg, point, end, &taking));
    if !comes_back || !seen.insert(&function.name) {
        return false;
    }
    let sites = scene.cx.calls_to(&function.name);
    sites.is_empty()
        || sites.iter().any(|site| {
            scene.cx.function(site.item).is_none_or(|caller| {
                let cfg = graph(caller);
                let call = cfg.call(site.expr);
                call.is_none_or(|call| is_left(scene, caller, &cfg, behind(call), seen))
            })
        })
}

/// The point behind a step.
fn behind(step: Point) -> Point {
    let index = step.index + 1;
    Point { index, ..step }
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
