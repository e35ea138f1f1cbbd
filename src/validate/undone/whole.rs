//! Whether an object that Python alone calls a method of is whole where a new exit of that leaves.
//!
//! ```c
//! for (i = 0; i < self->count; i++)
//!     self->rows[i] = malloc(size);               /* `tp_dealloc` frees `count` of them */
//! item = PyList_GetItemRef(list, 0);
//! if (item == NULL)
//!     return NULL;
//! self->rows[0][0] = PyFloat_AsDouble(item);
//! ```

use super::View;
use super::acts::{Act, roots};
use super::telling::frees;
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId, Tree};
use crate::capi;
use crate::cfg::reaches;
use crate::program::Types;

impl View<'_> {
    /// Whether what is stored is one of the elements of a field of the object that the method is
    /// called on, which has all of them where `exit` leaves, and gets nothing but numbers behind it.
    pub(super) fn is_object_whole(&self, store: ExprId, exit: &Exit) -> bool {
        let Some(object) = self.object() else {
            return false;
        };
        let field = match self.tree.expr(store).kind {
            ExprKind::Assign { lhs, .. } => element_of(self.tree, lhs),
            _ => None,
        };
        let is_own = |base: ExprId| self.tree.as_local(base) == Some(object);
        let Some((_, field)) = field.filter(|(base, _)| is_own(*base)) else {
            return false;
        };
        let is_behind = |other: &&Act| reaches(self.cfg, exit.from, other.point, &[exit.start]);
        let types = &self.changed.original.types;
        let mut behind = self.acts.iter().filter(is_behind);
        let is_again = self.cfg.store(store);
        !is_again.is_some_and(|point| reaches(self.cfg, exit.from, point, &[]))
            && behind.all(|other| match other.writes {
                true => self.sets_number(other, object, types),
                false => !self.gets_object(other, object),
            })
            && self.is_ended_with(field)
    }

    /// The object that Python, which alone calls the function, calls it on.
    fn object(&self) -> Option<LocalId> {
        let function = self.changed.function;
        let mut befores = self.changed.befores();
        let is_method = befores.all(|(item, it)| self.changed.original.is_method(item, it));
        let object = *function.params.first().filter(|_| is_method)?;
        let mut stores = self.tree.stores();
        let is_kept =
            stores.all(|(given, _)| given != object) && !self.cfg.address_taken().contains(&object);
        is_kept.then_some(object)
    }

    /// Whether a write sets an element to a number, or is of another object.
    fn sets_number(&self, act: &Act, object: LocalId, types: &Types<'_>) -> bool {
        let Some(place) = self.tree.changed(act.expr) else {
            return false;
        };
        let is_number = || {
            let ty = types.of(self.tree, place);
            ty.is_some_and(|ty| types.is_number(ty))
        };
        let is_element = matches!(self.tree.expr(place).kind, ExprKind::Index { .. });
        let is_own = || roots(self.tree, place).contains(&object);
        is_element && is_number() || !is_own()
    }

    /// Whether a function that is none of Python gets the object, and may set what it likes.
    fn gets_object(&self, call: &Act, object: LocalId) -> bool {
        let tree = self.tree;
        let ExprKind::Call { args, .. } = &tree.expr(call.expr).kind else {
            return false;
        };
        let is_known = tree
            .called(call.expr)
            .is_some_and(|name| capi::effects(name).is_some());
        let mut args = args.iter();
        !is_known && args.any(|&arg| tree.as_local(tree.without_casts(arg)) == Some(object))
    }

    /// Whether a destructor of the package frees the elements of such a field.
    fn is_ended_with(&self, field: &str) -> bool {
        self.changed.original.destructors().any(|function| {
            let tree = &function.tree;
            tree.expr_ids().any(|expr| {
                let ExprKind::Call { args, .. } = &tree.expr(expr).kind else {
                    return false;
                };
                let is_end = tree.called(expr).is_some_and(frees);
                let first = args.first().map(|&arg| tree.without_casts(arg));
                let freed = first.and_then(|arg| element_of(tree, arg));
                is_end && freed.is_some_and(|(_, freed)| freed == field)
            })
        })
    }
}

/// The object and the field of `object->rows[i]`.
fn element_of(tree: &Tree, place: ExprId) -> Option<(ExprId, &str)> {
    let ExprKind::Index { base, .. } = tree.expr(place).kind else {
        return None;
    };
    match &tree.expr(base).kind {
        ExprKind::Member {
            base,
            field,
            arrow: true,
        } => Some((*base, field)),
        _ => None,
    }
}
