//! What tells whether a function owns what a variable holds, where it names an object in one branch
//! and calls a function in the other.
//!
//! ```c
//! if (name != NULL) {
//!     type = find(name);                    /* lent, or the caller's to release? */
//! } else {
//!     type = (PyObject *)&PyUnicode_Type;
//!     Py_INCREF(type);
//! }
//! ```

use super::held::Held;
use super::made_exit::makers;
use super::state::{GIVEN, NULL, OWNED, Owned};
use super::stmts;
use crate::ast::{ExprId, ExprKind, StmtId, StmtKind};
use crate::capi::{self, Returns};
use crate::strong::scene::{Scene, graph};

/// The function that releases an object for which this one takes a reference right where it names
/// it, and nowhere else, and to which calls give only what comes with one.
///
/// ```c
/// if (dict != NULL) {
///     state = copy_dict(dict);
/// } else {
///     state = Py_None;
///     Py_INCREF(state);
/// }
/// ```
pub(super) fn counted_release(scene: &Scene<'_>, owned: Owned) -> Option<&'static str> {
    let local = owned.local;
    let is_call = |value: &ExprId| {
        let value = scene.tree.without_casts(*value);
        matches!(scene.tree.expr(value).kind, ExprKind::Call { .. })
    };
    let (made, named): (Vec<ExprId>, Vec<ExprId>) =
        makers(scene, local).into_iter().partition(is_call);
    let takes = |expr: ExprId| match scene.call(expr) {
        Some(("Py_INCREF" | "Py_XINCREF", [arg])) => scene.as_local(*arg) == Some(local),
        _ => false,
    };
    let taken = scene.tree.expr_ids().filter(|&expr| takes(expr)).count();
    let is_counted = |&value: &ExprId| {
        let next = scene.stmt_of(value).and_then(|it| scene.next_sibling(it));
        match next.map(|next| &scene.tree.stmt(next).kind) {
            Some(&StmtKind::Expr(expr)) => takes(expr),
            _ => false,
        }
    };
    let gives_own = |&value: &ExprId| {
        let call = scene.call(scene.tree.without_casts(value));
        call.is_some_and(|(name, _)| gives_new(scene, name))
    };
    let is_object = scene.tree.local(local).ty.is_py_object_pointer()
        && !scene.tree.local(local).is_param
        && !scene.cfg.address_taken().contains(&local);
    let is_shown = !made.is_empty()
        && made.iter().all(gives_own)
        && !named.is_empty()
        && taken == named.len()
        && named.iter().all(is_counted);
    (is_object && is_shown).then_some(match owned.null {
        true => "Py_XDECREF",
        false => "Py_DECREF",
    })
}

/// Whether the result of `name` is the caller's to release, as is known or its body shows.
///
/// ```c
/// static Matrix *matrix_new(int rows)
/// {
///     Matrix *made = (Matrix *)Matrix_Type.tp_alloc(&Matrix_Type, 0);
///     if (made == NULL)
///         return NULL;
///     made->rows = rows;
///     return made;
/// }
/// ```
pub(super) fn gives_new(scene: &Scene<'_>, name: &str) -> bool {
    if let Some(returns) = scene.cx.summaries().returns(name) {
        return returns == Returns::New;
    }
    let is_right = |held: &Held<'_, '_>, within: &Scene<'_>, stmt: StmtId| {
        let StmtKind::Return(Some(value)) = within.tree.stmt(stmt).kind else {
            return true;
        };
        let Some(local) = within.as_local(within.tree.without_casts(value)) else {
            return within.is_null(value) || is_made(within, value) || is_raised(within, value);
        };
        let point = within.cfg.before(stmt);
        let state = point.and_then(|point| held.at(point));
        // No path leads to the return.
        let Some(state) = state else { return true };
        // What a slot gives is told by its makers.
        state.of(local) & !(OWNED | NULL | GIVEN) == 0
            && !within.cfg.address_taken().contains(&local)
            && !within.tree.is_static(local)
            && makers(within, local)
                .into_iter()
                .all(|value| is_made(within, value))
    };
    let mut bodies = scene.cx.definitions(name).peekable();
    bodies.peek().is_some()
        && bodies.all(|(item, function)| {
            let cfg = graph(function);
            let within = Scene::new(scene.cx, item, function, &cfg);
            within.is_some_and(|within| {
                let held = Held::new(&within);
                stmts(&within).all(|stmt| is_right(&held, &within, stmt))
            })
        })
}

/// Whether a value is a new reference from a function that is known to give one.
fn is_made(scene: &Scene<'_>, value: ExprId) -> bool {
    let value = scene.tree.without_casts(value);
    match scene.call(value) {
        Some((name, _)) => scene.cx.summaries().returns(name) == Some(Returns::New),
        None => calls_slot(scene, value),
    }
}

/// Whether a value is what a slot gives that makes an object: `type->tp_alloc(type, 0)`.
pub(super) fn calls_slot(scene: &Scene<'_>, value: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = scene.tree.expr(value).kind else {
        return false;
    };
    matches!(&scene.tree.expr(callee).kind,
        ExprKind::Member { field, .. } if capi::slot_gives_new(field))
}

/// `return (Matrix *)PyErr_NoMemory();`
fn is_raised(scene: &Scene<'_>, value: ExprId) -> bool {
    let call = scene.call(scene.tree.without_casts(value));
    call.is_some_and(|(name, _)| scene.cx.summaries().returns(name) == Some(Returns::Null))
}
