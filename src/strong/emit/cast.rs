//! The container that a macro took by any pointer, for a function that takes an object.
//!
//! ```c
//! PyListObject *items = self->items;
//! item = PyList_GET_ITEM(items, i);      item = PyList_GetItemRef((PyObject *)items, i);
//! ```

use super::Draft;
use crate::ast::{ExprId, ExprKind};
use crate::capi::OldErrors;
use crate::strong::plan::Lookup;
use crate::strong::scene::Scene;

impl Draft<'_, '_> {
    /// Casts the container of a lookup that was a macro.
    pub(in crate::strong) fn cast_container(&mut self, lookup: &Lookup) {
        if lookup.replacement.errors != OldErrors::Unchecked {
            return;
        }
        let Some((_, [container, ..])) = self.scene.call(lookup.call) else {
            return;
        };
        if let Some(span) = self.scene.span(*container)
            && needs_cast(self.scene, *container)
        {
            let text = self.text(span);
            let cast = self.scene.layout.pointer("PyObject *");
            self.name_result(span, &format!("({}){text}", cast.trim_end()));
        }
    }
}

/// Whether an expression points at an object by the name of its own struct, and a cast in front of it
/// needs no parentheses.
fn needs_cast(scene: &Scene<'_>, container: ExprId) -> bool {
    let types = scene.cx.types();
    let is_plain = matches!(
        scene.tree.expr(container).kind,
        ExprKind::Name(_) | ExprKind::Member { .. } | ExprKind::Index { .. }
    );
    let ty = types.of(scene.tree, container);
    is_plain && ty.is_some_and(|ty| types.is_object_pointer(ty) && !types.is_plain_object(ty))
}
