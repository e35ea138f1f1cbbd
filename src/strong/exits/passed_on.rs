//! Lookups whose result goes straight to a function that takes `NULL` for an error.
//!
//! ```c
//! total += PyFloat_AsDouble(PyList_GET_ITEM(PyList_GET_ITEM(rows, i), j));
//!
//! PyObject *item = PyList_GetItemRef(rows, i);
//! PyObject *item2 = item == NULL ? NULL : PyList_GetItemRef(item, j);
//! total += PyFloat_AsDouble(item2);
//! Py_XDECREF(item);
//! Py_XDECREF(item2);
//! ```
//!
//! What the function does about an item that is no number, it does about one that is not there.

use std::collections::BTreeSet;

use super::bound::is_copied;
use super::exit::Failure;
use crate::ast::{ExprId, ExprKind, Parent};
use crate::capi::{self, Replacement};
use crate::strong::emit::Draft;
use crate::strong::plan::{Lookup, Planned};
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::shape::Shape;

/// Whether the result of `call` goes straight to a function that raises for `NULL`, maybe by way of
/// other lookups, which are left out then.
pub(in crate::strong) fn is_passed_on(
    scene: &Scene<'_>,
    call: ExprId,
    shape: Shape,
    replacement: &Replacement,
) -> bool {
    let mut at = call;
    while let Some(next) = next_lookup(scene, at) {
        at = next;
    }
    let outer = consumer(scene, at).and_then(|outer| scene.call(outer));
    let takes_null = outer.is_some_and(|(name, _)| capi::converts(name));
    // A sequence can be read from a copy, which is better.
    let is_list = replacement.reads_list() || !is_copied(scene, call);
    takes_null && matches!(shape, Shape::Nested(_)) && is_list
}

/// The lookup that looks into the result of the lookup `call`.
fn next_lookup(scene: &Scene<'_>, call: ExprId) -> Option<ExprId> {
    let outer = consumer(scene, call)?;
    let (name, args) = scene.call(outer)?;
    let looks_into = capi::reads_list(name) && scene.tree.without_casts(*args.first()?) == call;
    looks_into.then_some(outer)
}

/// The expression that gets the result of `call`.
fn consumer(scene: &Scene<'_>, call: ExprId) -> Option<ExprId> {
    let mut value = call;
    while let Some(Parent::Expr(outer)) = scene.parent_of_expr(value) {
        match scene.tree.expr(outer).kind {
            ExprKind::Cast { .. } => value = outer,
            _ => return Some(outer),
        }
    }
    None
}

/// The lookups of `group` whose `NULL` is passed on.
///
/// # Errors
/// One is passed on to a lookup that stays as it is, and takes no `NULL`.
pub(in crate::strong) fn passed_on(
    scene: &Scene<'_>,
    group: &[Planned],
) -> Result<BTreeSet<ExprId>, Reason> {
    let lookups = || group.iter().flat_map(|planned| &planned.home.lookups);
    let passed_on = lookups().filter(|lookup| lookup.failure == Failure::PassedOn);
    let calls: BTreeSet<ExprId> = passed_on.map(|lookup| lookup.call).collect();
    for lookup in lookups().filter(|lookup| calls.contains(&lookup.call)) {
        if next_lookup(scene, lookup.call).is_some_and(|next| !calls.contains(&next)) {
            return Err(Reason::NoExit(lookup.replacement.strong));
        }
    }
    Ok(calls)
}

impl Draft<'_, '_> {
    /// The lines of the new `call` of `lookup`, left out if that looks into what may be `NULL` by now.
    pub(in crate::strong) fn unless_null(
        &self,
        lookup: &Lookup,
        mut call: Vec<String>,
    ) -> Vec<String> {
        let container = || {
            let (_, args) = self.scene.call(lookup.call)?;
            let container = self.scene.tree.without_casts(*args.first()?);
            let span = self.scene.span(container)?;
            self.passed_on.contains(&container).then(|| self.text(span))
        };
        if let Some((container, first)) = container().zip(call.first_mut()) {
            *first = format!("{container} == NULL ? NULL : {first}");
        }
        call
    }
}
