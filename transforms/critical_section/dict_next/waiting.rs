//! Whether a section is suspended between the size of the dict and its last item, where the GIL kept
//! other threads out.
//!
//! ```c
//! n = PyDict_Size(d);
//! names = PyMem_New(char *, n);
//! while (PyDict_Next(d, &pos, &k, &v)) {
//!     PyList_Append(all, v);              /* another thread has `all`, a third one adds to `d` */
//!     names[i++] = text_of(k);
//! }
//! ```

use std::collections::BTreeSet;

use crate::ast::ExprId;
use crate::capi;
use crate::cfg::{Callee, InstrKind, Source, reaches};
use crate::program::{CallSite, ItemId};
use crate::provenance::Verdict;

use super::scope::Scope;
use super::site::Site;

/// The first call of the region that waits for a lock of something else while the size is in use:
/// that suspends the section, where the GIL kept other threads out.
pub(super) fn waits<'s>(scope: &'s Scope<'_>, site: &Site) -> Option<&'s str> {
    let iteration = scope.cfg.call(site.call)?;
    let mut calls = scope.steps_in(site.range(scope)).filter_map(|step| {
        let (
            InstrKind::Call {
                callee: Callee::Named(name),
                ..
            },
            Source::Expr(call),
        ) = (&step.kind, step.source)
        else {
            return None;
        };
        let is_before = reaches(&scope.cfg, scope.cfg.call(call)?, iteration, &[]);
        (call != site.call && is_before).then_some((call, &**name))
    });
    let waiting =
        calls.find(|&(call, name)| reached(scope, call, name).any(|call| takes_lock(scope, call)));
    waiting.map(|(_, name)| name)
}

/// A call by its name, in the function where it stands.
type Call<'s> = (ItemId, ExprId, &'s str);

/// A call and those of the functions of the package below it.
fn reached<'s>(scope: &Scope<'s>, call: ExprId, name: &'s str) -> impl Iterator<Item = Call<'s>> {
    let cx = scope.cx;
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![(scope.item, call, name)];
    std::iter::from_fn(move || {
        let next = open.pop()?;
        let name = next.2;
        if capi::effects(name).is_none() && seen.insert(name) {
            open.extend(cx.definitions(name).flat_map(|(item, function)| {
                let calls = function.tree.calls();
                calls.map(move |(call, name)| (item, call, name))
            }));
        }
        Some(next)
    })
}

/// Functions that call a slot of their first argument, which takes the lock of a list or dict. What is
/// turned into text is neither, as a rule.
const BY_TYPE: [&str; 7] = [
    "PyMapping_GetItemString",
    "PyMapping_Items",
    "PyMapping_Keys",
    "PyMapping_Values",
    "PyObject_DelItem",
    "PyObject_GetItem",
    "PyObject_SetItem",
];

/// Whether a call takes the lock of an object that other threads know.
fn takes_lock(scope: &Scope<'_>, (item, expr, name): Call<'_>) -> bool {
    let locked = match name {
        "PyDict_Next" => Some(0),
        // A list or dict is as good as any other object here.
        _ if name.starts_with("PySequence_") || BY_TYPE.contains(&name) => Some(0),
        _ => capi::effects(name).and_then(|effects| effects.locks),
    };
    let site = CallSite { item, expr };
    let is_shared = |arg| matches!(scope.cx.provenance(site, arg), Verdict::Shared(_));
    locked.is_some_and(|arg| is_shared(usize::from(arg)))
}
