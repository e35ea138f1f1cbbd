//! What raises an exception, and what deals with one.

use super::branch::{is_failure, stmts};
use crate::ast::{ExprId, StmtId, StmtKind, Tree};
use crate::capi::{raises_exception, takes_exception, words_of};
use crate::cfg::{Point, reaches};
use crate::strong::scene::Scene;

/// Whether a call of this name clears the exception: the function of Python, or one of the package
/// that calls it and raises nothing, `clear_error()`.
pub(super) fn clears(scene: &Scene<'_>, call: ExprId) -> bool {
    let Some((name, args)) = scene.call(call) else {
        return false;
    };
    let mut bodies = scene
        .cx
        .definitions(name)
        .map(|(_, it)| &it.tree)
        .peekable();
    match bodies.peek() {
        Some(_) => bodies.any(|tree| {
            let is_clear = |(_, name): (ExprId, &str)| name == "PyErr_Clear";
            tree.calls().any(is_clear) && !tree.calls().any(|(_, name)| raises(name))
        }),
        // `g_clear_error(&error)` clears another one.
        None => {
            let words: Vec<String> = words_of(name).collect();
            let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&&**word));
            args.is_empty() && has(&["clear"]) && has(&["err", "error", "exc", "exception"])
                || name == "PyErr_Clear"
        }
    }
}

/// Whether a call of this name leaves an exception behind: one of the C API, or `my_raise(…)`.
pub(super) fn raises(name: &str) -> bool {
    const STARTS: [&str; 4] = ["PyErr_Set", "PyErr_Format", "PyErr_NoMemory", "PyErr_Bad"];
    STARTS.iter().any(|start| name.starts_with(start))
        || name.to_ascii_lowercase().contains("raise")
}

/// Whether the function calls one of the package that deals with exceptions: `log_exception()`.
pub(super) fn has_handler(scene: &Scene<'_>) -> bool {
    let handles = |tree: &Tree| {
        let has = |is_wanted: fn(&str) -> bool| tree.calls().any(|(_, name)| is_wanted(name));
        has(takes_exception) && !has(raises_exception)
    };
    let mut names = scene.tree.calls().map(|(_, name)| name);
    names.any(|name| {
        let mut bodies = scene.cx.definitions(name);
        bodies.any(|(_, function)| handles(&function.tree))
    })
}

/// Where the functions are called whose names are wanted.
fn points(scene: &Scene<'_>, is_wanted: fn(&str) -> bool) -> Vec<Point> {
    let exprs = scene.tree.expr_ids();
    let calls = exprs.filter(|&expr| scene.call(expr).is_some_and(|it| is_wanted(it.0)));
    calls.filter_map(|call| scene.cfg.call(call)).collect()
}

/// Whether all that a branch leads to deals with the exception: `error: PyErr_Print(); return;`.
pub(in crate::strong) fn is_handled(scene: &Scene<'_>, branch: StmtId) -> bool {
    let handled = points(scene, takes_exception);
    let start = scene.cfg.before(branch);
    let mut ends = scene.cfg.returns();
    start.is_some_and(|start| !ends.any(|end| reaches(scene.cfg, start, end, &handled)))
}

/// Whether the function ends on some path with an exception that it raised itself, or that it has
/// asked for.
pub(in crate::strong) fn leaves_exception(scene: &Scene<'_>) -> bool {
    let handled = points(scene, takes_exception);
    let raised = points(scene, |name| name.starts_with("PyErr_") && raises(name));
    let mut ends = scene.cfg.returns();
    ends.any(|end| {
        let mut left = raised.iter().copied().chain(asked(scene));
        left.any(|from| reaches(scene.cfg, from, end, &handled))
    })
}

/// The starts of the branches that leave a function without a result where there is an exception.
///
/// ```c
/// p->x = PyFloat_AsDouble(PyList_GET_ITEM(list, 0));
/// if (PyErr_Occurred())
///     return;
/// ```
fn asked(scene: &Scene<'_>) -> impl Iterator<Item = Point> {
    let branches = stmts(scene).filter_map(move |stmt| match scene.tree.stmt(stmt).kind {
        StmtKind::If { cond, then, .. } if asks(scene, cond) && is_failure(scene, stmt, cond) => {
            Some(then)
        }
        _ => None,
    });
    let leaving =
        branches.filter(|&then| scene.cfg.after(then).is_none() && scene.function.ret.is_void());
    leaving.filter_map(|then| scene.cfg.before(then))
}

/// Whether a condition asks for an exception.
pub(super) fn asks(scene: &Scene<'_>, cond: ExprId) -> bool {
    let mut inner = scene.tree.exprs_in(scene.tree.expr(cond).range);
    inner.any(|(expr, _)| scene.tree.called(expr) == Some("PyErr_Occurred"))
}
