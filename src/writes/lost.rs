//! Atomic places that are written with what was read there before: what another thread wrote
//! meanwhile is lost.
//!
//! ```c
//! long n = atomic_load(&served);
//! atomic_store(&served, n + 1);                 /* `atomic_fetch_add` loses none */
//! ```

use std::rc::Rc;

use crate::ast::{ExprId, ExprKind};

use super::body::Body;
use super::guards::Paths;

/// How many variables a value is followed through.
const MAX_LOCALS: u32 = 4;

impl Body<'_, '_, '_> {
    /// Names the write `at` of the atomic `cell` if `value` was computed from what `cell` held.
    pub(super) fn check_update(&mut self, at: ExprId, cell: ExprId, value: ExprId) {
        let text = Rc::clone(&self.known);
        if self.reads(&text.paths, value, cell, MAX_LOCALS) {
            self.leave_write(cell, at, self.text(cell));
        }
    }

    /// Whether `value` is computed from what `cell` holds, or held.
    fn reads(&self, paths: &Paths<'_>, value: ExprId, cell: ExprId, depth: u32) -> bool {
        let tree = self.tree();
        let place = paths.place(cell);
        let parts = tree.exprs_in(tree.expr(value).range);
        let mut parts = parts.map(|(part, _)| part);
        parts.any(|part| match tree.as_local(part) {
            Some(local) if tree.local(local).is_automatic() => {
                let mut stores = tree.stores().filter(|(to, _)| *to == local);
                depth > 0 && stores.any(|(_, value)| self.reads(paths, value, cell, depth - 1))
            }
            _ => {
                let is_place = matches!(
                    tree.expr(part).kind,
                    ExprKind::Name(_) | ExprKind::Member { .. } | ExprKind::Index { .. }
                );
                is_place && place.is_some() && paths.place(part) == place
            }
        })
    }
}
