//! Fields of objects that methods change, and the methods that use them without a lock.

use std::collections::{BTreeMap, BTreeSet};

use super::locks::Locks;
use super::own::Own;
use super::writes::Writers;
use crate::ast::{ExprId, ExprKind, Function, Tree};
use crate::facts::guarded_fields;
use crate::program::{Body, ItemId};
use crate::roles::Role;
use crate::rule::PackageCx;

/// How many calls deep an object is followed.
const MAX_DEPTH: u32 = 5;

/// The state of the objects of one C type that threads share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectState {
    /// The struct, as methods name it.
    pub type_name: String,
    /// The fields that methods change.
    pub fields: BTreeSet<String>,
    /// The methods that use one of them without a lock, in order of their items.
    pub methods: Vec<Method>,
}

/// A function that Python calls on an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Method {
    /// The function.
    pub item: ItemId,
    /// The fields that it changes.
    pub writes: BTreeSet<String>,
    /// Those that it only reads.
    pub reads: BTreeSet<String>,
    /// The parameters that are objects with these fields; the first one as a rule.
    pub objects: BTreeSet<usize>,
}

/// A use of a field of an object that a method gets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Access {
    type_name: String,
    field: String,
    writes: bool,
    /// The parameter that is the object.
    param: usize,
}

/// The types of the package whose methods change fields without a lock, by name.
///
/// All items must have been parsed.
#[must_use]
pub fn object_states(cx: &PackageCx<'_>) -> Vec<ObjectState> {
    let follower = Follower {
        cx,
        locks: Locks::new(cx),
        writers: Writers::new(cx.program),
        guarded: cx
            .program
            .files
            .iter()
            .flat_map(|(_, file)| guarded_fields(file))
            .collect(),
    };
    let mut methods: BTreeMap<String, Vec<(ItemId, BTreeSet<Access>, bool)>> = BTreeMap::new();
    for entry in entries(cx) {
        let accesses = follower.accesses(&entry);
        let called_on = accesses.iter().filter(|a| a.param < entry.called_on);
        let types: BTreeSet<String> = called_on.map(|a| a.type_name.clone()).collect();
        for name in types {
            let own = accesses.iter().filter(|a| a.type_name == name).cloned();
            let entry = (entry.item, own.collect(), entry.is_hash);
            methods.entry(name).or_default().push(entry);
        }
    }
    methods
        .into_iter()
        .filter_map(|(type_name, methods)| state(type_name, &methods))
        .collect()
}

fn state(type_name: String, methods: &[(ItemId, BTreeSet<Access>, bool)]) -> Option<ObjectState> {
    // A hash that is kept when it was asked for is the same number whoever writes it.
    let writing = methods.iter().filter(|(_, _, is_hash)| !is_hash);
    let written = writing
        .flat_map(|(_, accesses, _)| accesses)
        .filter(|access| access.writes);
    let fields: BTreeSet<String> = written.map(|access| access.field.clone()).collect();
    let of = |accesses: &BTreeSet<Access>, writes| -> BTreeSet<String> {
        let those = accesses.iter().filter(|access| access.writes == writes);
        those
            .map(|a| a.field.clone())
            .filter(|field| fields.contains(field))
            .collect()
    };
    let methods: Vec<Method> = methods
        .iter()
        .map(|(item, accesses, _)| {
            let writes = of(accesses, true);
            let reads = of(accesses, false).difference(&writes).cloned().collect();
            let used = accesses.iter().filter(|a| fields.contains(&a.field));
            Method {
                item: *item,
                writes,
                reads,
                objects: used.map(|access| access.param).collect(),
            }
        })
        .filter(|method| !method.writes.is_empty() || !method.reads.is_empty())
        .collect();
    (!methods.is_empty()).then_some(ObjectState {
        type_name,
        fields,
        methods,
    })
}

/// A function that Python calls on an object that others may have.
struct Entry<'a> {
    item: ItemId,
    function: &'a Function,
    /// Whether it asks for the hash.
    is_hash: bool,
    /// How many parameters may be the object: two of `nb_add`.
    called_on: usize,
}

