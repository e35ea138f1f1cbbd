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

use crate::ast::{ExprId, LocalId, StmtKind};
use crate::cfg::is_never_null;
use crate::strong::scene::Scene;

/// Whether the variable that is the `argument` of `call` holds an object there.
pub(super) fn is_there(scene: &Scene<'_>, call: ExprId, argument: ExprId) -> bool {
    let Some(local) = scene.as_local(argument) else {
        return false;
    };
    let tree = scene.tree;
    let mut stores = tree.stores().filter(|(to, _)| *to == local).peekable();
    if tree.local(local).is_param {
        return stores.peek().is_none() && is_given(scene, local);
    }
    let is_never_null = || {
        let point = scene.cfg.call(call);
        point.is_some_and(|point| is_never_null(scene.cfg, scene.function, point, argument))
    };
    let is_address = |arg: &ExprId| tree.as_address(tree.without_casts(*arg)) == Some(local);
    let mut outs = tree.expr_ids().filter(|&call| {
        let args = scene.call(call).map_or(&[][..], |(_, args)| args);
        args.iter().any(is_address)
    });
    is_never_null() || stores.peek().is_none() && outs.all(|call| is_required(scene, call))
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
