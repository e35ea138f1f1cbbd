//! What functions of the package do by what they call.

use std::collections::BTreeSet;

use super::waiting::takes_lock;
use crate::capi;
use crate::roles::Role;
use crate::rule::{ByCalls, PackageCx};
use crate::state::releases_lock_by_name;

/// Looks at all functions of the package.
pub(super) fn by_calls<'c>(cx: &'c PackageCx<'_>) -> &'c ByCalls {
    cx.by_calls(|cx| ByCalls {
        traversing: traversing(cx),
        holds_lock_in_python: holds_lock_in_python(cx),
    })
}

/// Whether a function that takes a lock of C, or a caller of one that leaves it taken, uses what may
/// wait for an object: who waits for the lock with a section waits for that as well.
fn holds_lock_in_python(cx: &PackageCx<'_>) -> bool {
    let callers = |name: &str| {
        let sites = cx.calls_to(name).iter();
        let functions = sites.filter_map(|site| cx.function(site.item));
        functions.map(|function| &*function.name)
    };
    let releases = |name: &str| {
        let mut calls = cx.definitions(name).flat_map(|(_, it)| it.tree.calls());
        calls.any(|(_, name)| releases_lock_by_name(name))
    };
    let takers = cx.call_index().called().filter(|name| takes_lock(name));
    let mut open: Vec<&str> = takers.flat_map(callers).collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(name) = open.pop() {
        if !seen.insert(name) {
            continue;
        }
        if uses_python(cx, name) {
            return true;
        }
        if !releases(name) {
            open.extend(callers(name));
        }
    }
    false
}

/// Whether a function of the package, or one that it calls, may run Python code or wait for an object.
fn uses_python(cx: &PackageCx<'_>, name: &str) -> bool {
    let mut open = vec![name];
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    while let Some(name) = open.pop() {
        let effects = capi::effects(name);
        let waits = |effects: &capi::Effects| effects.runs_python || effects.locks.is_some();
        let is_gil = capi::attaches(name) || capi::detaches(name);
        if effects.is_some_and(waits) && !is_gil {
            return true;
        }
        if effects.is_none() && seen.insert(name) {
            let called = cx.definitions(name).flat_map(|(_, it)| it.tree.calls());
            open.extend(called.map(|(_, name)| name));
        }
    }
    false
}

/// The functions that show a collector what an object holds, by their role or a parameter, and those
/// that they call.
fn traversing(cx: &PackageCx<'_>) -> BTreeSet<Box<str>> {
    let functions = cx.program.functions().filter(|(item, function)| {
        let mut roles = cx
            .roles()
            .into_iter()
            .flat_map(|all| all.of(item, function));
        let mut params = function.params.iter();
        let visits = |param| function.tree.local(param).ty.name() == Some("visitproc");
        params.any(|&param| visits(param)) || roles.any(Role::is_traverse)
    });
    let mut open: Vec<&str> = functions.map(|(_, function)| &*function.name).collect();
    let mut known: BTreeSet<Box<str>> = BTreeSet::new();
    while let Some(name) = open.pop() {
        if known.insert(name.into()) {
            let called = cx.definitions(name).flat_map(|(_, it)| it.tree.calls());
            open.extend(
                called
                    .map(|(_, name)| name)
                    .filter(|name| cx.definitions(name).next().is_some()),
            );
        }
    }
    known
}
