//! What functions outside of the package do with the memory behind their arguments.

use super::Behind;
use crate::ast::{ExprId, ExprKind, Tree, Type, UnaryOp};
use crate::capi::{self, Gives, effects, reads_unit, writes};
use crate::state::behind::code::is_for_threads;
use crate::state::locks::lock_act_by_name;

/// What is done with the memory behind one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Nothing that counts: it is an object, or a lock.
    Nothing,
    Reads,
    Writes,
    /// The same with what pointers there lead to.
    WritesAll,
    /// It may write that: nobody knows.
    MayWriteAll,
    /// The argument itself is set, as a macro does.
    Sets,
}

/// What the call of `name` does with argument `number`.
pub(super) fn use_of(
    behind: &Behind<'_, '_>,
    tree: &Tree,
    (name, args): (&str, &[ExprId]),
    number: usize,
) -> Use {
    let types = behind.cx.types();
    let arg = args[number];
    if let Some(row) = writes(name) {
        let format = |at: usize| tree.as_string(*args.get(at)?);
        return match () {
            () if row.place(number) => Use::Sets,
            () if is_object(behind, tree, arg) && !row.names(number) => Use::Nothing,
            () if row.deep == Some(number) => Use::WritesAll,
            () if row.ends == Some(number) => Use::Writes,
            () if row.behind(number) && !reads_unit(name, number, format) => Use::Writes,
            () => Use::Reads,
        };
    }
    let to = types.pointed_at(tree, arg);
    if is_object(behind, tree, arg) || to.is_some_and(is_for_threads) {
        return Use::Nothing;
    }
    if effects(name).is_some() {
        // `PySlice_Unpack(slice, &self->start, &self->stop, &self->step)`
        return match is_address(tree, arg) || to.is_some_and(|to| is_for_result(behind, to)) {
            true => Use::Writes,
            false => Use::Reads,
        };
    }
    let is_lock = capi::lock_call(name).is_some() || lock_act_by_name(name).is_some();
    let ty = types.of(tree, arg);
    if is_lock || ty.is_none() || behind.cx.program.facts.is_thread_safe(name) {
        // A member of a struct that is not known may be a number.
        return Use::Nothing;
    }
    let declared = behind.declared.get(name).and_then(|it| it.get(number));
    let is_const = |ty: &Type| types.pointee(ty).is_some_and(|to| to.is_const);
    let is_read = declared.is_some_and(is_const) || ty.is_some_and(is_const);
    match is_read || capi::looks_by_name(name) {
        true => Use::Reads,
        false => Use::MayWriteAll,
    }
}

/// Whether no table says what a function does.
pub(super) fn is_unknown(name: &str) -> bool {
    writes(name).is_none() && effects(name).is_none()
}

/// Whether what a call gives may be a pointer into argument `number`.
pub(super) fn gives_part(name: &str, number: usize) -> bool {
    match (writes(name), effects(name)) {
        (Some(row), _) => row.gives == Gives::Argument(number),
        (None, Some(effects)) => effects.derived_from.map(usize::from) == Some(number),
        (None, None) => true,
    }
}

/// Whether an argument is a Python object, or the address of one.
fn is_object(behind: &Behind<'_, '_>, tree: &Tree, arg: ExprId) -> bool {
    let types = behind.cx.types();
    let is_pointer = |expr| {
        let ty = types.of(tree, expr);
        ty.is_some_and(|ty| types.is_object_pointer(ty))
    };
    let to = types.pointed_at(tree, arg);
    is_pointer(arg)
        || is_pointer(tree.without_casts(arg))
        || to.is_some_and(|to| types.is_object(to))
}

fn is_address(tree: &Tree, arg: ExprId) -> bool {
    let arg = tree.without_casts(arg);
    matches!(
        tree.expr(arg).kind,
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            ..
        }
    )
}

/// Whether a function of Python may put a number or a pointer there.
fn is_for_result(behind: &Behind<'_, '_>, to: &Type) -> bool {
    let types = behind.cx.types();
    let is_text = to.name().is_some_and(|name| name.contains("char"));
    let is_result = types.is_number(to) && !is_text || types.pointee(to).is_some();
    is_result && !to.is_const
}
