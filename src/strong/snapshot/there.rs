//! Whether the argument of `PySequence_Fast` is an object for sure: for `NULL`, that gives `NULL` and
//! leaves the exception as it is.
//!
//! ```c
//! it = PyObject_GetIter(arg);
//! fast = PySequence_Fast(it, "no sequence");        /* asks for both */
//! Py_XDECREF(it);
//! if (fast == NULL)
//!     return NULL;
//! ```

use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, StmtKind, UnaryOp};
use crate::strong::scene::Scene;

/// Whether the variable that is `argument` holds an object there.
pub(super) fn is_there(scene: &Scene<'_>, argument: ExprId) -> bool {
    let Some(local) = scene.as_local(argument) else {
        return false;
    };
    let tree = scene.tree;
    let mut stores = tree.stores().filter(|(to, _)| *to == local).peekable();
    if tree.local(local).is_param {
        return stores.peek().is_none() && is_given(scene, local);
    }
    let is_address = |arg: &ExprId| tree.as_address(tree.without_casts(*arg)) == Some(local);
    let mut outs = tree.expr_ids().filter(|&call| {
        let args = scene.call(call).map_or(&[][..], |(_, args)| args);
        args.iter().any(is_address)
    });
    let is_set = stores.peek().is_some();
    scene.is_never_null(argument)
        || is_gone_on_for(scene, argument, local)
        || is_set
            && stores.all(|(_, value)| is_tested(scene, value, local))
            && outs.next().is_none()
        || !is_set && outs.all(|call| is_required(scene, call))
}

/// Whether all that call the function in the package give it what they were given themselves.
fn is_given(scene: &Scene<'_>, param: LocalId) -> bool {
    let function = scene.function;
    let at = function.params.iter().position(|&it| it == param);
    let mut sites = scene.cx.calls_to(&function.name).iter();
    sites.all(|site| {
        let tree = scene.cx.tree(site.item);
        let args = tree.and_then(|tree| Some((tree, tree.call(site.expr)?.1)));
        args.is_some_and(|(tree, args)| {
            let arg = at.and_then(|at| args.get(at));
            let local = arg.and_then(|&arg| tree.as_local(tree.without_casts(arg)));
            local.is_some_and(|it| tree.local(it).is_param)
        })
    })
}

/// Whether a loop around goes on for an object only: `while ((x = PyIter_Next(it)) != NULL)`.
fn is_gone_on_for(scene: &Scene<'_>, argument: ExprId, local: LocalId) -> bool {
    let tree = scene.tree;
    let within = tree.expr(argument).range;
    let sets = |expr: ExprId| {
        tree.changed(expr)
            .is_some_and(|it| tree.as_local(it) == Some(local))
    };
    let asks = |cond: ExprId| match tree.expr(cond).kind {
        ExprKind::Binary {
            op: BinaryOp::NotEquals,
            lhs,
            rhs,
        } => sets(lhs) && scene.is_null(rhs),
        _ => sets(cond),
    };
    tree.stmts.iter().any(|stmt| match stmt.kind {
        StmtKind::While { cond, body } => {
            let inside = tree.stmt(body).range;
            let mut stores = tree.stores().filter(|(to, _)| *to == local);
            let is_kept = stores.all(|(_, value)| !inside.contains(tree.expr(value).range));
            asks(cond) && inside.contains(within) && is_kept
        }
        _ => false,
    })
}

/// Whether the function leaves right after it has set the variable to `NULL`.
fn is_tested(scene: &Scene<'_>, value: ExprId, local: LocalId) -> bool {
    let tree = scene.tree;
    let next = scene.stmt_of(value).and_then(|stmt| scene.next_step(stmt));
    let Some(StmtKind::If { cond, then, .. }) = next.map(|next| &tree.stmt(next).kind) else {
        return false;
    };
    asks_for_null(scene, *cond, local) && tree.leaves(*then)
}

/// `!x`, `x == NULL`, `x == NULL || y == NULL`
fn asks_for_null(scene: &Scene<'_>, cond: ExprId, local: LocalId) -> bool {
    match scene.tree.expr(cond).kind {
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => scene.as_local(operand) == Some(local),
        ExprKind::Binary {
            op: BinaryOp::Equals,
            lhs,
            rhs,
        } => scene.as_local(lhs) == Some(local) && scene.is_null(rhs),
        ExprKind::Binary {
            op: BinaryOp::LogicalOr,
            lhs,
            rhs,
        } => asks_for_null(scene, lhs, local) || asks_for_null(scene, rhs, local),
        _ => false,
    }
}

/// Whether a call fills in all arguments of its format, or fails, and its failure is asked for.
fn is_required(scene: &Scene<'_>, call: ExprId) -> bool {
    let tree = scene.tree;
    let Some((name, args)) = scene.call(call) else {
        return false;
    };
    let mut texts = args
        .iter()
        .filter_map(|&arg| tree.as_string(tree.without_casts(arg)));
    let is_whole = texts.next().is_some_and(|format| !format.contains(&b'|'));
    let is_asked = scene
        .stmt_of(call)
        .is_some_and(|stmt| match tree.stmt(stmt).kind {
            StmtKind::If { then, .. } => tree.leaves(then),
            _ => false,
        });
    name.starts_with("PyArg_Parse") && is_whole && is_asked
}
