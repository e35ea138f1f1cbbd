//! Functions that methods hand state of an object to and that are not seen here: those of libraries,
//! and those behind pointers.
//!
//! ```c
//! static PyObject *
//! Hash_update(Hash *self, PyObject *data)
//! {
//!     XXH32_update(self->state, …);     /* may write it; nobody here sees */
//!
//! static PyObject *
//! close_stream(PyObject *module, PyObject *args)
//! {
//!     PaStream *stream = ((Stream *)arg)->stream;
//!     Pa_CloseStream(stream);           /* another thread may be writing to it */
//!
//! static PyObject *
//! Counter_next(Counter *self, PyObject *ignored)
//! {
//!     self->step(self);                 /* whatever was stored there */
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::fields::entries;
use super::locks::Locks;
use super::own::{Own, values};
use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, Tree};
use crate::program::Types;
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

/// Slots of types, by how their names begin: `Py_TYPE(self)->tp_free(self)`.
const SLOTS: &[&str] = &["tp_", "nb_", "sq_", "mp_", "am_", "bf_"];

/// The functions of libraries that get a pointer field of an object from a method, without a lock,
/// and the pointers to functions that get the object or such a field, with the file of the method.
#[must_use]
pub fn library_calls(cx: &PackageCx<'_>) -> BTreeSet<(FileId, String)> {
    let finder = Finder {
        cx,
        locks: Locks::new(cx),
        types: cx.types(),
    };
    let mut calls = BTreeSet::new();
    for (item, function, _) in entries(cx) {
        let file = cx.item(item).place.0;
        let found = finder.outside(item, function).into_iter();
        calls.extend(found.map(|name| (file, name)));
    }
    calls
}

struct Finder<'c, 'a> {
    cx: &'c PackageCx<'a>,
    locks: Locks<'c, 'a>,
    types: &'c Types<'a>,
}

impl Finder<'_, '_> {
    fn outside(&self, item: ItemId, function: &Function) -> Vec<String> {
        let state = State {
            types: self.types,
            tree: &function.tree,
            own: Own::new(function, 0),
            values: values(&function.tree),
        };
        let calls = (0u32..).zip(&function.tree.exprs);
        let found = calls.filter_map(|(at, expr)| {
            let ExprKind::Call { callee, args } = &expr.kind else {
                return None;
            };
            let may_write = match function.tree.callee_name(*callee) {
                Some(name) => is_library(name) && self.gets_field(&state, name, args),
                None => {
                    !is_slot(&function.tree, *callee) && args.iter().any(|&arg| state.is_own(arg))
                }
            };
            (may_write && !self.locks.is_held(item, ExprId(at)))
                .then(|| call_text(self.cx, item, *callee))
        });
        found.collect()
    }

    fn gets_field(&self, state: &State<'_, '_>, name: &str, args: &[ExprId]) -> bool {
        let mut given = (0..args.len()).filter(|&at| state.is_field(args[at]));
        given.any(|at| may_write(self.cx, name, at))
    }
}

/// Whether a call runs what a type of Python has in a slot.
fn is_slot(tree: &Tree, callee: ExprId) -> bool {
    match &tree.expr(callee).kind {
        ExprKind::Member { field, .. } => SLOTS.iter().any(|start| field.starts_with(start)),
        ExprKind::Cast { operand, .. } | ExprKind::Unary { operand, .. } => is_slot(tree, *operand),
        _ => false,
    }
}

/// What a call calls, as the file has it.
pub(super) fn call_text(cx: &PackageCx<'_>, item: ItemId, callee: ExprId) -> String {
    let tree = cx.tree(item);
    if let Some(name) = tree.and_then(|tree| tree.callee_name(callee)) {
        return name.to_owned();
    }
    let text = cx
        .span(item, callee)
        .map(|(file, span)| cx.file(file).text(span));
    text.map_or_else(|| "a function pointer".to_owned(), |text| text.into_owned())
}

/// What a method knows of the state of objects.
struct State<'f, 'c> {
    types: &'f Types<'c>,
    tree: &'f Tree,
    own: Option<Own>,
    values: BTreeMap<LocalId, Vec<ExprId>>,
}

impl State<'_, '_> {
    /// Whether `arg` is the object, or a field of one that holds no reference.
    fn is_own(&self, arg: ExprId) -> bool {
        let is_object = |ty| self.types.is_object_pointer(ty);
        let own = self.own.as_ref();
        own.is_some_and(|own| own.is_object(self.tree, arg))
            || self.is_field(arg) && !self.types.of(self.tree, arg).is_some_and(is_object)
    }

    /// Whether `arg` is a field of an object that may point to more, or a variable that holds one.
    fn is_field(&self, arg: ExprId) -> bool {
        let is_number = |ty| self.types.is_number(ty);
        if self.types.of(self.tree, arg).is_some_and(is_number) {
            return false;
        }
        match &self.tree.expr(arg).kind {
            ExprKind::Name(Name::Local(local)) => {
                let values = self.values.get(local);
                values.is_some_and(|all| all.iter().any(|&value| self.names_field(value)))
            }
            _ => self.names_field(arg),
        }
    }

    /// `self->field`, `&other->field`, `(T)self->field`, `self->part.field`.
    fn names_field(&self, expr: ExprId) -> bool {
        match &self.tree.expr(expr).kind {
            ExprKind::Cast { operand: inner, .. }
            | ExprKind::Unary { operand: inner, .. }
            | ExprKind::Index { base: inner, .. }
            | ExprKind::Member {
                base: inner,
                arrow: false,
                ..
            } => self.names_field(*inner),
            ExprKind::Member {
                base, arrow: true, ..
            } => {
                let own = self.own.as_ref();
                let is_object = |ty| self.types.is_object_pointer(ty);
                own.is_some_and(|own| own.field(self.tree, expr).is_some())
                    || self.types.of(self.tree, *base).is_some_and(is_object)
            }
            _ => false,
        }
    }
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

/// Whether a function of this name belongs neither to Python nor to the C library.
pub(super) fn is_library(name: &str) -> bool {
    let of_python = name.trim_start_matches('_').starts_with("Py");
    !of_python && !C_LIBRARY.iter().any(|start| name.starts_with(start))
}
