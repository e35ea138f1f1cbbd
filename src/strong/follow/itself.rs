//! The object that a method belongs to: never `NULL`, and never `None`.
//!
//! ```c
//! static int check(List *self, PyObject *ref) { return PyWeakref_GetObject(ref) == self; }
//! static PyObject *method(List *self, PyObject *ref) { … check(self, ref) … }
//! ```

use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, Function, Init, LocalId, StmtKind, Tree, UnaryOp};
use crate::roles::{Param, Role};
use crate::rule::{ItemId, PackageCx};
use crate::strong::scene::Scene;

/// How many functions are asked about at most.
const MAX_CALLERS: usize = 64;

/// Whether one side of a comparison is the object that the function belongs to.
pub(in crate::strong) fn names_itself(scene: &Scene<'_>, test: ExprId) -> bool {
    let ExprKind::Binary { lhs, rhs, .. } = scene.tree.expr(test).kind else {
        return false;
    };
    let mut search = Search {
        cx: scene.cx,
        seen: BTreeSet::new(),
    };
    [lhs, rhs]
        .into_iter()
        .any(|side| search.is_own(scene.item, scene.function, side))
}

struct Search<'c, 'a> {
    cx: &'c PackageCx<'a>,
    /// Functions that are asked about, with their parameter; they may call each other.
    seen: BTreeSet<(ItemId, u32)>,
}

impl Search<'_, '_> {
    /// Whether a value in `function` is a parameter that gets the object of a method, and keeps it.
    fn is_own(&mut self, item: ItemId, function: &Function, value: ExprId) -> bool {
        let tree = &function.tree;
        let Some(local) = named(tree, value).filter(|&local| !is_changed(tree, local)) else {
            return false;
        };
        let index = function.params.iter().position(|&param| param == local);
        let Some(index) = index else {
            // `List *list = (List *)self;`
            let first = first_value(tree, local);
            return first.is_some_and(|first| self.is_own(item, function, first));
        };
        let roles = self.cx.roles().into_iter();
        let mut roles = roles.flat_map(|roles| roles.of(self.cx.item(item), function));
        let Some(first) = roles.next() else {
            let calls = self.cx.calls_to(&function.name);
            let is_known = function.is_static && !self.cx.call_index().is_mentioned(&function.name);
            return is_known && !calls.is_empty() && self.is_passed(item, function, index);
        };
        // A static method gets `NULL` as its `PyObject *self`.
        let is_typed = !tree.local(local).ty.is_py_object_pointer();
        let is_there = |role: &Role| is_typed || !role.is_method();
        let gives = |role: &Role| gives_own(role, index) && is_there(role);
        gives(first) && roles.all(gives) && self.is_passed(item, function, index)
    }

    /// Whether all functions that call this one pass such an object as argument `index`.
    fn is_passed(&mut self, item: ItemId, function: &Function, index: usize) -> bool {
        let at = u32::try_from(index).expect("parameters are few");
        if !self.seen.insert((item, at)) {
            return true;
        }
        if self.seen.len() > MAX_CALLERS {
            return false;
        }
        self.cx.calls_to(&function.name).iter().all(|site| {
            let Some(caller) = self.cx.function(site.item) else {
                return false;
            };
            match &caller.tree.expr(site.expr).kind {
                ExprKind::Call { args, .. } => args
                    .get(index)
                    .is_some_and(|&arg| self.is_own(site.item, caller, arg)),
                _ => false,
            }
        })
    }
}

/// Whether Python passes the object as argument `index`; operators get what stands on either side.
fn gives_own(role: &Role, index: usize) -> bool {
    let is_operator = matches!(role, Role::Slot(slot) if slot.starts_with("nb_"));
    !is_operator && role.param(index) == Some(Param::Own)
}

/// The variable that a value is, whatever it is cast to.
fn named(tree: &Tree, value: ExprId) -> Option<LocalId> {
    tree.as_local(tree.without_casts(value))
}

/// What a variable is declared with.
fn first_value(tree: &Tree, local: LocalId) -> Option<ExprId> {
    let StmtKind::Decl(decls) = &tree.stmt(tree.local(local).decl?).kind else {
        return None;
    };
    match decls.iter().find(|decl| decl.local == local)?.init {
        // `int unset = unset;`
        Some(Init::Expr(value)) => Some(value).filter(|&value| named(tree, value) != Some(local)),
        _ => None,
    }
}

/// Whether the function gives `local` another value, or its address away.
fn is_changed(tree: &Tree, local: LocalId) -> bool {
    tree.exprs.iter().any(|expr| match expr.kind {
        ExprKind::Assign { lhs, .. } => named(tree, lhs) == Some(local),
        ExprKind::Unary { op, operand } => {
            !matches!(op, UnaryOp::Not | UnaryOp::Deref) && named(tree, operand) == Some(local)
        }
        _ => false,
    })
}
