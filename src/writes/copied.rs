//! Locks that are copied: whoever takes the copy keeps nobody out.
//!
//! ```c
//! struct state now = self->state;
//! PyMutex_Lock(&now.mutex);                 /* nobody else knows this one */
//! now.table[0]++;                           /* but others have the table */
//! ```

use super::Why;
use super::body::Body;
use crate::ast::{ExprId, ExprKind, Init, StmtKind, Type};
use crate::capi::copies_memory;
use crate::state::is_lock;

impl Body<'_, '_, '_> {
    /// Names each copy of a struct with a lock in it.
    pub(super) fn check_copied_locks(&mut self) {
        let tree = self.tree();
        let types = self.walk.types;
        let mut copied: Vec<ExprId> = Vec::new();
        copied.extend(tree.declarations().flat_map(|it| match it.init {
            Some(Init::Expr(value)) => Some(value),
            _ => None,
        }));
        copied.extend(tree.stmts.iter().filter_map(|stmt| match stmt.kind {
            StmtKind::Return(value) => value,
            _ => None,
        }));
        for at in tree.expr_ids() {
            match &tree.expr(at).kind {
                ExprKind::Assign { op: None, rhs, .. } => copied.push(*rhs),
                ExprKind::Call { args, .. } => copied.extend(args),
                _ => {}
            }
        }
        copied.retain(|&value| {
            let ty = types.of(tree, value);
            ty.is_some_and(|ty| self.has_lock(ty))
        });
        let by_memory = tree.calls().filter_map(|(call, name)| {
            let (_, args) = tree.call(call)?;
            let from = *args.get(copies_memory(name)?.from)?;
            let ty = self.pointed_at(from)?;
            self.has_lock(ty).then_some(from)
        });
        copied.extend(by_memory.collect::<Vec<_>>());
        for value in copied {
            let text = self.text(value);
            self.walk.leave(self.item, value, text, Why::Unguarded);
        }
    }

    /// Whether a value of this type holds a lock, and not just a pointer to one.
    fn has_lock(&self, ty: &Type) -> bool {
        let types = self.walk.types;
        let is_it = |ty: &Type| {
            let is_handle = matches!(ty.name(), Some("PyThread_type_lock" | "pthread_t"));
            is_lock(ty) && !is_handle && types.pointee(ty).is_none()
        };
        is_it(ty) || types.fields_within(ty).iter().any(|(_, it)| is_it(&it.ty))
    }
}
