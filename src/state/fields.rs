//! Fields of objects that methods change, and the methods that use them without a lock.

use std::collections::{BTreeMap, BTreeSet};

use super::behind::{Behind, How};
use super::pointees::{parts, pointee};
use crate::program::{Body, ItemId};
use crate::roles::Role;
use crate::rule::{Method, ObjectState, PackageCx};

/// A field, and whether it is what that leads to.
type Part = (String, bool);

/// A use of a field of an object that a method gets, or of what the field leads to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Access {
    type_name: String,
    part: Part,
    how: How,
    /// The parameter that is the object.
    param: usize,
}

/// What a method does with objects of one type.
struct Use {
    item: ItemId,
    of: Asks,
    accesses: BTreeSet<Access>,
}

/// The types of the package whose methods change fields without a lock, by name.
///
/// All items must have been parsed.
#[must_use]
pub fn object_states<'c>(cx: &'c PackageCx<'_>) -> &'c [ObjectState] {
    cx.object_states(find)
}

fn find(cx: &PackageCx<'_>) -> Vec<ObjectState> {
    let entries = entries(cx);
    let behind = Behind::new(cx, entries.iter().map(|entry| entry.item));
    let mut methods: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for entry in entries {
        let accesses = accesses(&behind, &entry);
        let called_on = accesses.iter().filter(|a| a.param < entry.called_on);
        let types: BTreeSet<String> = called_on.map(|a| a.type_name.clone()).collect();
        for name in types {
            let own = accesses.iter().filter(|a| a.type_name == name).cloned();
            let of = Use {
                item: entry.item,
                of: entry.asks,
                accesses: own.collect(),
            };
            methods.entry(name).or_default().push(of);
        }
    }
    let states = methods
        .iter()
        .filter_map(|(type_name, methods)| state(type_name.clone(), methods));
    let mut states: Vec<ObjectState> = states.collect();
    for state in &mut states {
        state.sharing = sharing(cx, state, &methods);
    }
    states
}

/// The methods of other types that get to memory of the kind that the methods of `state` change.
fn sharing(
    cx: &PackageCx<'_>,
    state: &ObjectState,
    methods: &BTreeMap<String, Vec<Use>>,
) -> BTreeSet<ItemId> {
    let types = cx.types();
    let parts = parts(types, &state.type_name, &state.behind);
    let is_shared = |access: &Access| {
        let (field, is_behind) = &access.part;
        let to = pointee(types, &access.type_name, field).filter(|_| *is_behind);
        to.is_some_and(|to| parts.contains(&to))
    };
    let own: BTreeSet<ItemId> = state.methods.iter().map(|method| method.item).collect();
    let others = methods.values().flatten();
    let others = others.filter(|it| !own.contains(&it.item) && it.of == Asks::Anything);
    let others = others.filter(|it| it.accesses.iter().any(is_shared));
    others.map(|it| it.item).collect()
}

fn accesses(behind: &Behind<'_, '_>, entry: &Entry) -> BTreeSet<Access> {
    let all = behind.of(entry.item).into_iter();
    let all = all.flat_map(|summary| &summary.accesses);
    let named = all.filter_map(|access| {
        let (owner, field) = behind.field(access.spot.field?);
        Some(Access {
            type_name: owner.to_owned(),
            part: (field.to_owned(), access.spot.behind),
            how: access.how,
            param: access.spot.param,
        })
    });
    named.collect()
}

