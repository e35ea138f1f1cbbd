//! Pointers into the object that are kept as numbers.
//!
//! ```c
//! unsigned long text = (unsigned long)PyUnicode_AsUTF8(v);
//! ```

use super::Follower;
use crate::ast::{ExprId, ExprKind, LocalId, StmtId, StmtKind};
use crate::capi;
use crate::cfg::Source;

impl Follower<'_, '_> {
    /// Whether the number that `local` gets is an address.
    pub(in crate::strong) fn keeps_address(&self, local: LocalId, source: Source) -> bool {
        let Source::Expr(stored) = source else {
            return false;
        };
        let value = match self.scene.tree.expr(stored).kind {
            ExprKind::Assign { op: None, rhs, .. } => rhs,
            _ => stored,
        };
        self.scene.tree.local(local).ty.may_keep_address() && self.is_address(value)
    }

    /// Whether the number that `stmt` returns is an address.
    pub(in crate::strong) fn returns_address(&self, stmt: StmtId) -> bool {
        match self.scene.tree.stmt(stmt).kind {
            StmtKind::Return(Some(value)) => {
                self.scene.function.ret.may_keep_address() && self.is_address(value)
            }
            _ => false,
        }
    }

    /// Whether a value is a pointer, under casts.
    fn is_address(&self, value: ExprId) -> bool {
        let (tree, types) = (self.scene.tree, self.scene.cx.types());
        let inner = tree.without_casts(value);
        match types.of(tree, inner) {
            // uintptr_t next = address;
            Some(ty) => types.pointee(ty).is_some() || tree.as_local(inner).is_some(),
            None => tree
                .called(inner)
                .is_some_and(|name| capi::effects(name).is_some()),
        }
    }
}
