//! What functions of the package do by what they call.

use std::collections::BTreeSet;

use super::errno::{keeps_errno, wants_errno};
use super::waiting::takes_lock;
use crate::ast::{ExprKind, Function, Name};
use crate::capi;
use crate::program::ItemId;
use crate::roles::Role;
use crate::rule::{ByCalls, PackageCx, spread};
use crate::state::releases_lock_by_name;
use crate::strong::ERRNO_READERS;

/// Looks at all functions of the package that may read `errno`.
pub(super) fn by_calls<'c>(cx: &'c PackageCx<'_>) -> &'c ByCalls {
    cx.by_calls(|cx| {
        let named = naming_errno(cx).into_iter();
        let keeps = |item: &ItemId| cx.function(*item).is_some_and(|it| keeps_errno(cx, it));
        let (keeping, others): (BTreeSet<ItemId>, _) = named.partition(keeps);
        let keeping = keeping.into_iter().filter_map(|item| cx.function(item));
        let keeping_errno = keeping.map(|function| (*function.name).into()).collect();
        let wants = |function: &Function, known: &_| wants_errno(function, known, &keeping_errno);
        ByCalls {
            reading_errno: spread(cx, &ERRNO_READERS, others, wants),
            keeping_errno,
            traversing: traversing(cx),
            holds_lock_in_python: holds_lock_in_python(cx),
        }
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

/// The functions in which the word `errno` stands.
fn naming_errno(cx: &PackageCx<'_>) -> BTreeSet<ItemId> {
    let items = (0u32..).map(ItemId).take(cx.program.items.len());
    let names = |item: &ItemId| {
        let exprs = cx.function(*item).map(|function| &function.tree.exprs);
        exprs.is_some_and(|exprs| {
            let is_errno = |kind: &ExprKind| matches!(kind, ExprKind::Name(Name::Global(name)) if &**name == "errno");
            exprs.iter().any(|expr| is_errno(&expr.kind))
        })
    };
    items.filter(names).collect()
}