fn state(type_name: String, methods: &[Use]) -> Option<ObjectState> {
    // What has a hash keeps its value: a function that was not read only looks at it.
    let least = match methods.iter().any(|method| method.of == Asks::Hash) {
        true => How::Writes,
        false => How::MayWrite,
    };
    let parts = |asks: Asks, writes: bool| -> BTreeSet<Part> {
        let those = methods.iter().filter(|method| method.of == asks);
        let all = those.flat_map(|method| &method.accesses);
        let all = all.filter(|access| (access.how >= least) == writes);
        all.map(|access| access.part.clone()).collect()
    };
    // A hash that is kept when it was asked for is the same number whoever writes it.
    let changed = parts(Asks::Anything, true);
    if changed.is_empty() {
        return None;
    }
    let used = &parts(Asks::Anything, false) | &parts(Asks::Hash, false);
    let filled = &parts(Asks::Init, true) & &used;
    let shared = &changed | &filled;
    let methods = methods.iter().map(|method| used_by(method, &shared, least));
    let methods: Vec<Method> = methods
        .filter(|method| !method.writes.is_empty() || !method.reads.is_empty())
        .collect();
    let fields = names(changed.iter());
    Some(ObjectState {
        type_name,
        set: names(changed.iter().filter(|(_, behind)| !behind)),
        behind: names(changed.iter().filter(|(_, behind)| *behind)),
        by_init: &names(filled.iter()) - &fields,
        fields,
        methods,
        sharing: BTreeSet::new(),
    })
}

fn used_by(method: &Use, shared: &BTreeSet<Part>, least: How) -> Method {
    let used = method.accesses.iter();
    let used = || used.clone().filter(|access| shared.contains(&access.part));
    let of = |writes| {
        names(
            used()
                .filter(|it| (it.how >= least) == writes)
                .map(|it| &it.part),
        )
    };
    let writes = of(true);
    Method {
        item: method.item,
        is_init: method.of == Asks::Init,
        reads: &of(false) - &writes,
        writes,
        objects: used().map(|access| access.param).collect(),
    }
}

fn names<'p>(parts: impl Iterator<Item = &'p Part>) -> BTreeSet<String> {
    parts.map(|(field, _)| field.clone()).collect()
}

/// What Python asks a function for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    Anything,
    Hash,
    /// To fill an object, which others may have if Python code calls `__init__` again.
    Init,
}

/// A function that Python calls on an object that others may have.
struct Entry {
    item: ItemId,
    asks: Asks,
    /// How many parameters may be the object: two of `nb_add`.
    called_on: usize,
}

fn entries(cx: &PackageCx<'_>) -> Vec<Entry> {
    let Some(roles) = cx.roles() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (item, at) in cx.program.items.iter().zip(0u32..) {
        let Some(Body::Function(function)) = &item.body else {
            continue;
        };
        let of: Vec<&Role> = roles.of(item, function).collect();
        let Some(asks) = asks(&of).filter(|_| !item.needs_gil) else {
            continue;
        };
        found.push(Entry {
            item: ItemId(at),
            asks,
            called_on: 1 + usize::from(of.iter().any(|role| role.is_binary())),
        });
    }
    found
}

fn asks(of: &[&Role]) -> Option<Asks> {
    let is_slot = |role: &Role, name: &str| matches!(role, Role::Slot(slot) if &**slot == name);
    let mut shared = of.iter().filter(|role| is_shared(role));
    match shared.clone().next() {
        Some(_) if shared.all(|role| is_slot(role, "tp_hash")) => Some(Asks::Hash),
        Some(_) => Some(Asks::Anything),
        None if of.iter().any(|role| is_slot(role, "tp_init")) => Some(Asks::Init),
        None => None,
    }
}

/// Whether Python calls a function of this role on an object that other threads may have.
#[must_use]
pub fn is_shared(role: &Role) -> bool {
    const ALONE: &[&str] = &[
        "tp_new",
        "tp_init",
        "tp_alloc",
        "tp_free",
        "tp_dealloc",
        "tp_clear",
        "tp_traverse",
        "tp_finalize",
        "tp_del",
        "tp_is_gc",
    ];
    match role {
        Role::Method(_) | Role::Getter | Role::Setter => true,
        Role::Slot(slot) => {
            let slot = &**slot;
            let is_type = ["tp_", "sq_", "mp_", "am_", "bf_", "nb_"]
                .iter()
                .any(|prefix| slot.starts_with(prefix));
            is_type && !ALONE.contains(&slot)
        }
        Role::ModuleInit | Role::AtImport(_) => false,
    }
}
