//! Loops that store references into an object, which is told only behind them how many.
//!
//! ```c
//! for (i = 0; i < PyList_GET_SIZE(state); i++) {
//!     PyObject *child = PyList_GET_ITEM(state, i);
//!     self->children[i] = child;
//!     Py_INCREF(child);
//! }
//! self->count = i;              /* an exit out of the loop leaks what is stored by then */
//! ```

use crate::ast::{ExprId, ExprKind, LocalId, Name, Parent, StmtId, TokenRange, TypeKind, UnaryOp};
use crate::capi::{self, Returns};
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// The statement behind a loop around `call` that tells an object how many references the loop has
/// stored in it.
pub(in crate::strong) fn counted_behind(scene: &Scene<'_>, call: ExprId) -> Option<StmtId> {
    let mut at = scene.stmt_of(call)?;
    while let Some(Parent::Stmt(outer)) = scene.parent_of_stmt(at) {
        let is_loop = scene.tree.stmt(outer).kind.is_loop();
        let counter = is_loop.then(|| counter(scene, scene.tree.stmt(outer).range));
        if let Some(found) = counter.flatten() {
            return Some(found);
        }
        at = outer;
    }
    None
}

/// What counts behind the loop `within` the references that it stores.
fn counter(scene: &Scene<'_>, within: TokenRange) -> Option<StmtId> {
    let inside = |expr: ExprId| within.contains(scene.tree.expr(expr).range);
    let ids = || scene.tree.expr_ids();
    let owners: Vec<LocalId> = ids()
        .filter(|&id| inside(id))
        .filter_map(|id| owner_of_store(scene, id))
        .collect();
    let field = |id: ExprId| {
        let place = scene.tree.changed(id)?;
        owners.contains(&owner(scene, place)?).then_some(place)
    };
    let counts_on = |place: ExprId| {
        let mut changes = ids()
            .filter(|&id| inside(id))
            .filter_map(|id| scene.tree.changed(id));
        changes.any(|other| super::branch::is_same(scene, other, place))
    };
    let behind = ids().filter(|&id| scene.tree.expr(id).range.start >= within.end);
    let mut counters = behind
        .filter(|&id| is_count(scene, id) && field(id).is_some_and(|place| !counts_on(place)));
    scene.stmt_of(counters.next()?)
}

/// Whether `change` sets a place to a number that is not known beforehand, or counts it on.
fn is_count(scene: &Scene<'_>, change: ExprId) -> bool {
    let ExprKind::Assign { op: None, rhs, .. } = scene.tree.expr(change).kind else {
        return true;
    };
    match scene.tree.expr(scene.tree.without_casts(rhs)).kind {
        ExprKind::Int(_) => false,
        _ => !scene.is_null(rhs) && !is_pointer(scene, rhs),
    }
}

/// The variable that points at the object into whose array `store` puts a pointer:
/// `self->items[i] = v`, and `items[i] = v` behind `items = self->items`.
fn owner_of_store(scene: &Scene<'_>, store: ExprId) -> Option<LocalId> {
    let ExprKind::Assign { op: None, lhs, rhs } = scene.tree.expr(store).kind else {
        return None;
    };
    let array = match scene.tree.expr(lhs).kind {
        ExprKind::Index { base, .. } => base,
        ExprKind::Unary {
            op: UnaryOp::Deref,
            operand,
        } => pointer_in(scene, operand),
        _ => return None,
    };
    if !is_pointer(scene, rhs) {
        return None;
    }
    let alias = scene.as_local(array);
    let of_alias = alias.and_then(|local| values(scene, local).find_map(|it| owner(scene, it)));
    owner(scene, array).or(of_alias)
}

/// The pointer that an operand of `*` goes by: `items` in `*items++` and `*(items + i)`.
fn pointer_in(scene: &Scene<'_>, operand: ExprId) -> ExprId {
    match scene.tree.expr(operand).kind {
        ExprKind::Unary { operand, .. } => operand,
        ExprKind::Binary { lhs, .. } => lhs,
        _ => operand,
    }
}

/// `self` in `self->items`, `((Foo *)self)->items` and `self->list.items`.
fn owner(scene: &Scene<'_>, place: ExprId) -> Option<LocalId> {
    match scene.tree.expr(place).kind {
        ExprKind::Member {
            base, arrow: true, ..
        } => scene.as_local(scene.tree.without_casts(base)),
        ExprKind::Member { base, .. } => owner(scene, base),
        _ => None,
    }
}

/// What is assigned to a variable.
fn values<'s>(scene: &'s Scene<'_>, local: LocalId) -> impl Iterator<Item = ExprId> + 's {
    let stores = scene.tree.stores();
    stores.filter_map(move |(given, value)| (given == local).then_some(value))
}

/// Whether a value is known to be a pointer.
fn is_pointer(scene: &Scene<'_>, value: ExprId) -> bool {
    let value = scene.tree.without_casts(value);
    match scene.tree.expr(value).kind {
        ExprKind::Name(Name::Local(local)) => !is_number(&scene.tree.local(local).ty),
        ExprKind::Call { .. } => scene.call(value).is_some_and(|(name, _)| {
            let known = capi::effects(name)
                .is_some_and(|effects| matches!(effects.returns, Returns::New | Returns::Borrowed));
            let mut own = scene.cx.definitions(name);
            known || own.any(|(_, function)| matches!(function.ret.kind, TypeKind::Pointer(_)))
        }),
        _ => false,
    }
}
