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

use crate::ast::{Expr, ExprId, ExprKind, Name, Tree};
use crate::capi;
use crate::cfg::{self, Cfg, InstrKind, Point, Source, reaches};
use crate::program::{CallSite, ItemId};
use crate::provenance::Verdict;
use crate::state::takes_lock_by_name;

use super::by_calls::by_calls;
use super::scope::Scope;
use super::site::Site;

/// The first call of the region that waits for a lock of something else while the size is in use:
/// that suspends the section, where the GIL kept other threads out.
pub(super) fn waits(scope: &Scope<'_>, site: &Site) -> Option<String> {
    let iteration = scope.cfg.call(site.call)?;
    let mut calls = calls(scope, site).filter(|&(call, _)| {
        let at = scope.cfg.call(call);
        call != site.call && at.is_some_and(|at| reaches(&scope.cfg, at, iteration, &[]))
    });
    let (_, name) = calls
        .find(|&(call, name)| reached(scope, call, name).any(|call| locks_object(scope, call)))?;
    Some(name.map_or_else(
        || String::from("a call through a pointer"),
        |name| format!("`{name}`"),
    ))
}

/// An error if a call of the region may stop the thread with the section, or leave it open.
pub(super) fn goes_on(scope: &Scope<'_>, site: &Site) -> Result<(), String> {
    if let Some(name) = jumps(scope, site) {
        return Err(format!(
            "iterate over a copy (`PyDict_Copy`), because `{name}` in the loop may jump out of it \
             with `longjmp`, which leaves the section open"
        ));
    }
    match stops(scope, site) {
        Some(name) => Err(format!(
            "iterate over a copy (`PyDict_Copy`), because `{name}` in the loop may wait for a \
             thread that waits for the dict, which the section locks (deadlock)"
        )),
        None => Ok(()),
    }
}

/// The first call of the region that may stop the thread while it is attached: that does not suspend
/// the section, and who it waits for may wait for the dict.
///
/// ```c
/// while (PyDict_Next(d, &pos, &k, &v)) {          pthread_mutex_lock(&mutex);
///     pthread_mutex_lock(&mutex);                 PyDict_SetItem(d, k, v);
///     seen += PyUnicode_Check(k);                 pthread_mutex_unlock(&mutex);
///     pthread_mutex_unlock(&mutex);
/// ```
fn stops<'s>(scope: &'s Scope<'_>, site: &Site) -> Option<&'s str> {
    let mut calls = calls(scope, site);
    let stops = |(item, expr, name): Call<'_>| {
        let Some((function, name)) = scope.cx.function(item).zip(name) else {
            return false;
        };
        let is_own = || scope.cx.definitions(name).next().is_some();
        let is_harmless = takes_lock(name) && !by_calls(scope.cx).holds_lock_in_python;
        if !may_stop(name) || is_harmless || !waits_for_all(&function.tree, expr) || is_own() {
            return false;
        }
        match item == scope.item {
            true => is_attached(&scope.cfg, expr),
            false => is_attached(&cfg::build(function, &capi::never_returns), expr),
        }
    };
    calls.find_map(|(call, name)| reached(scope, call, name).any(stops).then_some(name)?)
}

/// The first call of the region that may leave it by a jump of the C library, and the section open.
pub(super) fn jumps<'s>(scope: &'s Scope<'_>, site: &Site) -> Option<&'s str> {
    let is_jump = |(_, _, name): Call<'_>| name.is_some_and(capi::jumps);
    let mut calls = calls(scope, site);
    calls.find_map(|(call, name)| reached(scope, call, name).any(is_jump).then_some(name)?)
}

/// Whether a call of this name may wait for a lock, or for another thread, with the thread attached.
pub(super) fn may_stop(name: &str) -> bool {
    const WAITS: [&str; 12] = [
        "WaitForMultipleObjects",
        "WaitForSingleObject",
        "WaitForSingleObjectEx",
        "cnd_timedwait",
        "cnd_wait",
        "pthread_barrier_wait",
        "pthread_cond_timedwait",
        "pthread_cond_wait",
        "pthread_join",
        "sem_timedwait",
        "sem_wait",
        "thrd_join",
    ];
    WAITS.contains(&name) || takes_lock(name)
}

/// Whether a call of this name takes a lock of C; `PyMutex_Lock` detaches the thread while it waits.
pub(super) fn takes_lock(name: &str) -> bool {
    let detaches = name.starts_with("PyMutex_") || name.starts_with("PyCriticalSection");
    !detaches && takes_lock_by_name(name)
}

/// Whether a call waits as long as it takes: `PyThread_acquire_lock(lock, NOWAIT_LOCK)` does not.
fn waits_for_all(tree: &Tree, call: ExprId) -> bool {
    let ExprKind::Call { callee, args } = &tree.expr(call).kind else {
        return true;
    };
    let is_flag = tree.callee_name(*callee) == Some("PyThread_acquire_lock");
    let does_not = |flag: &ExprId| {
        let is_named = matches!(&tree.expr(*flag).kind, ExprKind::Name(Name::Global(name))
            if &**name == "NOWAIT_LOCK");
        tree.is_null(*flag) || is_named
    };
    !(is_flag && args.get(1).is_some_and(does_not))
}

