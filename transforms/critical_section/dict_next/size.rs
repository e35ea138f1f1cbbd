//! Whether the size of the dict is asked for outside of the section.

use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, Tree};
use crate::cfg::Source;

use super::scope::Scope;
use super::site::Site;

/// What asks outside of the section how many items the dict has, if anything does: what is made of
/// that size may be too small once other threads run.
///
/// ```c
/// keys = PyMem_New(char *, PyDict_Size(d));
/// while (PyDict_Next(d, &pos, &k, &v))
///     keys[i++] = text_of(k);
/// ```
pub(super) fn asked_outside<'s>(scope: &'s Scope<'_>, site: &Site) -> Option<&'s str> {
    let tree = &scope.function.tree;
    let dict = scope.text(scope.uncast(site.dict))?;
    let region = scope.range(site.region);
    let compared = compared(tree);
    exprs(tree).find_map(|(id, kind)| {
        let (name, of) = size_call(tree, kind)?;
        let is_outside = !scope.is_inside(Source::Expr(id), region) && !compared.contains(&id);
        let asked = scope.text(scope.uncast(of))?;
        (is_outside && asked == dict).then_some(name)
    })
}

/// The call that asks for a size, and what it asks.
fn size_call<'t>(tree: &'t Tree, kind: &ExprKind) -> Option<(&'t str, ExprId)> {
    const SIZES: &[&str] = &[
        "PyDict_Size",
        "PyDict_GET_SIZE",
        "PyObject_Size",
        "PyObject_Length",
    ];
    let ExprKind::Call { callee, args } = kind else {
        return None;
    };
    let name = tree.callee_name(*callee)?;
    SIZES
        .contains(&name)
        .then(|| args.first().map(|&of| (name, of)))?
}

/// What is only compared with a constant: nothing is made of `PyDict_Size(d) > 0`.
fn compared(tree: &Tree) -> BTreeSet<ExprId> {
    let constant = |side: ExprId| matches!(tree.expr(side).kind, ExprKind::Int(_));
    let sides = exprs(tree).filter_map(|(_, kind)| match kind {
        ExprKind::Binary { op, lhs, rhs } if op.is_comparison() => Some((*lhs, *rhs)),
        _ => None,
    });
    sides
        .filter(|&(_, rhs)| constant(rhs))
        .map(|(lhs, _)| lhs)
        .collect()
}

fn exprs(tree: &Tree) -> impl Iterator<Item = (ExprId, &ExprKind)> {
    (0u32..)
        .map(ExprId)
        .zip(tree.exprs.iter().map(|expr| &expr.kind))
}
