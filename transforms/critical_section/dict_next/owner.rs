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

use crate::ast::{ExprId, ExprKind, Init, LocalId, Name, UnaryOp};
use crate::capi::{self, Returns};
use crate::cfg::{Cfg, Point, reaches};

use super::field::may_be_set;
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

/// Whether the dict of `site` is a variable that borrows what a field or file-scope variable holds,
/// which other code may set: `PyObject *dict = is_first ? first : second;`.
pub(super) fn borrows_what_others_set(scope: &Scope<'_>, site: &Site) -> bool {
    let Some(local) = scope.local(scope.uncast(site.dict)) else {
        return false;
    };
    let mut seen: BTreeSet<LocalId> = BTreeSet::from([local]);
    let mut open: Vec<ExprId> = values(scope, local).collect();
    let mut is_borrowed = false;
    while let Some(value) = open.pop() {
        let value = scope.uncast(value);
        match &scope.expr(value).kind {
            _ if scope.tree().is_null(value) => {}
            ExprKind::Conditional {
                then, otherwise, ..
            } => open.extend(then.iter().chain([otherwise])),
            // PyObject *reg = registry; d = reg;
            ExprKind::Name(Name::Local(other)) if !scope.tree().local(*other).is_param => {
                if seen.insert(*other) {
                    open.extend(values(scope, *other));
                }
            }
            ExprKind::Call { callee, .. } => is_borrowed |= hands_out(scope, *callee),
            // PyObject **slot = _PyObject_GetDictPtr(v); d = *slot;
            ExprKind::Unary {
                op: UnaryOp::Deref,
                operand,
            } if scope.local(scope.uncast(*operand)).is_some() => is_borrowed = true,
            _ => is_borrowed |= is_of_others(scope, value) && may_be_set(scope, value),
        }
    }
    is_borrowed && !is_counted(scope, site, local)
}

/// Whether a place is not the function's, nor an argument of it: `registry`, `self->dict`,
/// `state.dict`, `tables[i]`, `*self->slot`.
fn is_of_others(scope: &Scope<'_>, place: ExprId) -> bool {
    match &scope.expr(scope.uncast(place)).kind {
        ExprKind::Name(Name::Global(_)) | ExprKind::Member { arrow: true, .. } => true,
        ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => is_of_others(scope, *base),
        ExprKind::Unary {
            op: UnaryOp::Deref,
            operand,
        } => is_of_others(scope, *operand),
        _ => false,
    }
}

/// Whether a function of the package is called that may lend what it returns:
/// `static PyObject *pick(Options *self) { return self->defaults; }`.
fn hands_out(scope: &Scope<'_>, callee: ExprId) -> bool {
    let Some(name) = scope.tree().callee_name(callee) else {
        return false;
    };
    let returns = scope.cx.summaries().returns(name);
    returns != Some(Returns::New) && scope.cx.definitions(name).next().is_some()
}

/// Whether the function takes a reference through `local` on every path to the section: one that it
/// takes behind the loop, `Py_INCREF(d); return d;`, comes too late.
fn is_counted(scope: &Scope<'_>, site: &Site, local: LocalId) -> bool {
    const TAKES: [&str; 4] = ["Py_INCREF", "Py_XINCREF", "Py_NewRef", "Py_XNewRef"];
    let takes = |kind: &ExprKind| match kind {
        ExprKind::Call { callee, args } => {
            let name = scope.tree().callee_name(*callee);
            let arg = args.first().map(|&arg| scope.uncast(arg));
            name.is_some_and(|name| TAKES.contains(&name))
                && arg.and_then(|arg| scope.local(arg)) == Some(local)
        }
        _ => false,
    };
    let ids = scope.tree().expr_ids();
    let taken = ids.filter(|&id| takes(&scope.expr(id).kind));
    let taken: Vec<Point> = taken.filter_map(|id| scope.cfg.call(id)).collect();
    let entry = Point {
        block: Cfg::ENTRY,
        index: 0,
    };
    let region = scope.cfg.before(site.region.first);
    region.is_some_and(|region| !reaches(&scope.cfg, entry, region, &taken))
}

/// What is assigned to `local`, and the calls that get its address.
fn values<'s>(scope: &'s Scope<'_>, local: LocalId) -> impl Iterator<Item = ExprId> + 's {
    let tree = scope.tree();
    let ids = (0u32..).map(ExprId).zip(&tree.exprs);
    let givers = ids.filter_map(move |(id, expr)| match &expr.kind {
        ExprKind::Assign { lhs, rhs, .. } if scope.local(*lhs) == Some(local) => Some(*rhs),
        // `&local`
        ExprKind::Call { args, .. } => {
            let is_address = |arg: &ExprId| scope.address(*arg) == Some(local);
            args.iter().any(is_address).then_some(id)
        }
        _ => None,
    });
    let values = tree.declarations().filter_map(move |decl| match decl.init {
        Some(Init::Expr(value)) if decl.local == local => Some(value),
        _ => None,
    });
    givers.chain(values)
}

/// Variables whose object may own what `local` holds.
fn sources(scope: &Scope<'_>, local: LocalId) -> Vec<LocalId> {
    let all = values(scope, local).filter(|&value| !gives_new(scope, value));
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
    let ids = scope.tree().expr_ids();
    let used = ids.filter(|id| inside(scope.expr(*id).range, range) && !filled.contains(id));
    used.filter_map(|id| scope.local(id)).collect()
}
