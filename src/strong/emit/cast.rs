//! The container that a macro took by any pointer, for a function that takes an object.
//!
//! ```c
//! PyListObject *items = self->items;
//! item = PyList_GET_ITEM(items, i);      item = PyList_GetItemRef((PyObject *)items, i);
//! ```

use super::Draft;
use crate::ast::{ExprId, ExprKind, UnaryOp};
use crate::capi::OldErrors;
use crate::source::ByteSpan;
use crate::strong::plan::Lookup;

impl Draft<'_, '_> {
    /// Casts the container of a lookup that was a macro.
    pub(in crate::strong) fn cast_container(&mut self, lookup: &Lookup) {
        if lookup.replacement.errors != OldErrors::Unchecked {
            return;
        }
        let Some((_, [container, ..])) = self.scene.call(lookup.call) else {
            return;
        };
        if let Some(span) = self.span_of(*container)
            && let Some(bare) = self.without_type(*container)
        {
            self.name_result(span, &bare);
        }
    }

    fn span_of(&self, expr: ExprId) -> Option<ByteSpan> {
        let made = || self.scene.made_whole(expr);
        self.scene.span(expr).or_else(made)
    }

    /// The text of an object that the code has by the name of its own struct, as a `PyObject *`;
    /// `None` if it is one as it is.
    fn without_type(&self, container: ExprId) -> Option<String> {
        let (scene, types) = (self.scene, self.scene.cx.types());
        let by_its_struct = |expr: ExprId| match scene.tree.expr(expr).kind {
            ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => {
                let ty = types.of(scene.tree, operand);
                ty.is_some_and(|ty| types.is_object(ty) && ty.name() != Some("PyObject"))
            }
            _ => {
                let ty = types.of(scene.tree, expr);
                ty.is_some_and(|ty| types.is_object_pointer(ty) && !types.is_plain_object(ty))
            }
        };
        if !by_its_struct(container) {
            return None;
        }
        // (PyListObject *)list
        let inner = scene.tree.without_casts(container);
        let text = self.text(self.span_of(inner)?);
        let ty = types.of(scene.tree, inner);
        if inner != container && ty.is_some_and(|ty| types.is_plain_object(ty)) {
            return Some(text);
        }
        let cast = scene.layout.pointer("PyObject *");
        let cast = cast.trim_end();
        Some(match is_bound_tightly(&scene.tree.expr(inner).kind) {
            true => format!("({cast}){text}"),
            false => format!("({cast})({text})"),
        })
    }
}

/// Whether a cast in front of an expression is one of all of it.
fn is_bound_tightly(kind: &ExprKind) -> bool {
    matches!(
        kind,
        ExprKind::Name(_)
            | ExprKind::Member { .. }
            | ExprKind::Index { .. }
            | ExprKind::Call { .. }
            | ExprKind::Unary { .. }
    )
}
