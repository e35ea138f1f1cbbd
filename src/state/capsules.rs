//! State that Python knows as a capsule, or as a number that is its address.
//!
//! ```c
//! static PyObject *
//! client_step(PyObject *module, PyObject *capsule)
//! {
//!     client *state = PyCapsule_GetPointer(capsule, NULL);
//!     free(state->response);            /* two threads may have the capsule */
//!     state->response = NULL;
//! ```

use std::collections::BTreeSet;

use super::libraries::{call_text, is_library};
use super::locks::Locks;
use super::own::values;
use super::writes::Writers;
use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, StmtKind, Tree, UnaryOp};
use crate::program::Types;
use crate::roles::Role;
use crate::rule::{ItemId, PackageCx};
use crate::source::FileId;

/// Functions that return the pointer.
const SOURCES: &[&str] = &[
    "PyCapsule_GetPointer",
    "PyCObject_AsVoidPtr",
    "PyLong_AsVoidPtr",
];

/// The functions that write what is behind a capsule without a lock, or that get it and are not
/// seen, with the file of the code that writes or calls. Destructors are left out: nobody else has
/// the capsule then.
#[must_use]
pub fn capsule_uses(cx: &PackageCx<'_>) -> BTreeSet<(FileId, String)> {
    let follower = Follower {
        cx,
        sources: sources(cx),
        locks: Locks::new(cx),
        types: cx.types(),
        writers: Writers::new(cx.program),
    };
    let destructors = destructors(cx);
    let items = (0u32..).map(ItemId).take(cx.program.items.len());
    let functions = items.filter(|&id| {
        cx.function(id).is_some_and(|function| {
            !destructors.contains(function.name.as_str()) && !is_init(cx, id, function)
        })
    });
    let mut work: Vec<(ItemId, Option<usize>)> = functions.map(|id| (id, None)).collect();
    let mut seen = BTreeSet::new();
    let mut found = BTreeSet::new();
    while let Some((item, param)) = work.pop() {
        if seen.insert((item, param))
            && let Some(function) = cx.function(item)
        {
            follower.follow(item, function, param, &mut work, &mut found);
        }
    }
    found
}

fn is_init(cx: &PackageCx<'_>, id: ItemId, function: &Function) -> bool {
    let roles = cx.roles().map(|roles| roles.of(cx.item(id), function));
    roles.is_some_and(|mut roles| roles.any(|role| matches!(role, Role::ModuleInit)))
}

/// [`SOURCES`], and the functions of the package that return what one of them returned.
fn sources(cx: &PackageCx<'_>) -> BTreeSet<String> {
    let mut sources: BTreeSet<String> = SOURCES.iter().map(|&name| name.to_owned()).collect();
    loop {
        let known = sources.len();
        let functions = cx.program.functions();
        let more: Vec<String> = functions
            .filter(|(_, function)| returns_pointer(&function.tree, &sources))
            .map(|(_, function)| function.name.clone())
            .collect();
        sources.extend(more);
        if sources.len() == known {
            return sources;
        }
    }
}

fn returns_pointer(tree: &Tree, sources: &BTreeSet<String>) -> bool {
    let pointers = Pointers::new(tree, sources, None);
    tree.stmts.iter().any(
        |stmt| matches!(stmt.kind, StmtKind::Return(Some(value)) if pointers.is_pointer(value)),
    )
}

/// The functions that capsules are made with, to release what they hold.
fn destructors<'a>(cx: &PackageCx<'a>) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    for (_, function) in cx.program.functions() {
        let tree = &function.tree;
        for (id, name) in tree.calls() {
            let at = match name {
                "PyCObject_FromVoidPtr" => 1,
                "PyCapsule_New" | "PyCObject_FromVoidPtrAndDesc" => 2,
                _ => continue,
            };
            if let ExprKind::Call { args, .. } = &tree.expr(id).kind
                && let Some(&arg) = args.get(at)
            {
                found.extend(tree.callee_name(tree.without_casts(arg)));
            }
        }
    }
    found
}

/// The variables of a function that hold pointers from capsules.
struct Pointers<'f> {
    tree: &'f Tree,
    sources: &'f BTreeSet<String>,
    locals: BTreeSet<LocalId>,
}

