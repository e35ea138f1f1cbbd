//! What only the function knows: its variables, and what it has made.

use super::look::Look;
use super::{Lasting, Place};
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Name, TypeKind};
use crate::capi::{self, Gives, Returns};

/// How many variables a place in memory goes through.
const MAX_COPIES: usize = 2;

impl Look<'_> {
    /// A change if it is there once the function has returned, or what it holds is lost with a
    /// variable of the function.
    pub(super) fn outliving(&self, it: Lasting) -> Option<Lasting> {
        let Some(Place {
            root: Name::Local(local),
            ref fields,
            ..
        }) = it.place
        else {
            return Some(it);
        };
        let is_element = it.is_behind && fields.is_empty();
        let variable = self.tree.local(local);
        let is_by_value = variable.is_automatic()
            && !variable.is_param
            && !matches!(variable.ty.kind, TypeKind::Pointer(_));
        let is_own = is_by_value || self.gets_only(local, is_memory, MAX_COPIES);
        if self.gets_only(local, is_object, 0) || it.is_plain && is_own && !it.holds {
            return None;
        }
        let is_own = it.is_plain && is_own;
        Some(Lasting {
            is_own,
            is_behind: is_element || !is_by_value,
            ..it
        })
    }

    /// Whether a variable gets nothing but what calls of such functions give, which nobody else
    /// knows, or a place in that: `end = start; end += n;`.
    fn gets_only(&self, local: LocalId, is_one: fn(&str) -> bool, copies: usize) -> bool {
        let tree = self.tree;
        let stores = tree.stores().filter(|(given, _)| *given == local);
        let values = stores.map(|(_, value)| self.start(value));
        let is_other =
            |&value: &ExprId| !tree.is_null(value) && tree.as_local(value) != Some(local);
        let mut values = values.filter(is_other).peekable();
        let is_new = |value: ExprId| match &tree.expr(value).kind {
            ExprKind::Call { callee, .. } => match &tree.expr(*callee).kind {
                ExprKind::Member { field, .. } => is_one(field),
                _ => tree.callee_name(*callee).is_some_and(is_one),
            },
            // `end = text + 8`
            ExprKind::Name(Name::Local(other)) if self.is_array(*other) => true,
            ExprKind::Name(Name::Local(other)) => {
                copies > 0 && self.gets_only(*other, is_one, copies - 1)
            }
            _ => false,
        };
        !tree.local(local).is_param && values.peek().is_some() && values.all(is_new)
    }

    fn is_array(&self, local: LocalId) -> bool {
        let variable = self.tree.local(local);
        let is_own = variable.is_automatic() && !variable.is_param;
        is_own && matches!(variable.ty.kind, TypeKind::Array(..))
    }

    /// The pointer that `p + n - m` starts from.
    fn start(&self, mut value: ExprId) -> ExprId {
        let tree = self.tree;
        loop {
            value = tree.without_casts(value);
            match tree.expr(value).kind {
                ExprKind::Binary {
                    op: BinaryOp::Plus | BinaryOp::Minus,
                    lhs,
                    ..
                } => value = lhs,
                _ => return value,
            }
        }
    }
}

/// `PyObject_New`, `type->tp_alloc(type, 0)`: what is done to the object ends with it.
pub(super) fn is_object(name: &str) -> bool {
    let is_new = capi::effects(name).is_some_and(|it| it.returns == Returns::New);
    name == "tp_alloc" || is_new && is_memory(name)
}

fn is_memory(name: &str) -> bool {
    let is_fresh = capi::writes(name).is_some_and(|it| it.gives == Gives::Fresh);
    is_fresh && capi::acts(name).is_none_or(|acts| acts.gives_memory || !acts.opens)
}
