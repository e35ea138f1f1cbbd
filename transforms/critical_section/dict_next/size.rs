//! Whether the size of the dict is asked for outside of the loop.

use crate::ast::{ExprId, ExprKind, StmtKind, Tree};
use crate::cfg::reaches;

use super::bound::bounds_nothing;
use super::scope::{Scope, inside};
use super::site::{Kind, Site};

/// A call that asks how many items the dict has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'t> {
    pub(super) call: ExprId,
    pub(super) name: &'t str,
}

/// What asks outside of the loop how many items the dict has: what is made of that size may be too
/// small once other threads run.
///
/// ```c
/// keys = PyMem_New(char *, PyDict_Size(d));
/// while (PyDict_Next(d, &pos, &k, &v))
///     keys[i++] = text_of(k);
/// ```
pub(super) fn asked_outside<'s>(scope: &'s Scope<'_>, site: &Site) -> Vec<Asked<'s>> {
    let tree = scope.tree();
    let iteration = site.turn(scope);
    // `if (PyDict_Next(…)) … else assert(0);`
    let has_else = matches!(
        scope.stmt(site.iteration),
        StmtKind::If {
            otherwise: Some(_),
            ..
        }
    );
    let needs_item = has_else || site.kind == Kind::Once;
    let calls = exprs(tree).filter_map(|(call, kind)| {
        let (name, of) = size_call(tree, kind)?;
        let is_outside = !inside(scope.expr(call).range, iteration);
        // By its tokens: `Py_SAFE_DOWNCAST(PyDict_Size(d), Py_ssize_t, int)` is a macro.
        (is_outside && scope.is_same_text(of, site.dict)).then_some(Asked { call, name })
    });
    calls
        .filter(|asked| meets(scope, asked.call, site.call))
        .filter(|asked| needs_item || !bounds_nothing(scope, site, asked.call))
        .collect()
}

/// The call that asks for a size, and what it asks.
pub(super) fn size_call<'t>(tree: &'t Tree, kind: &ExprKind) -> Option<(&'t str, ExprId)> {
    const SIZES: &[&str] = &[
        "PyDict_Size",
        "PyDict_GET_SIZE",
        "PyObject_Size",
        "PyObject_Length",
        "PyMapping_Size",
        "PyMapping_Length",
    ];
    let ExprKind::Call { callee, args } = kind else {
        return None;
    };
    let name = tree.callee_name(*callee)?;
    SIZES
        .contains(&name)
        .then(|| args.first().map(|&of| (name, of)))?
}

/// The dict that a call reads.
pub(super) fn dict_of(scope: &Scope<'_>, reader: ExprId) -> Option<ExprId> {
    match &scope.expr(reader).kind {
        ExprKind::Call { args, .. } => args.first().map(|&dict| scope.uncast(dict)),
        _ => None,
    }
}

/// Whether a path of the function comes to both calls.
fn meets(scope: &Scope<'_>, one: ExprId, other: ExprId) -> bool {
    comes_to(scope, one, other) || comes_to(scope, other, one)
}

/// Whether a path leads from one call to another, for all that is known.
pub(super) fn comes_to(scope: &Scope<'_>, one: ExprId, other: ExprId) -> bool {
    match (scope.cfg.call(one), scope.cfg.call(other)) {
        (Some(one), Some(other)) => reaches(&scope.cfg, one, other, &[]),
        _ => true,
    }
}

fn exprs(tree: &Tree) -> impl Iterator<Item = (ExprId, &ExprKind)> {
    (0u32..)
        .map(ExprId)
        .zip(tree.exprs.iter().map(|expr| &expr.kind))
}
