//! What keeps a dict alive that the function only borrows.
//!
//! ```c
//! PyArg_ParseTuple(result, "O!", &PyDict_Type, &options);
//! while (PyDict_Next(options, &pos, &key, &value)) {
//!     if (set_option(key, value) < 0) {
//!         Py_DECREF(result);              /* may free `options`, which the section still locks */
//!         return -1;
//!     }
//! }
//! ```

use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, Init, LocalId, StmtKind, UnaryOp};
use crate::capi::{self, Returns};

use super::scope::{Scope, inside};
use super::site::Site;

/// Whether a reference to `object` keeps the dict of `site` alive: it is the dict, or what the dict
/// was taken out of.
pub(super) fn keeps_dict(scope: &Scope<'_>, site: &Site, object: ExprId) -> bool {
    if scope.is_same_text(object, site.dict) {
        return true;
    }
    let Some(object) = scope.local(scope.uncast(object)) else {
        return false;
    };
    let mut seen: BTreeSet<LocalId> = BTreeSet::new();
    let mut open: Vec<LocalId> = scope.local(site.dict).into_iter().collect();
    while let Some(local) = open.pop() {
        if seen.insert(local) {
            open.extend(sources(scope, local));
        }
    }
    seen.contains(&object)
}

/// Variables whose object may own what `local` holds.
fn sources(scope: &Scope<'_>, local: LocalId) -> Vec<LocalId> {
    let tree = scope.tree();
    let ids = (0u32..).map(ExprId).zip(&tree.exprs);
    let givers = ids.filter_map(|(id, expr)| match &expr.kind {
        ExprKind::Assign { lhs, rhs, .. } if scope.local(*lhs) == Some(local) => Some(*rhs),
        // `&local`
        ExprKind::Call { args, .. } => {
            let is_address = |arg: &ExprId| match scope.expr(scope.uncast(*arg)).kind {
                ExprKind::Unary {
                    op: UnaryOp::AddressOf,
                    operand,
                } => scope.local(operand) == Some(local),
                _ => false,
            };
            args.iter().any(is_address).then_some(id)
        }
        _ => None,
    });
    let values = tree.stmts.iter().flat_map(|stmt| match &stmt.kind {
        StmtKind::Decl(decls) => &decls[..],
        _ => &[],
    });
    let values = values.filter_map(|decl| match decl.init {
        Some(Init::Expr(value)) if decl.local == local => Some(value),
        _ => None,
    });
    let all = givers
        .chain(values)
        .filter(|&value| !gives_new(scope, value));
    all.flat_map(|value| named_in(scope, value)).collect()
}

/// Whether `value` is a reference of its own.
fn gives_new(scope: &Scope<'_>, value: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = scope.expr(scope.uncast(value)).kind else {
        return false;
    };
    let effects = scope.tree().callee_name(callee).and_then(capi::effects);
    effects.is_some_and(|effects| effects.returns == Returns::New)
}

/// The variables whose values `expr` uses: not those that it only fills.
fn named_in(scope: &Scope<'_>, expr: ExprId) -> Vec<LocalId> {
    let exprs = &scope.tree().exprs;
    let filled = exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => Some(operand),
        _ => None,
    });
    let filled: BTreeSet<ExprId> = filled.collect();
    let range = scope.expr(expr).range;
    let ids = (0u32..).map(ExprId).take(exprs.len());
    let used = ids.filter(|id| inside(scope.expr(*id).range, range) && !filled.contains(id));
    used.filter_map(|id| scope.local(id)).collect()
}
