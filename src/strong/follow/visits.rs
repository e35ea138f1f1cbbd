//! Calls of a `tp_traverse`, which pass the parts of an object to a visitor.
//!
//! ```c
//! Py_TYPE(v)->tp_traverse(v, (visitproc)count, &found);    /* `found` holds nothing of `v` … */
//!
//! static int count(PyObject *part, struct found *found)
//! {
//!     found->number++;                                     /* … if the visitor stores no pointer */
//!     return add(found->all, part);
//! }
//! ```

use crate::ast::{ExprId, ExprKind, Function, Name, UnaryOp};
use crate::capi;
use crate::ownership::summary::Param;
use crate::strong::scene::Scene;

/// Whether `call` lets a function of the package visit an object, and that function stores no
/// pointer in what it is given beside the object's parts.
pub(in crate::strong) fn keeps_nothing(scene: &Scene<'_>, call: ExprId) -> bool {
    let tree = scene.tree;
    let ExprKind::Call { callee, args } = &tree.expr(call).kind else {
        return false;
    };
    let (ExprKind::Member { field, .. }, [_, visit, _]) = (&tree.expr(*callee).kind, &args[..])
    else {
        return false;
    };
    let ExprKind::Name(Name::Global(visitor)) = &tree.expr(tree.without_casts(*visit)).kind else {
        return false;
    };
    let mut visitors = scene.cx.definitions(visitor).peekable();
    &**field == "tp_traverse"
        && visitors.peek().is_some()
        && visitors.all(|(_, visitor)| only_reads(visitor) && !gives_away(scene, visitor))
}

/// Whether `visitor` passes a part of the object to what may keep it without a reference.
fn gives_away(scene: &Scene<'_>, visitor: &Function) -> bool {
    let tree = &visitor.tree;
    let is_part = |arg: ExprId| visitor.params.first().copied() == tree.as_local(arg);
    let keeps = |name: &str, at: usize| match scene.cx.summaries().param(name, at) {
        Some(param) => !matches!(param, Param::Used | Param::Unsure),
        None => capi::effects(name).is_none(),
    };
    tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Call { callee, args } => {
            let name = tree.callee_name(*callee).unwrap_or_default();
            let mut args = args.iter().map(|&arg| tree.without_casts(arg)).enumerate();
            args.any(|(at, arg)| is_part(arg) && keeps(name, at))
        }
        _ => false,
    })
}

/// Whether `visitor` only reads the fields of its second argument, and counts in them.
fn only_reads(visitor: &Function) -> bool {
    let &[_, given] = &visitor.params[..] else {
        return false;
    };
    let tree = &visitor.tree;
    let is_given = |id: ExprId| tree.as_local(id) == Some(given);
    let uses: Vec<ExprId> = tree.expr_ids().filter(|&id| is_given(id)).collect();
    let reads = tree.expr_ids().filter(|&id| match tree.expr(id).kind {
        ExprKind::Member { base, .. } => is_given(tree.without_casts(base)),
        _ => false,
    });
    let has_given = |part: ExprId| {
        let within = tree.expr(part).range;
        let mut uses = uses.iter().map(|&id| tree.expr(id).range.start);
        uses.any(|at| within.start <= at && at < within.end)
    };
    let mut exprs = tree.exprs.iter();
    reads.count() == uses.len()
        && exprs.all(|expr| match expr.kind {
            ExprKind::Assign { op: None, lhs, .. } => !has_given(lhs),
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => !has_given(operand),
            _ => true,
        })
}
