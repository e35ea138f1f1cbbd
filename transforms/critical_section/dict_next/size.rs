//! Whether the size of the dict is asked for outside of the loop.

use crate::ast::{ExprId, ExprKind, StmtKind, Tree};
use crate::capi::{self, LIST_SIZES};
use crate::cfg::reaches;

use super::bound::bounds_nothing;
use super::owner::values;
use super::scope::{Scope, inside};
use super::site::{Kind, Site};

/// A call that asks how many items the dict has, or its struct: `((PyDictObject *)d)->ma_used`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'t> {
    pub(super) call: ExprId,
    pub(super) name: &'t str,
    /// Whether it asks a list of the keys, values or items instead, which was made before: a call
    /// that waits for the lock of the dict.
    pub(super) of_list: bool,
}

/// The field of a dict with the number of its items.
const FIELD: &str = "ma_used";

impl Asked<'_> {
    /// Whether it crashes if the dict is `NULL`.
    pub(super) fn crashes(&self) -> bool {
        self.name == FIELD || capi::reads_first(self.name)
    }
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
        if inside(scope.expr(call).range, iteration) {
            return None;
        }
        // By its tokens: `Py_SAFE_DOWNCAST(PyDict_Size(d), Py_ssize_t, int)` is a macro.
        let own = size_call(tree, kind).filter(|(_, of)| scope.is_same_text(*of, site.dict));
        let of_list = own.is_none();
        let name = match own {
            Some((name, _)) => name,
            None => size_of_list(scope, kind, site)?,
        };
        Some(Asked {
            call,
            name,
            of_list,
        })
    });
    calls
        .filter(|asked| meets(scope, asked.call, site.call))
        .filter(|asked| needs_item || !bounds_nothing(scope, site, asked.call))
        .collect()
}

/// The call that asks for the size of a list that was made of the dict:
/// `keys = PyDict_Keys(d); values = PyList_New(PyList_GET_SIZE(keys));`.
fn size_of_list<'t>(scope: &Scope<'t>, kind: &ExprKind, site: &Site) -> Option<&'t str> {
    let ExprKind::Call { callee, args } = kind else {
        return None;
    };
    let name = scope.tree().callee_name(*callee)?;
    let list = scope.local(scope.uncast(*args.first()?))?;
    let is_made = |value: ExprId| match &scope.expr(scope.uncast(value)).kind {
        ExprKind::Call { callee, args } => {
            let name = scope.tree().callee_name(*callee);
            let of = args.first();
            name.is_some_and(|name| LISTS.contains(&name))
                && of.is_some_and(|&of| scope.is_same_text(scope.uncast(of), site.dict))
        }
        _ => false,
    };
    let asks = LIST_SIZES.contains(&name) || OTHER_SIZES.contains(&name);
    let is_of_dict = asks && values(scope, list).any(is_made);
    is_of_dict.then_some(name)
}

const OTHER_SIZES: [&str; 4] = [
    "PySet_GET_SIZE",
    "PySet_Size",
    "PyTuple_GET_SIZE",
    "PyTuple_Size",
];

const LISTS: [&str; 10] = [
    "PyDict_Items",
    "PyDict_Keys",
    "PyDict_Values",
    "PyMapping_Items",
    "PyMapping_Keys",
    "PyMapping_Values",
    "PySequence_Fast",
    "PySequence_List",
    "PySequence_Tuple",
    "PySet_New",
];

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
    let (callee, args) = match kind {
        ExprKind::Call { callee, args } => (callee, args),
        ExprKind::Member { base, field, .. } if &**field == FIELD => {
            return Some((FIELD, tree.without_casts(*base)));
        }
        _ => return None,
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
        // The cast goes for whatever stands behind it.
        ExprKind::Member { base, .. } => {
            let dict = scope.uncast(*base);
            (dict != *base).then_some(dict)
        }
        _ => None,
    }
}

/// Whether a path of the function comes to both calls.
fn meets(scope: &Scope<'_>, one: ExprId, other: ExprId) -> bool {
    comes_to(scope, one, other) || comes_to(scope, other, one)
}

/// Whether a path leads from one call to another, for all that is known.
pub(super) fn comes_to(scope: &Scope<'_>, one: ExprId, other: ExprId) -> bool {
    let point = |expr| {
        let call = scope.cfg.call(expr);
        call.or_else(|| scope.cfg.before(scope.stmt_of(expr)?))
    };
    match (point(one), point(other)) {
        (Some(one), Some(other)) => reaches(&scope.cfg, one, other, &[]),
        _ => true,
    }
}

fn exprs(tree: &Tree) -> impl Iterator<Item = (ExprId, &ExprKind)> {
    (0u32..)
        .map(ExprId)
        .zip(tree.exprs.iter().map(|expr| &expr.kind))
}
