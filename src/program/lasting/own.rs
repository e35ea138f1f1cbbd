//! What only the function knows: its variables, and what it has made.

use super::look::Look;
use super::{Lasting, Place};
use crate::ast::{ExprId, ExprKind, LocalId, Name};
use crate::capi::{self, Gives, Returns};

impl Look<'_> {
    /// A change if it is there once the function has returned, or what it holds is lost with a
    /// variable of the function.
    pub(super) fn outliving(&self, it: Lasting) -> Option<Lasting> {
        let Some(Place {
            root: Name::Local(local),
            ..
        }) = it.place
        else {
            return Some(it);
        };
        let variable = self.tree.local(local);
        let is_pointer = variable.is_param || variable.ty.pointee().is_some();
        let is_by_value = variable.is_automatic() && !is_pointer;
        let is_own = is_by_value || self.gets_only(local, is_memory);
        if self.gets_only(local, is_object) || it.is_plain && is_own && !(it.holds && is_by_value) {
            return None;
        }
        let is_own = it.is_plain && is_own;
        Some(Lasting { is_own, ..it })
    }

    /// Whether a variable gets nothing but what calls of such functions give, which nobody else
    /// knows.
    fn gets_only(&self, local: LocalId, is_one: impl Fn(&str) -> bool) -> bool {
        let tree = self.tree;
        let stores = tree.stores().filter(|(given, _)| *given == local);
        let values = stores.map(|(_, value)| tree.without_casts(value));
        let mut values = values.filter(|&value| !tree.is_null(value)).peekable();
        let is_new = |value: ExprId| match &tree.expr(value).kind {
            ExprKind::Call { callee, .. } => match &tree.expr(*callee).kind {
                ExprKind::Member { field, .. } => is_one(field),
                _ => tree.callee_name(*callee).is_some_and(&is_one),
            },
            _ => false,
        };
        !tree.local(local).is_param && values.peek().is_some() && values.all(is_new)
    }
}

/// `PyObject_New`, `type->tp_alloc(type, 0)`: what is done to the object ends with it.
fn is_object(name: &str) -> bool {
    let is_new = capi::effects(name).is_some_and(|it| it.returns == Returns::New);
    name == "tp_alloc" || is_new && is_memory(name)
}

fn is_memory(name: &str) -> bool {
    let is_fresh = capi::writes(name).is_some_and(|it| it.gives == Gives::Fresh);
    is_fresh && capi::acts(name).is_none_or(|acts| acts.gives_memory || !acts.opens)
}
