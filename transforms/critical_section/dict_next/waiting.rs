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

use crate::ast::{ExprId, ExprKind};
use crate::capi;
use crate::cfg::{Callee, InstrKind, Source, reaches};
use crate::program::{CallSite, ItemId};
use crate::provenance::Verdict;
use crate::transforms::thread_state::runs_any_code;

use super::scope::Scope;
use super::site::Site;

/// The first call of the region that waits for a lock of something else while the size is in use:
/// that suspends the section, where the GIL kept other threads out. One that may run Python code of
/// any kind let them in already.
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
    let waiting = calls.find(|&(call, name)| {
        let lets_in = || reached(scope, call, name).any(|call| lets_threads_in(scope, call));
        reached(scope, call, name).any(|call| takes_lock(scope, call)) && !lets_in()
    });
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

/// Whether a call takes the lock of an object that other threads know.
fn takes_lock(scope: &Scope<'_>, (item, expr, name): Call<'_>) -> bool {
    let locked = match name {
        "PyDict_Next" => Some(0),
        _ => capi::effects(name).and_then(|effects| effects.locks),
    };
    let site = CallSite { item, expr };
    let is_shared = |arg| matches!(scope.cx.provenance(site, arg), Verdict::Shared(_));
    locked.is_some_and(|arg| is_shared(usize::from(arg)))
}

/// Whether other threads may run in a call under the GIL as well: it is there to run Python code, or
/// gives the GIL up.
fn lets_threads_in(scope: &Scope<'_>, (item, call, name): Call<'_>) -> bool {
    match name {
        "PyMapping_Length" | "PyMapping_Size" => asks_any_mapping(scope, item, call),
        "PyEval_SaveThread" => true,
        _ => runs_any_code(name),
    }
}

/// Whether a call asks a mapping of any class for its size, by a `__len__` of that class.
///
/// ```c
/// if (PyMapping_Check(value))
///     write_size(out, PyMapping_Length(value));
/// ```
fn asks_any_mapping(scope: &Scope<'_>, item: ItemId, call: ExprId) -> bool {
    let Some(function) = scope.cx.function(item) else {
        return false;
    };
    let tree = &function.tree;
    let of = |call: ExprId| match &tree.expr(call).kind {
        ExprKind::Call { args, .. } => args.first().and_then(|&arg| tree.as_local(arg)),
        _ => None,
    };
    let asked = of(call);
    let asks = |names: &[&str]| {
        let mut calls = tree.calls();
        calls.any(|(call, name)| names.contains(&name) && of(call) == asked)
    };
    asked.is_some() && asks(&["PyMapping_Check"]) && !asks(&["PyDict_Check", "PyDict_CheckExact"])
}
