//! What calls, by their names, say of a pending exception.

use rustc_hash::FxHashMap;

use super::types::is_number;
use crate::ast::{Expr, ExprKind, Function, Tree, Type};
use crate::capi::{self, OldErrors, Returns};
use crate::rule::{ItemId, PackageCx};

/// What a value says of a pending exception: the union of these over all paths.
pub(super) type Signs = u8;

/// 0 says that one was raised.
pub(super) const ZERO: Signs = 1;
/// A negative number says so.
pub(super) const NEGATIVE: Signs = 2;
/// Anything but 0 says so.
pub(super) const NONZERO: Signs = 4;
/// Anything but 0 says so, and 0 that there is none: `PyErr_Occurred`.
pub(super) const ASKED: Signs = 8;
/// 0 says that one was raised, if the value is an object: a function of the package.
pub(super) const ZERO_OBJECT: Signs = 16;

/// Whether the call of `name` leaves an exception set.
pub(super) fn raises(name: &str) -> bool {
    [
        "PyErr_Set",
        "PyErr_Format",
        "PyErr_NoMemory",
        "PyErr_Bad",
        "PyErr_Restore",
    ]
    .iter()
    .any(|start| name.starts_with(start))
        && !takes_exception(name)
}

/// Whether no exception is pending after the call of `name`.
pub(super) fn takes_exception(name: &str) -> bool {
    [
        "PyErr_Clear",
        "PyErr_Fetch",
        "PyErr_GetRaised",
        "PyErr_Print",
        "PyErr_WriteUnraisable",
    ]
    .iter()
    .any(|start| name.starts_with(start))
        || matches!(
            name,
            "PyErr_FormatUnraisable"
                | "PyErr_SetInterrupt"
                | "PyErr_SetExcInfo"
                | "PyErr_SetHandledException"
        )
}

/// Whether the result of `name` alone says whether an exception is pending behind the call: to give
/// an object with an exception set is a `SystemError` (`_Py_CheckFunctionResult`).
pub(super) fn checks_result(name: &str) -> bool {
    let is_call = ["PyObject_Call", "PyObject_Vectorcall"]
        .iter()
        .any(|start| name.starts_with(start));
    is_call && !name.starts_with("PyObject_CallFinalizer")
        || matches!(name, "PyImport_Import" | "PyImport_ImportModule")
}

/// What the result of `name` says.
pub(super) fn signs(name: &str) -> Signs {
    // Their `NULL` is an answer.
    const ANSWERS: [&str; 3] = ["PyIter_Next", "PyFrame_GetBack", "PyThreadState_GetFrame"];
    if matches!(name, "PyErr_Occurred" | "PyErr_ExceptionMatches") {
        return if name == "PyErr_Occurred" {
            ASKED
        } else {
            NONZERO
        };
    }
    let Some(effects) = capi::effects(name) else {
        return ZERO_OBJECT;
    };
    match effects.returns {
        Returns::New if !ANSWERS.contains(&name) => ZERO,
        Returns::Borrowed { .. } => {
            let raising =
                capi::replacement(name).is_some_and(|row| row.errors == OldErrors::Raised);
            if raising { ZERO } else { 0 }
        }
        Returns::Plain if name.starts_with("PyArg_") || name.contains("_AsUTF8") => ZERO,
        Returns::Plain if is_status(name) => NEGATIVE | NONZERO,
        Returns::Plain => NEGATIVE,
        Returns::New | Returns::Null | Returns::Void => 0,
    }
}

/// Whether the function `name` gives 0, or -1 with an exception.
pub(super) fn is_status(name: &str) -> bool {
    ["_Set", "_Append", "_Insert", "_Del", "_Ready", "_GetBuffer"]
        .iter()
        .any(|part| name.contains(part))
}

/// The values of a result that may say of an exception.
pub(super) fn error_values(signs: Signs) -> impl Iterator<Item = i64> {
    let zero = (signs & (ZERO | ZERO_OBJECT) != 0).then_some(0);
    let minus_one = (signs & (NEGATIVE | NONZERO) != 0).then_some(-1);
    zero.into_iter().chain(minus_one)
}

/// Functions of the package that may raise, with what their results say.
pub(super) type Helpers = FxHashMap<Box<str>, Signs>;

/// Those that `tree` calls.
pub(super) fn helpers(cx: &PackageCx<'_>, tree: &Tree) -> Helpers {
    let mut helpers = Helpers::default();
    for expr in &tree.exprs {
        let ExprKind::Call { callee, .. } = expr.kind else {
            continue;
        };
        let Some(name) = tree.callee_name(callee) else {
            continue;
        };
        let may_raise = |(_, function): &(ItemId, &Function)| may_raise(function);
        if !helpers.contains_key(name)
            && let Some((_, function)) = cx.definitions(name).find(may_raise)
        {
            helpers.insert(name.into(), signs_of(&function.ret));
        }
    }
    helpers
}

/// What the result of a function of the package says.
fn signs_of(ret: &Type) -> Signs {
    match ret {
        ret if ret.is_py_object_pointer() => ZERO,
        ret if ret.is_void() || !is_number(ret) => 0,
        _ => NEGATIVE,
    }
}

/// Whether a function may raise: it works on objects, or calls what raises.
fn may_raise(function: &Function) -> bool {
    let tree = &function.tree;
    let mut params = function.params.iter();
    let has_object = params.any(|&param| tree.local(param).ty.is_py_object_pointer());
    let calls = |expr: &Expr| match expr.kind {
        ExprKind::Call { callee, .. } => tree.callee_name(callee).is_some_and(|name| {
            raises(name) || capi::effects(name).is_some_and(|effects| effects.runs_python)
        }),
        _ => false,
    };
    has_object || function.ret.is_py_object_pointer() || tree.exprs.iter().any(calls)
}
