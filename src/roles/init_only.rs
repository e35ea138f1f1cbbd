//! Functions that run only while a module is made.

use std::collections::{BTreeMap, BTreeSet};

use super::{Role, Roles};
use crate::program::{Body, CallIndex, ItemId, Program};

/// The functions of the package, by name, that run only inside `PyInit_*` or `Py_mod_exec`: these
/// themselves, and those that nobody else calls and whose address nobody takes.
///
/// Where a name has several definitions, all of them must be such functions.
#[must_use]
pub fn init_only<'p>(
    program: &'p Program<'_>,
    calls: &CallIndex,
    roles: &Roles,
) -> BTreeSet<&'p str> {
    reached_only_from(program, calls, roles, &|_, of| {
        !of.is_empty() && of.iter().all(|role| role.is_module_init())
    })
}

/// The functions of the package, by name, that run only inside those that `is_entry` names by
/// their name and roles: these themselves if only such functions call them, and those that nobody
/// else calls and whose address nobody takes.
///
/// Where a name has several definitions, all of them must be such functions.
#[must_use]
pub fn reached_only_from<'p>(
    program: &'p Program<'_>,
    calls: &CallIndex,
    roles: &Roles,
    is_entry: &dyn Fn(&str, &[&Role]) -> bool,
) -> BTreeSet<&'p str> {
    let mut entries: BTreeMap<&str, bool> = BTreeMap::new();
    for (item, function) in program.functions() {
        let of: Vec<&Role> = roles.of(item, function).collect();
        *entries.entry(&function.name).or_insert(true) &= is_entry(&function.name, &of);
    }
    let mut only: BTreeSet<&str> = entries
        .iter()
        .filter(|(name, is_entry)| **is_entry && !is_called_elsewhere(program, calls, name))
        .map(|(name, _)| *name)
        .collect();
    // Grows by one layer of callees a round; recursion alone never gets a function in.
    loop {
        let more: Vec<&str> = entries
            .iter()
            .filter(|(name, is_entry)| **is_entry || !calls.is_mentioned_elsewhere(name))
            .map(|(name, _)| *name)
            .filter(|name| !only.contains(name))
            .filter(|name| callers_are_in(program, calls, name, &only))
            .collect();
        if more.is_empty() {
            break;
        }
        only.extend(more);
    }
    only
}

/// A function that Python calls once, and C again.
fn is_called_elsewhere(program: &Program<'_>, calls: &CallIndex, name: &str) -> bool {
    calls
        .calls_to(name)
        .iter()
        .any(|site| caller(program, site.item) != Some(name))
}

fn callers_are_in(
    program: &Program<'_>,
    calls: &CallIndex,
    name: &str,
    only: &BTreeSet<&str>,
) -> bool {
    let sites = calls.calls_to(name);
    !sites.is_empty()
        && sites
            .iter()
            .all(|site| caller(program, site.item).is_some_and(|caller| only.contains(caller)))
}

fn caller<'p>(program: &'p Program<'_>, item: ItemId) -> Option<&'p str> {
    match &program.items[item.0 as usize].body {
        Some(Body::Function(function)) => Some(&function.name),
        Some(Body::Declaration(_)) | None => None,
    }
}
