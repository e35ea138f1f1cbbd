//! What a pointer points to that is read from memory, or made of another one.

use super::body::Body;
use super::owned::field_of;
use super::value::{Kinds, Value};
use crate::ast::{ExprId, ExprKind, Type, TypeKind};
use crate::capi::{Gives, converts, field};

impl Body<'_, '_, '_> {
    /// What is read from a field, an element, or through a pointer.
    pub(super) fn read(&self, expr: ExprId) -> Value {
        let ty = self.walk.types.of(self.tree(), expr);
        if ty.is_some_and(|ty| self.walk.types.is_number(ty)) {
            return Value::NONE;
        }
        if let ExprKind::Member { field: name, .. } = &self.tree().expr(expr).kind
            && field(None, name).is_some_and(|it| it.gives == Gives::Attributes)
        {
            return Value::ATTRIBUTES;
        }
        // The bytes of a buffer are for who lends it to guard, unless it is lent to be read, `y*`, or
        // others have the buffer itself.
        if self.is_of_buffer(expr) {
            let memory = self.place(expr).memory;
            return if memory.inner.has(Kinds::BYTES) || memory.points.is_of_others() {
                Value::BYTES
            } else {
                Value::LENT
            };
        }
        if let Some(local) = self.part_of(expr) {
            let value = self.locals[local.0 as usize];
            let array = if self.is_array(expr) {
                Kinds::PRIVATE
            } else {
                Kinds::default()
            };
            return Value::of(value.points | self.inner | array, value.all() | self.inner);
        }
        let memory = self.place(expr).memory;
        if self.is_array(expr) {
            return memory;
        }
        let mut inside = memory.inner;
        if memory.points.has(Kinds::PRIVATE) {
            inside = inside | self.inner;
        }
        if memory.points.is_of_others() && self.leads_to_reported(expr) {
            inside = inside | Kinds::REPORTED;
        } else if memory.points.is_of_others() {
            inside = inside | memory.points.of_others_inside();
        } else if memory.points.is_filled() && self.is_lent(expr) {
            inside = inside | Kinds::SHARED;
        }
        if memory.points.has(Kinds::LENT) {
            inside = inside | self.held_by_constant(ty);
        }
        // An object that a private one holds may be anybody's.
        let is_object = ty.is_some_and(|ty| self.walk.types.is_object_pointer(ty));
        if is_object {
            inside = inside | Kinds::SHARED;
        }
        let known = ty.is_some_and(|ty| self.walk.types.pointee(ty).is_some());
        let points = if known {
            inside
        } else {
            inside | memory.points
        };
        if is_object && memory.points.is_of_others() {
            return Value::of(points | Kinds::KEPT, inside);
        }
        Value::of(points, inside)
    }

    /// Whether others may have what a field holds.
    fn is_lent(&self, place: ExprId) -> bool {
        let field = field_of(self.walk.types, self.tree(), place);
        field.is_none_or(|(_, name)| self.walk.lent.has(&name))
    }

    /// What a pointer of this type points to that a constant holds: `*rows[0].counter`.
    fn held_by_constant(&self, ty: Option<&Type>) -> Kinds {
        let types = self.walk.types;
        match ty.and_then(|ty| types.pointee(ty)) {
            Some(to) if to.is_const || matches!(to.kind, TypeKind::Function(..)) => {
                Kinds::default()
            }
            Some(to) if !types.is_plain(to) => Kinds::SHARED,
            _ => Kinds::BYTES,
        }
    }

    pub(super) fn cast(&self, ty: &Type, operand: ExprId) -> Value {
        let tree = self.tree();
        let value = self.value(operand);
        let is_number = |ty| self.walk.types.is_number(ty);
        let from = self.walk.types.of(tree, operand);
        let inner = tree.without_casts(operand);
        let is_call = matches!(tree.expr(inner).kind, ExprKind::Call { .. });
        let is_converted = tree.called(inner).is_some_and(converts);
        let is_unknown = match from {
            // `(struct node *)(uintptr_t)handle`
            Some(from) => is_number(from) || self.walk.types.of(tree, inner).is_some_and(is_number),
            None => value.all().is_nothing() && (!is_call || is_converted),
        };
        let is_const = |ty| self.walk.types.pointee(ty).is_some_and(|to| to.is_const);
        // `((conf *)defaults)->n`: what a static points to need not be constant.
        if value.points.has(Kinds::LENT) && from.is_some_and(is_const) && !is_const(ty) {
            return value | Value::BYTES;
        }
        // A number that is an address may be any.
        if is_unknown && self.walk.types.pointee(ty).is_some() && !tree.is_null(operand) {
            return Value::SHARED;
        }
        value
    }
}
