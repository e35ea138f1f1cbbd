//! What the code found out before a lookup, and what it asks for behind it, where the new call
//! answers otherwise.
//!
//! ```c
//! if (PyDict_Contains(d, k)) {
//!     v = PyDict_GetItem(d, k);                 /* the key may be gone */
//!     use(v);
//! }
//! item = PyList_GetItem(o, i);
//! if (item == NULL && PyErr_ExceptionMatches(PyExc_SystemError))        /* is a `TypeError` now */
//! ```

use std::collections::BTreeSet;

use super::Draft;
use crate::ast::{ExprId, ExprKind, LocalId, Name, Tree};
use crate::capi::{self, Absent};
use crate::cfg::{Base, Instr, InstrKind, Operand, Place, Point, reaches};
use crate::rule::PackageCx;
use crate::strong::exits::branch::branches;
use crate::strong::exits::error_value::ErrorValue;
use crate::strong::exits::exit::Failure;
use crate::strong::exits::unheard_at;
use crate::strong::follow::Decisions;
use crate::strong::follow::slots::Slot;
use crate::strong::lifetimes::point_of;
use crate::strong::pending::missed::{counts_missing, reads_missing};
use crate::strong::plan::Lookup;
use crate::strong::scene::Scene;

/// How many callers away somebody asks which exception there is.
const MAX_DEPTH: usize = 2;

impl Draft<'_, '_> {
    /// Notes that a key which was there when the code asked may be gone, and that nothing tests that.
    pub(in crate::strong) fn doubt_gone(&mut self, lookup: &Lookup) {
        if lookup.replacement.absent == Absent::Error {
            return;
        }
        let strong = lookup.replacement.strong;
        if let Some(name) = settled(self.scene, lookup.call) {
            if reads_missing(self.scene, lookup.call) {
                self.fix.assume(format!(
                    "no other thread removes the key after `{name}` (the code does not test \
                     whether `{strong}` finds it)"
                ));
            }
        } else if lookup.replacement.absent == Absent::Null
            && counts_missing(self.scene, lookup.call)
        {
            // v = PyDict_GetItem(d, k); Py_INCREF(v); return v;
            self.fix.assume(format!(
                "what `{strong}` looks for exists (the code does not test that, and no longer \
                 reads the result here)"
            ));
        }
    }

    /// Notes that a release stands where the error number of an earlier call is still wanted, be it by a
    /// caller: it may run code that changes that.
    pub(in crate::strong) fn doubt_errno(&mut self, decisions: &Decisions) {
        let scene = self.scene;
        let mut slots = decisions.releases.keys();
        let is_wanted = |slot: &Slot| {
            let point = point_of(scene.cfg, *slot);
            point.is_some_and(|point| scene.is_errno_wanted(point))
        };
        if slots.any(is_wanted) {
            self.fix.assume(
                "the releases before `errno` is read do not run code that changes it".to_owned(),
            );
        }
    }

    /// Notes that a caller may not notice that the function fails now where the lookup does.
    pub(in crate::strong) fn doubt_heard(&mut self, lookup: &Lookup) {
        let scene = self.scene;
        // Where the code handed on what could not be `NULL`, it hands on `NULL` now.
        let fails = matches!(
            lookup.failure,
            Failure::Exit(_) | Failure::Joined(_) | Failure::Tested
        );
        let unheard = || unheard_at(scene, ErrorValue::of(scene, &branches(scene)));
        let caller = fails.then(unheard).flatten();
        if let Some(caller) = caller.and_then(|it| scene.cx.function(it.site.item)) {
            self.fix.assume(format!(
                "`{}` fails if `{}`, which it calls, fails",
                caller.name, scene.function.name
            ));
        }
        let stops = matches!(lookup.failure, Failure::Stop(_));
        // Else its callers ask whether there is an exception.
        if stops && lookup.failure.drops_exception() && sets_for_others(scene) {
            self.fix.assume(format!(
                "no caller needs what `{}` would have stored in its arguments (it now leaves \
                 early, and its callers do not see that)",
                scene.function.name
            ));
        }
    }

    /// Notes that the new call raises another exception for what is no list, and somebody asks which
    /// one there is.
    pub(in crate::strong) fn doubt_exception(&mut self, lookup: &Lookup) {
        let scene = self.scene;
        if lookup.replacement.borrowed == "PyList_GetItem"
            && let Some(name) = asking(scene.cx, &scene.function.name, scene.tree, MAX_DEPTH)
        {
            let strong = lookup.replacement.strong;
            self.fix.assume(format!(
                "`{name}`, which checks for `SystemError`, does not expect it for an object that \
                 is not a list (`{strong}` raises `TypeError` for that)"
            ));
        }
    }
}

