//! What a new exit returns tells the callers of a failure.

use super::Changed;
use crate::ast::{ExprId, ExprKind, StmtId, StmtKind, Tree};
use crate::program::mistaken as takes_for_success;

/// What has to hold for what the new exit `jump` returns to be an error.
pub(super) fn mistaken(changed: Changed<'_>, jump: StmtId) -> Option<String> {
    let function = changed.function;
    let (tree, name) = (&function.tree, &function.name);
    let StmtKind::Return(Some(value)) = tree.stmt(jump).kind else {
        return None;
    };
    if function.ret.is_py_object_pointer() && !may_be_null(tree, value) {
        return Some(format!(
            "`{name}` may return an object with an exception set"
        ));
    }
    let is_number = function.ret.is_number();
    let null = || tree.is_null(value).then_some(0);
    let error = if is_number {
        tree.as_number(value)
    } else {
        null()
    }?;
    let original = changed.original;
    let site = takes_for_success(
        original.program,
        original.calls(),
        (function, changed.item.unit),
        error,
    )?;
    let caller = original.program.items[site.item.0 as usize].function()?;
    let told = if is_number {
        error.to_string()
    } else {
        "`NULL`".to_owned()
    };
    Some(format!(
        "`{}` takes the {told} that `{name}` returns there for a failure",
        caller.name
    ))
}

/// Whether a value is `NULL`, or what a call gives.
fn may_be_null(tree: &Tree, value: ExprId) -> bool {
    let value = tree.without_casts(value);
    tree.is_null(value)
        || match tree.expr(value).kind {
            ExprKind::Call { .. } => tree.called(value) != Some("Py_NewRef"),
            _ => tree.as_local(value).is_some(),
        }
}
