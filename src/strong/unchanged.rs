//! Whether what a function does between two reads of a list may change the list.
//!
//! ```c
//! for (k = 0; k < n; k++) {
//!     PyObject *old = self->row[k];
//!     self->row[k] = Py_NewRef(items[k]);
//!     Py_XDECREF(old);                        /* `__del__`: it is taken to leave the list alone */
//! }
//! ```
//!
//! What a release runs may run at any allocation as well, as part of a collection: no code can count
//! on the list it finds then.

use std::collections::BTreeSet;

use super::scene::Scene;
use crate::ast::{ExprId, ExprKind, Tree, Type, TypeKind};
use crate::capi;
use crate::cfg::{Callee, Instr, InstrKind, Source};
use crate::rule::PackageCx;

/// The name of what a step calls, if that may change a list; `reads` are the calls that only read
/// it.
pub(super) fn changer(
    scene: &Scene<'_>,
    instr: &Instr,
    reads: impl Fn(ExprId) -> bool,
) -> Option<String> {
    let InstrKind::Call { callee, .. } = &instr.kind else {
        return matches!(instr.kind, InstrKind::Asm).then(|| "asm".to_owned());
    };
    let Callee::Named(name) = callee else {
        return Some("a callback".to_owned());
    };
    let is_read = matches!(instr.source, Source::Expr(expr) if reads(expr));
    (!is_read && may_change(scene.cx, name)).then(|| name.to_string())
}

/// Whether a call of the function `name` may change a list: by itself, or by Python code that it
/// runs. Functions of the package are followed.
#[must_use]
pub fn may_change(cx: &PackageCx<'_>, name: &str) -> bool {
    let mut open = vec![name];
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name) || capi::is_libc(name) || is_release(name) {
            continue;
        }
        if let Some(effects) = capi::effects(name) {
            if effects.runs_python || changes_list(name) {
                return true;
            }
            continue;
        }
        let mut functions = cx.definitions(name).peekable();
        if functions.peek().is_none() {
            return true;
        }
        for (_, function) in functions {
            let Some(calls) = named_calls(&function.tree) else {
                return true;
            };
            if reaches_for_items(cx, &function.tree) {
                return true;
            }
            open.extend(calls);
        }
    }
    false
}

/// The functions that are called; `None` if one is called through a pointer.
fn named_calls(tree: &Tree) -> Option<Vec<&str>> {
    let calls = tree.exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::Call { callee, .. } => Some(tree.callee_name(callee)),
        _ => None,
    });
    calls.collect()
}

fn is_release(name: &str) -> bool {
    matches!(
        name,
        "Py_CLEAR" | "Py_DECREF" | "Py_DecRef" | "Py_SETREF" | "Py_XDECREF" | "Py_XSETREF"
    )
}

/// Whether a function of the C API changes a list, even one that runs no Python code.
fn changes_list(name: &str) -> bool {
    const CHANGES: [&str; 9] = [
        "PyList_Append",
        "PyList_Clear",
        "PyList_Extend",
        "PyList_Insert",
        "PyList_Reverse",
        "PyList_SET_ITEM",
        "PyList_SetItem",
        "PyList_SetSlice",
        "PyList_Sort",
    ];
    CHANGES.contains(&name)
}

/// Whether a function reaches for the array of a list: `((PyListObject *)list)->ob_item`.
pub(super) fn reaches_for_items(cx: &PackageCx<'_>, tree: &Tree) -> bool {
    let types = cx.types();
    tree.exprs.iter().any(|expr| match &expr.kind {
        ExprKind::Member { base, field, arrow } if &**field == "ob_item" => {
            let owner = types.owner(tree, *base, *arrow);
            let is_list = owner.is_none_or(|owner| owner == "PyListObject");
            is_list && !is_of_own_type(cx, tree, *base)
        }
        _ => false,
    })
}

/// Whether `object` is spelled as the struct of a type that the package makes. It is no list then,
/// though its struct may be that of one:
///
/// ```c
/// typedef PyListObject RowObject;
/// static PyTypeObject Row_Type = { PyVarObject_HEAD_INIT(NULL, 0) "row", sizeof(RowObject), … };
/// ```
fn is_of_own_type(cx: &PackageCx<'_>, tree: &Tree, object: ExprId) -> bool {
    let named = |ty: &Type| match &ty.kind {
        TypeKind::Named(name) => Some(name.to_string()),
        _ => None,
    };
    let ty = cx.types().of(tree, object).and_then(|ty| ty.pointee());
    let Some(name) = ty.and_then(named) else {
        return false;
    };
    if name == "PyListObject" {
        return false;
    }
    cx.program.declarations().any(|(_, declaration)| {
        let mut made = declaration.declarators.iter().filter(|it| it.init.is_some());
        let is_size = |kind: &ExprKind| matches!(kind, ExprKind::TypeQuery(ty) if named(ty).as_ref() == Some(&name));
        made.any(|it| named(&it.ty).is_some_and(|ty| ty == "PyTypeObject"))
            && declaration.tree.exprs.iter().any(|expr| is_size(&expr.kind))
    })
}