fn entries<'a>(cx: &PackageCx<'a>) -> Vec<Entry<'a>> {
    let Some(roles) = cx.roles() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (item, at) in cx.program.items.iter().zip(0u32..) {
        let Some(Body::Function(function)) = &item.body else {
            continue;
        };
        let of = roles.of(item, function).filter(|role| is_shared(role));
        let of: Vec<&Role> = of.collect();
        if item.needs_gil || of.is_empty() {
            continue;
        }
        let mut all = of.iter();
        found.push(Entry {
            item: ItemId(at),
            function,
            is_hash: all.all(|role| matches!(role, Role::Slot(slot) if &**slot == "tp_hash")),
            called_on: 1 + usize::from(of.iter().any(|role| role.is_binary())),
        });
    }
    found
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

/// The way of one object through the functions that it is handed to.
struct Walk<'w> {
    /// The parameter that it came in by.
    param: usize,
    seen: BTreeSet<(ItemId, usize)>,
    accesses: &'w mut BTreeSet<Access>,
}

struct Follower<'c, 'a> {
    cx: &'c PackageCx<'a>,
    locks: Locks<'c, 'a>,
    writers: Writers,
    /// Structs and their fields.
    guarded: BTreeSet<(String, String)>,
}

impl<'a> Follower<'_, 'a> {
    /// What a function does without a lock to the objects that it gets.
    fn accesses(&self, entry: &Entry<'a>) -> BTreeSet<Access> {
        let mut accesses = BTreeSet::new();
        for param in 0..entry.function.params.len() {
            let mut walk = Walk {
                param,
                seen: BTreeSet::new(),
                accesses: &mut accesses,
            };
            self.follow(entry.item, entry.function, param, MAX_DEPTH, &mut walk);
        }
        accesses
    }

    /// Adds what `function` does without a lock to the object that it gets as parameter `param`.
    fn follow(
        &self,
        item: ItemId,
        function: &'a Function,
        param: usize,
        depth: u32,
        walk: &mut Walk<'_>,
    ) {
        if !walk.seen.insert((item, param)) {
            return;
        }
        let Some(own) = Own::new(function, param) else {
            return;
        };
        let tree = &function.tree;
        let written = self.written(tree, &own);
        for id in tree.expr_ids() {
            if let Some((type_name, field)) = own.field(tree, id)
                && is_data(field)
                && !self.is_guarded(type_name, field)
                && !self.locks.is_held(item, id)
            {
                walk.accesses.insert(Access {
                    type_name: type_name.to_owned(),
                    field: field.to_owned(),
                    writes: written.contains(&id),
                    param: walk.param,
                });
            }
            if depth > 0 {
                for (callee, at) in self.callees(item, function, &own, id) {
                    let Some(function) = self.cx.function(callee) else {
                        continue;
                    };
                    self.follow(callee, function, at, depth - 1, walk);
                }
            }
        }
    }

    /// Whether a comment at the field names the lock that all who use it hold.
    fn is_guarded(&self, type_name: &str, field: &str) -> bool {
        let name = type_name.strip_prefix("struct ").unwrap_or(type_name);
        self.guarded.contains(&(name.to_owned(), field.to_owned()))
    }

    /// The field expressions that are written.
    fn written(&self, tree: &Tree, own: &Own) -> BTreeSet<ExprId> {
        let mut written = BTreeSet::new();
        for id in tree.expr_ids() {
            for place in self.writers.places(tree, id) {
                written.extend(own.field_behind(tree, place));
            }
        }
        written
    }

    /// The functions of the package that a call hands the object to, and as which parameter.
    fn callees(
        &self,
        item: ItemId,
        function: &Function,
        own: &Own,
        id: ExprId,
    ) -> Vec<(ItemId, usize)> {
        let tree = &function.tree;
        let ExprKind::Call { callee, args } = &tree.expr(id).kind else {
            return Vec::new();
        };
        let Some(name) = tree.callee_name(*callee) else {
            return Vec::new();
        };
        let given: Vec<usize> = (0..args.len())
            .filter(|&at| own.is_object(tree, args[at]))
            .collect();
        if given.is_empty() || self.locks.is_held(item, id) {
            return Vec::new();
        }
        let unit = self.cx.item(item).unit;
        let definitions = self
            .cx
            .definitions(name)
            .filter(|(id, function)| !function.is_static || self.cx.item(*id).unit == unit);
        let each = definitions.flat_map(|(id, _)| given.iter().map(move |&at| (id, at)));
        each.collect()
    }
}

/// Whether a field may be state: no lock, no counter of references.
fn is_data(field: &str) -> bool {
    let lower = field.to_ascii_lowercase();
    !lower.contains("lock") && !lower.contains("mutex") && !field.starts_with("ob_")
}