/// Whether the thread may be attached where `call` is made, if it is where the function begins.
fn is_attached(cfg: &Cfg, call: ExprId) -> bool {
    let Some(call) = cfg.call(call) else {
        return true;
    };
    let named = |holds: fn(&str) -> bool| {
        let points = cfg.iter().flat_map(|(block, content)| {
            let instrs = content.instrs.iter().enumerate();
            instrs.map(move |(index, instr)| (Point { block, index }, instr))
        });
        let points = points.filter(move |(_, instr)| match &instr.kind {
            InstrKind::Call { callee, .. } => callee.name().is_some_and(holds),
            _ => false,
        });
        points.map(|(point, _)| point)
    };
    let detaching: Vec<Point> = named(capi::gives_up_thread).collect();
    let entry = Point {
        block: Cfg::ENTRY,
        index: 0,
    };
    let attaching = named(capi::attaches).map(Point::next);
    std::iter::once(entry)
        .chain(attaching)
        .any(|from| reaches(cfg, from, call, &detaching))
}

/// A call, in the function where it stands, with the name of what is called if that has one.
type Call<'s> = (ItemId, ExprId, Option<&'s str>);

/// The calls of the region.
fn calls<'s>(scope: &'s Scope<'_>, site: &Site) -> impl Iterator<Item = (ExprId, Option<&'s str>)> {
    let steps = scope.steps_in(site.range(scope));
    steps.filter_map(|step| match (&step.kind, step.source) {
        (InstrKind::Call { callee, .. }, Source::Expr(call)) => Some((call, callee.name())),
        _ => None,
    })
}

/// A call and those of the functions of the package below it.
fn reached<'s>(
    scope: &Scope<'s>,
    call: ExprId,
    name: Option<&'s str>,
) -> impl Iterator<Item = Call<'s>> {
    let cx = scope.cx;
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![(scope.item, call, name)];
    std::iter::from_fn(move || {
        let next = open.pop()?;
        let (item, call, name) = next;
        if let Some(name) = name
            && capi::effects(name).is_none()
            && seen.insert(name)
        {
            // What takes more than the call gives only has the same name.
            let given = match cx.tree(item).map(|tree| &tree.expr(call).kind) {
                Some(ExprKind::Call { args, .. }) => args.len(),
                _ => usize::MAX,
            };
            let called = cx
                .definitions(name)
                .filter(|(_, it)| it.params.len() <= given);
            open.extend(called.flat_map(|(item, function)| {
                let tree = &function.tree;
                let exprs = tree.expr_ids().zip(&tree.exprs);
                exprs.filter_map(move |(id, expr)| match expr.kind {
                    ExprKind::Call { callee, .. } => Some((item, id, tree.callee_name(callee))),
                    _ => None,
                })
            }));
        }
        Some(next)
    })
}

/// Whether a call takes the lock of an object that other threads know.
fn locks_object(scope: &Scope<'_>, (item, expr, name): Call<'_>) -> bool {
    let Some(name) = name else {
        return gets_object(scope, item, expr, true);
    };
    let site = CallSite { item, expr };
    let is_shared = |arg| matches!(scope.cx.provenance(site, arg), Verdict::Shared(_));
    match capi::effects(name) {
        _ if name == "PyDict_Next" => is_shared(0),
        // What runs code of the type of an object takes the lock of a list or dict.
        Some(effects) if effects.runs_python && effects.counts.is_none() => {
            let args = scope.cx.call(site).1.len();
            (0..args).any(is_shared)
        }
        Some(effects) => effects.locks.is_some_and(|arg| is_shared(usize::from(arg))),
        None => {
            let is_seen = capi::is_libc(name) || scope.cx.definitions(name).next().is_some();
            !is_seen && gets_object(scope, item, expr, false)
        }
    }
}

/// Whether a call of what is not seen gets an object, or `or_pointer` to what may hold one.
fn gets_object(scope: &Scope<'_>, item: ItemId, call: ExprId, or_pointer: bool) -> bool {
    let Some(function) = scope.cx.function(item) else {
        return true;
    };
    let (tree, types) = (&function.tree, scope.cx.types());
    let Expr {
        kind: ExprKind::Call { args, .. },
        ..
    } = tree.expr(call)
    else {
        return true;
    };
    args.iter().any(|&arg| {
        let Some(ty) = types.of(tree, arg) else {
            return false;
        };
        let is_text = || {
            types
                .pointee(ty)
                .is_some_and(|inner| types.is_number(inner))
        };
        types.is_object_pointer(ty) || or_pointer && types.pointee(ty).is_some() && !is_text()
    })
}
