//! Library functions that methods hand state of their object to.
//!
//! ```c
//! static PyObject *
//! Hash_update(Hash *self, PyObject *data)
//! {
//!     XXH32_update(self->state, …);     /* may write it; nobody here sees */
//! ```

use std::collections::BTreeSet;

use super::fields::entries;
use super::locks::Locks;
use super::own::Own;
use crate::ast::{ExprId, ExprKind, Function, Tree};
use crate::rule::{ItemId, PackageCx};
use crate::source::FileId;

/// Functions of the C library, by how their names begin, whose writes are seen elsewhere, or which
/// write nothing.
const C_LIBRARY: &[&str] = &[
    "mem",
    "str",
    "wcs",
    "mb",
    "is",
    "to",
    "printf",
    "sprintf",
    "snprintf",
    "fprintf",
    "puts",
    "malloc",
    "calloc",
    "realloc",
    "free",
    "abs",
    "pow",
    "sqrt",
    "floor",
    "ceil",
    "__builtin_",
];

/// The functions of libraries that get a field of the object from a method, without a lock, with
/// the file of the method.
#[must_use]
pub fn library_calls(cx: &PackageCx<'_>) -> BTreeSet<(FileId, String)> {
    let locks = Locks::new(cx);
    let mut calls = BTreeSet::new();
    for (item, function, _) in entries(cx) {
        let Some(own) = Own::new(function, 0) else {
            continue;
        };
        let found = outside(cx, &locks, item, function, &own);
        calls.extend(found.map(|name| (cx.item(item).place.0, name.to_owned())));
    }
    calls
}

fn outside<'a>(
    cx: &'a PackageCx<'_>,
    locks: &'a Locks<'_, '_>,
    item: ItemId,
    function: &'a Function,
    own: &'a Own,
) -> impl Iterator<Item = &'a str> {
    let tree = &function.tree;
    let calls = (0u32..).zip(&tree.exprs);
    calls.filter_map(move |(at, expr)| {
        let ExprKind::Call { callee, args } = &expr.kind else {
            return None;
        };
        let name = tree.callee_name(*callee)?;
        let mut given = (0..args.len()).filter(|&at| is_field(tree, own, args[at]));
        let may_write = is_library(name) && given.any(|at| may_write(cx, name, at));
        (may_write && !locks.is_held(item, ExprId(at))).then_some(name)
    })
}

/// Whether a function of this name may write what its argument `at` points to: a library that
/// comes with the package takes a pointer that is not `const`; of others nothing is known.
fn may_write(cx: &PackageCx<'_>, name: &str, at: usize) -> bool {
    let mut definitions = cx.definitions(name).peekable();
    definitions.peek().is_none()
        || definitions.any(|(_, function)| {
            let param = function.params.get(at);
            let ty = param.map(|&param| &function.tree.local(param).ty);
            ty.filter(|ty| !ty.is_py_object_pointer())
                .and_then(|ty| ty.pointee())
                .is_some_and(|pointee| !pointee.is_const)
        })
}

fn is_field(tree: &Tree, own: &Own, arg: ExprId) -> bool {
    match &tree.expr(arg).kind {
        ExprKind::Cast { operand, .. } => is_field(tree, own, *operand),
        ExprKind::Unary { operand, .. } => is_field(tree, own, *operand),
        _ => own.field(tree, arg).is_some(),
    }
}

/// Whether a function of this name belongs neither to Python nor to the C library.
fn is_library(name: &str) -> bool {
    let of_python = name.trim_start_matches('_').starts_with("Py");
    !of_python && !C_LIBRARY.iter().any(|start| name.starts_with(start))
}