impl<'f> Pointers<'f> {
    fn new(tree: &'f Tree, sources: &'f BTreeSet<String>, param: Option<LocalId>) -> Self {
        let mut pointers = Self {
            tree,
            sources,
            locals: param.into_iter().collect(),
        };
        let calls_source = tree.calls().any(|(_, name)| sources.contains(name));
        if param.is_none() && !calls_source {
            return pointers;
        }
        let values = values(tree);
        loop {
            let known = pointers.locals.len();
            let is_more = |all: &[ExprId]| all.iter().any(|&value| pointers.is_pointer(value));
            let more = values.iter().filter(|(_, all)| is_more(all));
            let more: Vec<LocalId> = more.map(|(&local, _)| local).collect();
            pointers.locals.extend(more);
            if pointers.locals.len() == known {
                return pointers;
            }
        }
    }

    fn is_pointer(&self, expr: ExprId) -> bool {
        match &self.tree.expr(self.tree.without_casts(expr)).kind {
            ExprKind::Name(Name::Local(local)) => self.locals.contains(local),
            ExprKind::Call { callee, .. } => {
                let name = self.tree.callee_name(*callee);
                name.is_some_and(|name| self.sources.contains(name))
            }
            _ => false,
        }
    }

    /// Whether `expr` is reached through such a pointer: `state->response`, `&state->context`.
    fn is_behind(&self, expr: ExprId) -> bool {
        match &self.tree.expr(expr).kind {
            ExprKind::Member {
                base, arrow: true, ..
            }
            | ExprKind::Index { base, .. }
            | ExprKind::Unary {
                op: UnaryOp::Deref,
                operand: base,
            } => self.is_pointer(*base) || self.is_behind(*base),
            ExprKind::Member { base, .. }
            | ExprKind::Cast { operand: base, .. }
            | ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand: base,
            } => self.is_behind(*base),
            _ => false,
        }
    }
}

struct Follower<'c, 'a> {
    cx: &'c PackageCx<'a>,
    sources: BTreeSet<String>,
    locks: Locks<'c, 'a>,
    types: &'c Types<'a>,
    writers: Writers,
}

impl Follower<'_, '_> {
    /// What `function` does to what is behind the capsules it opens, or behind its parameter
    /// `param`; adds the functions that it hands a pointer to `work`.
    fn follow(
        &self,
        item: ItemId,
        function: &Function,
        param: Option<usize>,
        work: &mut Vec<(ItemId, Option<usize>)>,
        found: &mut BTreeSet<(FileId, String)>,
    ) {
        let tree = &function.tree;
        let param = param.and_then(|at| function.params.get(at).copied());
        let pointers = Pointers::new(tree, &self.sources, param);
        let file = self.cx.item(item).place.0;
        for (at, expr) in (0u32..).map(ExprId).zip(&tree.exprs) {
            let is_call = matches!(expr.kind, ExprKind::Call { .. });
            let is_written = |&place: &ExprId| {
                pointers.is_behind(place) || is_call && pointers.is_pointer(place)
            };
            if self.writers.places(tree, at).iter().any(is_written) && !self.locks.is_held(item, at)
            {
                found.insert((file, function.name.clone()));
            }
            if let ExprKind::Call { callee, args } = &expr.kind
                && args.iter().any(|&arg| self.is_handed(&pointers, arg))
                && !self.locks.is_held(item, at)
            {
                let name = tree.callee_name(*callee);
                let known = name.is_some_and(|name| self.cx.definitions(name).next().is_some());
                if let Some(name) = name.filter(|_| known) {
                    let given = (0..args.len()).filter(|&at| self.is_handed(&pointers, args[at]));
                    let given: Vec<usize> = given.collect();
                    work.extend(self.callees(item, name, &given));
                } else if name.is_none_or(is_library) {
                    found.insert((file, call_text(self.cx, item, *callee)));
                }
            }
        }
    }

    /// Whether an argument lets the callee reach what is behind a capsule.
    fn is_handed(&self, pointers: &Pointers<'_>, arg: ExprId) -> bool {
        let is_value = |ty| self.types.is_number(ty) || self.types.is_object_pointer(ty);
        (pointers.is_pointer(arg) || pointers.is_behind(arg))
            && !self.types.of(pointers.tree, arg).is_some_and(is_value)
    }

    fn callees(&self, item: ItemId, name: &str, given: &[usize]) -> Vec<(ItemId, Option<usize>)> {
        let unit = self.cx.item(item).unit;
        let own = self.cx.definitions(name);
        let own = own.filter(|(id, f)| !f.is_static || self.cx.item(*id).unit == unit);
        own.flat_map(|(id, _)| given.iter().map(move |&at| (id, Some(at))))
            .collect()
    }
}
