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

use super::held::{Held, frees};
use super::made_exit::makers;
use super::state::{NULL, OWNED, Owned};
use super::stmts;
use crate::ast::{ExprId, ExprKind, LocalId, StmtId, StmtKind};
use crate::capi::{self, Returns};
use crate::strong::addressed::leaves;
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
fn gives_new(scene: &Scene<'_>, name: &str) -> bool {
    let known = |name: &str| scene.cx.summaries().returns(name);
    if let Some(returns) = known(name) {
        return returns == Returns::New;
    }
    let makes = |within: &Scene<'_>, value: ExprId| {
        let call = within.call(within.tree.without_casts(value));
        call.is_some_and(|(name, _)| known(name) == Some(Returns::New))
    };
    let is_right = |held: &Held<'_, '_>, within: &Scene<'_>, stmt: StmtId| {
        let StmtKind::Return(Some(value)) = within.tree.stmt(stmt).kind else {
            return true;
        };
        let Some(local) = within.as_local(value) else {
            return within.is_null(value) || makes(within, value);
        };
        let point = within.cfg.before(stmt);
        let state = point.and_then(|point| held.at(point));
        // No path leads to the return.
        let Some(state) = state else { return true };
        state.of(local) & !(OWNED | NULL) == 0
            && !within.cfg.address_taken().contains(&local)
            && makers(within, local)
                .into_iter()
                .all(|value| makes(within, value))
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

/// Whether something else than the variable tells if the function owns what `local` holds: only one
/// way releases it, and both go on.
///
/// ```c
/// if (own)                        if (kind != type)
///     Py_DECREF(state);               Py_DECREF(kind);
/// ```
pub(super) fn is_owned_by_flag(scene: &Scene<'_>, local: LocalId) -> bool {
    let is_it = |expr: ExprId| scene.as_local(scene.tree.without_casts(expr)) == Some(local);
    let is_null_test = |cond: ExprId| match scene.tree.expr(cond).kind {
        ExprKind::Unary { operand, .. } => is_it(operand),
        ExprKind::Binary { lhs, rhs, .. } => {
            is_it(lhs) && scene.is_null(rhs) || is_it(rhs) && scene.is_null(lhs)
        }
        _ => is_it(cond),
    };
    let is_release = |expr: ExprId| match scene.call(expr) {
        Some((name, [arg])) => frees(name) && name != "Py_CLEAR" && is_it(*arg),
        _ => false,
    };
    let gives_up = |branch: StmtId| {
        let within = || scene.tree.exprs_in(scene.tree.stmt(branch).range);
        let is_set = |expr: ExprId| scene.tree.changed(expr).is_some_and(is_it);
        within().any(|(expr, _)| is_release(expr))
            && !within().any(|(expr, _)| is_set(expr))
            && !leaves(scene, branch)
    };
    // if (as_list) { PyList_Append(list, v); Py_DECREF(v); } else PyTuple_SET_ITEM(tuple, i, v);
    let gives_away = |branch: StmtId| {
        let mut within = scene.tree.exprs_in(scene.tree.stmt(branch).range);
        within.any(|(expr, _)| match scene.call(expr) {
            Some((name, args)) => {
                let effects = capi::effects(name);
                let mut args = (0..).zip(args);
                args.any(|(at, &arg)| {
                    is_it(arg) && effects.is_some_and(|it| it.steals(at).is_some())
                })
            }
            None => false,
        })
    };
    let only_one = |one: StmtId, other: Option<StmtId>| {
        gives_up(one) && !other.is_some_and(|other| gives_up(other) || gives_away(other))
    };
    stmts(scene).any(|stmt| match scene.tree.stmt(stmt).kind {
        StmtKind::If {
            cond,
            then,
            otherwise,
        } => {
            let is_else = otherwise.is_some_and(|otherwise| only_one(otherwise, Some(then)));
            !is_null_test(cond) && (only_one(then, otherwise) || is_else)
        }
        _ => false,
    })
}