/// Whether a function that the package calls sets something in what it gets.
///
/// ```c
/// static void put(PyObject *tuple, int i, PyObject *list)
/// {
///     PyObject *item = PyList_GetItem(list, i);
///     Py_INCREF(item);
///     PyTuple_SET_ITEM(tuple, i, item);
/// }
/// ```
fn sets_for_others(scene: &Scene<'_>) -> bool {
    let function = scene.function;
    let is_param = |expr: ExprId| {
        let local = root(scene.tree, expr);
        local.is_some_and(|local| function.params.contains(&local))
    };
    let sets = |expr: ExprId| match &scene.tree.expr(expr).kind {
        ExprKind::Assign { lhs, .. } => scene.as_local(*lhs).is_none() && is_param(*lhs),
        ExprKind::Call { callee, args } => {
            let row = scene.tree.callee_name(*callee).and_then(capi::writes);
            let mut args = args.iter().enumerate();
            row.is_some_and(|row| args.any(|(at, &arg)| row.names(at) && is_param(arg)))
        }
        _ => false,
    };
    !scene.cx.calls_to(&function.name).is_empty() && scene.tree.expr_ids().any(sets)
}

/// `out` of `*out`, `out->text`, `out[i]`.
fn root(tree: &Tree, expr: ExprId) -> Option<LocalId> {
    match &tree.expr(tree.without_casts(expr)).kind {
        ExprKind::Name(Name::Local(local)) => Some(*local),
        ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => root(tree, *base),
        ExprKind::Unary { operand, .. } => root(tree, *operand),
        _ => None,
    }
}

/// What told, or made sure, before `call` that its key is in its dict.
fn settled<'s>(scene: &'s Scene<'_>, call: ExprId) -> Option<&'s str> {
    let (_, args) = scene.call(call)?;
    let text = |arg: &ExprId| {
        let span = scene.span(scene.tree.without_casts(*arg))?;
        Some(scene.text(span))
    };
    let key = |args: &[ExprId]| match args {
        [dict, key, ..] => text(dict).zip(text(key)),
        _ => None,
    };
    let (wanted, at) = (key(args)?, scene.cfg.call(call)?);
    let given = given(scene, args);
    let mut calls = scene.tree.calls();
    let found = calls.find(|&(other, name)| {
        let is_lookup = || name.starts_with("PyDict_") && capi::replacement(name).is_some();
        let is_same = || scene.call(other).and_then(|(_, args)| key(args)) == Some(wanted.clone());
        let is_before = || {
            let point = scene.cfg.call(other);
            point.is_some_and(|it| reaches(scene.cfg, it.next(), at, &given))
        };
        other != call && (capi::settles_key(name) || is_lookup()) && is_same() && is_before()
    });
    found.map(|(_, name)| name)
}

/// Where a variable in `args` gets another value: the same words mean another key after that.
///
/// ```c
/// while (PyDict_Next(kwds, &pos, &key, &value)) {
///     old = PyDict_GetItem(d, key);             /* not the key that the last pass stored */
///     PyDict_SetItem(d, key, value);
/// ```
fn given(scene: &Scene<'_>, args: &[ExprId]) -> Vec<Point> {
    let is_within = |expr: ExprId| {
        let inner = scene.tree.expr(expr).range;
        let mut outer = args.iter().map(|&arg| scene.tree.expr(arg).range);
        outer.any(|outer| outer.contains(inner))
    };
    let read = scene.tree.expr_ids().filter(|&expr| is_within(expr));
    let read: BTreeSet<LocalId> = read.filter_map(|expr| scene.as_local(expr)).collect();
    let is_read = |place: &Place| matches!(place.base, Base::Local(local) if read.contains(&local));
    let gives = |instr: &Instr| match &instr.kind {
        InstrKind::Store { place, .. } => is_read(place),
        InstrKind::Declare { local } => read.contains(local),
        InstrKind::Call { args, .. } => args
            .iter()
            .any(|arg| matches!(arg, Operand::AddressOf(place) if is_read(place))),
        _ => false,
    };
    scene
        .cfg
        .steps()
        .filter(|(_, instr)| gives(instr))
        .map(|(point, _)| point)
        .collect()
}

/// The function, or one that calls it, that asks whether an exception is a `SystemError`.
fn asking(cx: &PackageCx<'_>, function: &str, tree: &Tree, depth: usize) -> Option<String> {
    let is_it = |expr: &ExprId| matches!(&tree.expr(*expr).kind, ExprKind::Name(Name::Global(name)) if &**name == "PyExc_SystemError");
    let mut calls = tree.calls();
    let asks = calls.any(|(call, name)| {
        let args = match &tree.expr(call).kind {
            ExprKind::Call { args, .. } => &args[..],
            _ => &[],
        };
        name.ends_with("ExceptionMatches") && args.iter().any(is_it)
    });
    if asks {
        return Some(function.to_owned());
    }
    let depth = depth.checked_sub(1)?;
    let mut callers = cx.calls_to(function).iter();
    callers.find_map(|site| {
        let caller = cx.function(site.item)?;
        asking(cx, &caller.name, &caller.tree, depth)
    })
}
