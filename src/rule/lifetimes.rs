//! Functions of the package to which it matters how long their callers own something: those that ask
//! whether something is dead, after they may have taken the last reference out of a container, and
//! those that jump out of their callers.
//!
//! ```c
//! static void close(Cursor *self) {
//!     forget(self->connection->cursors, self);        /* the list lets the weak reference go */
//!     if (self->weakreflist != NULL)                  /* one that lives still is seen here */
//!         PyObject_ClearWeakRefs((PyObject *)self);
//! }
//! ```

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::PackageCx;
use super::destroyed::Destroyed;
use super::threads::spread;
use crate::ast::{ExprId, ExprKind, Function, Tree};
use crate::capi;
use crate::program::ItemId;
use crate::provenance;

/// What asks for weak references. What is dead by then is no matter to what only looks at one.
const ASKING: [&str; 2] = ["PyObject_ClearWeakRefs", "PyWeakref_GetWeakrefCount"];

/// Methods by which Python takes something out of a container.
const REMOVING: [&str; 6] = [
    "__delitem__",
    "clear",
    "discard",
    "pop",
    "popitem",
    "remove",
];

/// How a function asks whether something is dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// For weak references to it.
    WeakReferences,
    /// It reads what a destructor of the package writes.
    Destroyed,
}

/// The functions by name.
#[derive(Debug, Default)]
pub struct Lifetimes {
    /// Those that take something out, and ask for weak references.
    asking: BTreeSet<Box<str>>,
    /// A method of these, which Python code may call.
    method: Option<Box<str>>,
    /// Those that take something out, and read what a destructor writes.
    reading: BTreeSet<Box<str>>,
    /// Those that may jump out of their callers: what these own is not released.
    jumping: BTreeSet<Box<str>>,
}

impl Lifetimes {
    pub(super) fn new(cx: &PackageCx<'_>) -> Self {
        let items = |holds: &dyn Fn(&Tree) -> bool| -> BTreeSet<ItemId> {
            let items = (0u32..).map(ItemId).take(cx.program.items.len());
            let functions = items.filter_map(|item| Some((item, cx.function(item)?)));
            let those = functions.filter(|(_, function)| holds(&function.tree));
            those.map(|(item, _)| item).collect()
        };
        let is_seed = |seeds: &BTreeSet<ItemId>, function: &Function| {
            let mut own = cx.definitions(&function.name).map(|(item, _)| item);
            own.any(|item| seeds.contains(&item))
        };
        let reaching = |seeds: BTreeSet<ItemId>| {
            spread(cx, &[], seeds.clone(), |function, known| {
                let mut calls = function.tree.calls();
                is_seed(&seeds, function) || calls.any(|(_, name)| known.contains(name))
            })
        };
        let removing = LazyCell::new(|| reaching(items(&removes)));
        let both = |seeds: BTreeSet<ItemId>| match seeds.is_empty() {
            true => BTreeSet::new(),
            false => reaching(seeds).intersection(&removing).cloned().collect(),
        };
        let asking: BTreeSet<Box<str>> = both(items(&asks));
        let destroyed = Destroyed::new(cx);
        Self {
            method: asking.iter().find(|name| is_method(cx, name)).cloned(),
            asking,
            reading: both(items(&|tree| destroyed.is_read_in(tree))),
            jumping: jumping(cx),
        }
    }

    /// Whether a call of `name` may not come back, but go on where a caller called `setjmp`.
    #[must_use]
    pub fn may_jump(&self, name: &str) -> bool {
        capi::jumps(name) || self.jumping.contains(name)
    }

    /// A function that a call of `name`, or of a pointer, may get to, and that takes something out of
    /// a container and asks whether something is dead, and how.
    #[must_use]
    pub fn asked_by<'s>(
        &'s self,
        cx: &PackageCx<'_>,
        name: Option<&str>,
    ) -> Option<(&'s str, Asks)> {
        let own = name.filter(|name| cx.definitions(name).next().is_some());
        let by_python = || {
            let effects = name.and_then(capi::effects);
            let runs_python = effects.is_none_or(|effects| effects.runs_python);
            self.method.as_deref().filter(|_| runs_python)
        };
        let weak = match own {
            Some(name) => self.asking.get(name).map(|name| &**name),
            None => by_python(),
        };
        let reading = || Some((&**self.reading.get(own?)?, Asks::Destroyed));
        weak.map(|name| (name, Asks::WeakReferences))
            .or_else(reading)
    }
}

/// The functions that may jump out of their callers: those that call `longjmp`, or such a function,
/// unless the jump may go back into themselves.
fn jumping(cx: &PackageCx<'_>) -> BTreeSet<Box<str>> {
    let jumps = |function: &Function, known: &dyn Fn(&str) -> bool| {
        let calls = || function.tree.calls().map(|(_, name)| name);
        calls().any(|name| capi::jumps(name) || known(name)) && !calls().any(capi::is_jumped_to)
    };
    let all = cx
        .program
        .items
        .iter()
        .zip(0u32..)
        .map(|(_, at)| ItemId(at));
    let seeds = all.filter(|&item| cx.function(item).is_some_and(|it| jumps(it, &|_| false)));
    spread(cx, &[], seeds.collect(), |function, known| {
        jumps(function, &|name| known.contains(name))
    })
}

/// Whether Python calls the function while its object lives.
fn is_method(cx: &PackageCx<'_>, name: &str) -> bool {
    let roles = cx.roles().into_iter();
    let mut roles = roles.flat_map(|roles| {
        let functions = cx.definitions(name);
        functions.flat_map(move |(item, function)| roles.of(cx.item(item), function))
    });
    roles.any(|role| !role.is_destructor() && !role.is_traverse())
}

/// Whether a function asks for the weak references to an object: by the C API, or by reading the
/// field with the list of them.
fn asks(tree: &Tree) -> bool {
    let mut exprs = tree.expr_ids();
    tree.calls().any(|(_, name)| ASKING.contains(&name)) || exprs.any(|expr| reads_list(tree, expr))
}

fn reads_list(tree: &Tree, expr: ExprId) -> bool {
    let is_list = |expr: ExprId| {
        matches!(&tree.expr(expr).kind, ExprKind::Member { field, .. }
            if field.contains("weakref") || field.contains("weaklist"))
    };
    // `self->weakreflist = NULL;` sets it.
    match &tree.expr(expr).kind {
        ExprKind::Binary { lhs, rhs, .. } => is_list(*lhs) || is_list(*rhs),
        ExprKind::Unary { operand, .. } => is_list(*operand),
        _ => false,
    }
}

/// Whether a function takes something out of a container.
fn removes(tree: &Tree) -> bool {
    let is_removal = |call: ExprId| {
        let texts = tree.call(call).map_or(&[][..], |(_, args)| args);
        let mut texts = texts
            .iter()
            .filter_map(|&arg| tree.as_string(tree.without_casts(arg)));
        texts.any(|text| REMOVING.iter().any(|name| text == name.as_bytes()))
    };
    let mut calls = tree.calls();
    calls.any(|(call, name)| {
        provenance::may_remove(name) || name.starts_with("PyObject_CallMethod") && is_removal(call)
    })
}
