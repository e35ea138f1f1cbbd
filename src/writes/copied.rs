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

/// How deep structs in structs are looked into.
const MAX_DEPTH: usize = 4;

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
            ty.is_some_and(|ty| self.has_lock(ty, MAX_DEPTH))
        });
        let by_memory = tree.calls().filter_map(|(call, name)| {
            let (_, args) = tree.call(call)?;
            let from = *args.get(copies_memory(name)?.from)?;
            let ty = types.of(tree, tree.without_casts(from));
            let to = match self.addressed(tree.without_casts(from)) {
                Some(operand) => types.of(tree, operand),
                None => ty.and_then(|ty| types.pointee(ty)),
            };
            to.filter(|to| self.has_lock(to, MAX_DEPTH)).map(|_| from)
        });
        copied.extend(by_memory.collect::<Vec<_>>());
        for value in copied {
            let text = self.text(value);
            self.walk.leave(self.item, value, text, Why::Unguarded);
        }
    }

    /// Whether a value of this type holds a lock, and not just a pointer to one.
    fn has_lock(&self, ty: &Type, depth: usize) -> bool {
        let types = self.walk.types;
        if depth == 0 || types.pointee(ty).is_some() {
            return false;
        }
        let is_handle = matches!(ty.name(), Some("PyThread_type_lock" | "pthread_t"));
        if is_lock(ty) {
            return !is_handle;
        }
        let def = types.key(ty).and_then(|key| types.definition(&key));
        def.is_some_and(|def| def.fields.iter().any(|it| self.has_lock(&it.ty, depth - 1)))
    }
}
