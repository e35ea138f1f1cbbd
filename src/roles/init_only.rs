//! Functions that run only while a module is made.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::{Role, Roles};
use crate::program::{Body, CallIndex, ItemId, Program, User};

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
    let unread = calls.unread_users(program);
    let mut entries: BTreeMap<&str, bool> = BTreeMap::new();
    for (item, function) in program.functions() {
        let of: Vec<&Role> = roles.of(item, function).collect();
        *entries.entry(&function.name).or_insert(true) &= is_entry(&function.name, &of);
    }
    // Nothing but its name tells what Python makes of a function that is not parsed.
    // One that is called `main` belongs to another program.
    for (name, is_init) in unread.functions().filter(|(name, _)| *name != "main") {
        let is_alone = is_init && is_entry(name, &[&Role::ModuleInit]);
        *entries.entry(name).or_insert(true) &= is_alone;
    }
    let callers = Callers { program, calls };
    let mut only: FxHashSet<&str> = FxHashSet::default();
    for (name, is_entry) in &entries {
        if *is_entry && callers.of(name).all(|caller| caller == Some(name)) {
            only.insert(name);
        }
    }
    // Grows by one layer of callees a round; recursion alone never gets a function in.
    loop {
        let is_in = |caller: Option<&str>| caller.is_some_and(|caller| only.contains(caller));
        let more: Vec<&str> = entries
            .iter()
            .filter(|(name, is_entry)| **is_entry || !calls.is_address_taken(name))
            .map(|(name, _)| *name)
            .filter(|name| !only.contains(name))
            .filter(|name| callers.of(name).next().is_some() && callers.of(name).all(is_in))
            .collect();
        if more.is_empty() {
            break;
        }
        only.extend(more);
    }
    let names = program.functions().map(|(_, it)| it.name.as_str());
    names.filter(|name| only.contains(name)).collect()
}

struct Callers<'p> {
    program: &'p Program<'p>,
    calls: &'p CallIndex,
}

impl<'p> Callers<'p> {
    /// The functions that call `name`; `None` for a use by nobody known. What is called `main` in
    /// text that is not read is that of another program.
    fn of(&self, name: &str) -> impl Iterator<Item = Option<&'p str>> {
        let parsed = self.calls.calls_to(name).iter();
        let parsed = parsed.map(|site| caller(self.program, site.item));
        let is_seen = name == "main";
        let unread = self.calls.unread_users(self.program).users(name);
        let unread = unread.filter(move |_| !is_seen);
        let unread = unread.map(|user| match user {
            User::Function(name) => Some(&**name),
            User::Unknown => None,
        });
        let may_be_foreign = !is_seen && self.calls.may_be_called_foreign(name);
        let foreign = may_be_foreign.then_some(None);
        parsed.chain(unread).chain(foreign)
    }
}

fn caller<'p>(program: &'p Program<'_>, item: ItemId) -> Option<&'p str> {
    match &program.items[item.0 as usize].body {
        Some(Body::Function(function)) => Some(&function.name),
        Some(Body::Declaration(_)) | None => None,
    }
}
