//! What may run while the struct has references of its own.

use std::collections::BTreeSet;

use crate::ast::{ExprKind, Name, Tree};
use crate::capi;
use crate::rule::PackageCx;

/// Whether neither the function nor code of the package that it may call detaches the thread, so
/// that a release has a thread state, or looks at reference counts. Calls through pointers may be
/// of any function: none may leave the thread detached.
pub(super) fn is_quiet(cx: &PackageCx<'_>, tree: &Tree) -> bool {
    let mut functions = cx.program.functions();
    if functions.any(|(_, function)| leaves_detached(&function.tree)) {
        return false;
    }
    let Some(mut open) = named(tree) else {
        return false;
    };
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        for (_, function) in cx.definitions(name) {
            let Some(more) = named(&function.tree) else {
                return false;
            };
            open.extend(more);
        }
        if cx.call_index().is_broken(name) {
            return false;
        }
    }
    true
}

/// Whether the function detaches the thread more often than it attaches it.
///
/// ```c
/// static void leave(PyGILState_STATE state) { PyGILState_Release(state); }
/// ```
fn leaves_detached(tree: &Tree) -> bool {
    let count = |is_one: fn(&str) -> bool| tree.calls().filter(|(_, name)| is_one(name)).count();
    count(capi::detaches) > count(capi::attaches)
}

/// The names in a function, which may be those of functions that it calls or passes on; `None` if
/// one of them detaches the thread or looks at counts.
fn named(tree: &Tree) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for expr in &tree.exprs {
        match &expr.kind {
            ExprKind::Name(Name::Global(name)) if !is_heard(name) => names.push(&**name),
            ExprKind::Name(Name::Global(_)) => return None,
            ExprKind::Member { field, .. } if &**field == "ob_refcnt" => return None,
            _ => {}
        }
    }
    Some(names)
}

fn is_heard(name: &str) -> bool {
    capi::detaches(name)
        || matches!(
            name,
            "Py_REFCNT"
                | "PyUnstable_Object_IsUniquelyReferenced"
                | "PyUnstable_Object_IsUniqueReferencedTemporary"
        )
}
