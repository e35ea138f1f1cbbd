//! Where the arguments behind `...` go.

use crate::ast::{ExprId, ExprKind, Function, Tree, Type};
use crate::capi;

/// Whether a function passes a `va_list` to what may take over the objects in it, for all that is
/// known. `lists` tells that of the package's functions.
///
/// ```c
/// static PyObject *pack(const char *format, ...)
/// {
///     va_list rest;
///     va_start(rest, format);
///     made = Py_VaBuildValue(format, rest);       /* "(N)" takes its argument over */
/// ```
#[must_use]
pub fn passes_list_on(function: &Function, lists: &dyn Fn(&str) -> Option<bool>) -> bool {
    let tree = &function.tree;
    tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Call { callee, args } => {
            args.iter().any(|&arg| is_list(tree, arg))
                && may_consume(tree.callee_name(*callee), lists)
        }
        _ => false,
    })
}

/// Whether `arg` is a `va_list`, or the address of one.
fn is_list(tree: &Tree, arg: ExprId) -> bool {
    let arg = tree.without_casts(arg);
    let local = tree.as_local(arg).or_else(|| tree.as_address(arg));
    local.is_some_and(|local| is_va_list(&tree.local(local).ty))
}

fn is_va_list(ty: &Type) -> bool {
    let ty = ty.pointee().unwrap_or(ty);
    matches!(
        ty.name(),
        Some("va_list" | "__gnuc_va_list" | "__builtin_va_list")
    )
}

/// Whether a call of `name` may take over what is in a `va_list` that it gets.
fn may_consume(name: Option<&str>, lists: &dyn Fn(&str) -> Option<bool>) -> bool {
    let Some(name) = name else { return true };
    if let Some(known) = lists(name) {
        return known;
    }
    match capi::effects(name) {
        // `PyErr_FormatV` prints, `PyArg_VaParse` stores.
        Some(effects) => effects.format.is_some(),
        None => !capi::is_libc(name),
    }
}
