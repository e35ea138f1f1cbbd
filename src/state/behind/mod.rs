//! What functions read and write of the memory that their parameters lead to.
//!
//! ```c
//! static node *find(tree *t, int key)         /* reads what `t` leads to, and gives a part of it */
//! {
//!     node *at = t->head;
//!     while (at != NULL && at->key != key)
//!         at = at->next;
//!     return at;
//! }
//!
//! static PyObject *count(Tree *self, PyObject *arg)
//! {
//!     find(self->tree, 1)->count++;           /* writes behind the field `tree` of `self` */
//! ```
//!
//! Every path counts, and no order of statements. A pointer is followed through variables, casts, sums,
//! members, elements, loads, parameters and results. What a pointer to an object leads to is the state of
//! that object, not of the one that holds the pointer.

mod code;
mod outside;
mod trace;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::locks::Locks;
use crate::ast::{LocalId, Type, TypeKind};
use crate::facts::guarded_fields;
use crate::program::ItemId;
use crate::rule::PackageCx;
use code::{Code, struct_of};
use trace::Trace;

/// A field of a struct that may be an object, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Field(u32);

/// Memory that the caller of a function gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Spot {
    /// The parameter that leads there.
    pub(super) param: usize,
    /// The field of that object, or by which one gets from there to the memory.
    pub(super) field: Option<Field>,
    /// Whether it is what a pointer there leads to, or anything that can be reached from that.
    pub(super) behind: bool,
}

impl Spot {
    /// What parameter `param` points to.
    const fn of(param: usize) -> Self {
        Self {
            param,
            field: None,
            behind: false,
        }
    }

    const fn behind(self) -> Self {
        Self {
            behind: true,
            ..self
        }
    }

    /// The same memory as a caller sees it that gives what is at `self`.
    fn of_caller(self, given: Self) -> Self {
        Self {
            param: given.param,
            field: given.field.or_else(|| self.field.filter(|_| !given.behind)),
            behind: given.behind || self.behind,
        }
    }
}

/// Memory that a pointer of a function leads into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Region {
    Given(Spot),
    /// A variable of the function.
    Own(LocalId),
}

type Regions = BTreeSet<Region>;

/// A use of memory that the caller gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Access {
    pub(super) spot: Spot,
    pub(super) how: How,
}

/// How memory is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum How {
    Reads,
    /// A function gets it that was not read, and of which no table says what it does.
    MayWrite,
    Writes,
}

/// What a function does with the memory that its parameters lead to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Summary {
    pub(super) accesses: BTreeSet<Access>,
    /// Where the pointer may lead that it gives back.
    result: BTreeSet<Spot>,
    /// Where pointers lead that it stores in memory of a parameter.
    stores: BTreeMap<usize, BTreeSet<Spot>>,
}

/// Functions with the structs that they take, by the number of their parameters.
type Pointed = BTreeMap<usize, Vec<(ItemId, Vec<Option<String>>)>>;

/// The functions of a package that may be looked at, and what was found of them.
pub(super) struct Behind<'c, 'a> {
    cx: &'c PackageCx<'a>,
    locks: Locks<'c, 'a>,
    /// Structs and fields at which a comment names the lock.
    guarded: BTreeSet<(String, String)>,
    fields: Vec<(String, String)>,
    numbers: FxHashMap<(String, String), Field>,
    /// The parameters of functions that are only declared.
    declared: FxHashMap<&'a str, &'a [Type]>,
    /// The functions of which something else than a call has the address.
    pointed: Pointed,
    summaries: FxHashMap<ItemId, Summary>,
}

impl<'c, 'a> Behind<'c, 'a> {
    /// Looks at `entries` and at all that they call. All items must have been parsed.
    pub(super) fn new(cx: &'c PackageCx<'a>, entries: impl IntoIterator<Item = ItemId>) -> Self {
        let files = cx.program.files.iter();
        let mut behind = Self {
            cx,
            locks: Locks::new(cx),
            guarded: files.flat_map(|(_, file)| guarded_fields(file)).collect(),
            fields: Vec::new(),
            numbers: FxHashMap::default(),
            declared: declared(cx),
            pointed: pointed(cx),
            summaries: FxHashMap::default(),
        };
        let codes = behind.codes(entries.into_iter().collect());
        behind.solve(&codes);
        behind
    }

    /// What is known of a function.
    pub(super) fn of(&self, item: ItemId) -> Option<&Summary> {
        self.summaries.get(&item)
    }

    /// The struct and the field.
    pub(super) fn field(&self, field: Field) -> (&str, &str) {
        let (owner, name) = &self.fields[field.0 as usize];
        (owner, name)
    }

    fn number(&mut self, owner: &str, name: &str) -> Field {
        let key = (owner.to_owned(), name.to_owned());
        *self.numbers.entry(key).or_insert_with_key(|key| {
            self.fields.push(key.clone());
            Field(u32::try_from(self.fields.len() - 1).expect("fewer fields than bytes"))
        })
    }

    /// Whether a comment at the field names the lock that all who use it hold.
    fn is_guarded(&self, owner: &str, name: &str) -> bool {
        let owner = owner.strip_prefix("struct ").unwrap_or(owner);
        self.guarded.contains(&(owner.to_owned(), name.to_owned()))
    }

    /// The functions of the package that a call of `name` in `item` may mean.
    fn callees(&self, item: ItemId, name: &str) -> Vec<ItemId> {
        let unit = self.cx.item(item).unit;
        let all = self.cx.definitions(name).filter(|(id, function)| {
            let other = self.cx.item(*id);
            !other.needs_gil && (!function.is_static || other.unit == unit)
        });
        all.map(|(id, _)| id).collect()
    }

    /// The functions that are reached from `open`.
    fn codes(&mut self, mut open: Vec<ItemId>) -> Vec<Code<'a>> {
        let mut seen: FxHashSet<ItemId> = open.iter().copied().collect();
        let mut codes = Vec::new();
        while let Some(item) = open.pop() {
            let Some(function) = self.cx.function(item) else {
                continue;
            };
            let code = Code::new(self, item, function);
            open.extend(code.callees().filter(|&callee| seen.insert(callee)));
            codes.push(code);
        }
        codes
    }

    /// Looks at functions again until nothing new is found of those that they call.
    fn solve(&mut self, codes: &[Code<'a>]) {
        let mut callers: FxHashMap<ItemId, Vec<usize>> = FxHashMap::default();
        for (at, code) in codes.iter().enumerate() {
            for callee in code.callees() {
                callers.entry(callee).or_default().push(at);
            }
        }
        // Those that were met last are called by others.
        let mut open: BTreeSet<usize> = (0..codes.len()).collect();
        while let Some(at) = open.pop_last() {
            let code = &codes[at];
            let summary = Trace::of(self, code);
            // What was found of it stays, so that this comes to an end.
            let known = self.summaries.entry(code.item).or_default();
            if known.add(summary) {
                open.extend(callers.get(&code.item).into_iter().flatten());
            }
        }
    }
}

impl Summary {
    /// Adds what another look gives; whether that is new.
    fn add(&mut self, other: Self) -> bool {
        let size = |it: &Self| {
            let stored: usize = it.stores.values().map(BTreeSet::len).sum();
            it.accesses.len() + it.result.len() + stored
        };
        let before = size(self);
        self.accesses.extend(other.accesses);
        self.result.extend(other.result);
        for (param, spots) in other.stores {
            self.stores.entry(param).or_default().extend(spots);
        }
        size(self) > before
    }
}

fn declared<'a>(cx: &PackageCx<'a>) -> FxHashMap<&'a str, &'a [Type]> {
    let mut found = FxHashMap::default();
    for (_, declaration) in cx.program.declarations() {
        for declarator in &declaration.declarators {
            if let TypeKind::Function(_, params) = &declarator.ty.kind {
                found.insert(declarator.name.as_str(), params.as_slice());
            }
        }
    }
    found
}

fn pointed(cx: &PackageCx<'_>) -> Pointed {
    let mut found = Pointed::new();
    let index = cx.call_index();
    for (item, at) in cx.program.items.iter().zip(0u32..) {
        let id = ItemId(at);
        let Some(function) = cx.function(id).filter(|_| !item.needs_gil) else {
            continue;
        };
        let mut roles = cx
            .roles()
            .into_iter()
            .flat_map(|roles| roles.of(item, function));
        if index.is_mentioned(&function.name) && roles.next().is_none() {
            let params = function.params.iter();
            let types = params.map(|&param| struct_of(cx.types(), &function.tree.local(param).ty));
            let own = (id, types.collect());
            found.entry(function.params.len()).or_default().push(own);
        }
    }
    found
}
