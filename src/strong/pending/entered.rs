//! Functions that are called while an exception may be pending.
//!
//! ```c
//! static void log_error(Obj *self, PyObject *key)   result = PyObject_Repr(key);
//! {                                                 if (result == NULL) {
//!     cb = PyDict_GetItem(self->callbacks, key);        log_error(self, key);
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::Pending;
use super::outcomes::{error_returns, may_leave};
use super::pointers::{PointerCall, Pointers};
use super::raising::{Helpers, helper, helpers};
use crate::ast::{ExprId, ExprKind, Function};
use crate::capi::{OldErrors, REPLACEMENTS};
use crate::cfg::{Cfg, InstrKind, Point, TempId};
use crate::program::CallSite;
use crate::roles::Role;
use crate::rule::{ErrorReturn, Exceptions, PackageCx};
use crate::strong::scene::{Scene, graph};

/// How many functions an exception is followed through.
const MAX_DEPTH: usize = 3;

/// What is known of exceptions and the functions of the package.
///
/// Of those with lookups that swallow errors, and those that call them, some may be called with an
/// exception: a function of the package does, by name or by a pointer, or it is a destructor or another
/// slot that Python calls that way, or nobody knows who calls it. All others are called without one.
pub(in crate::strong) fn exceptions(cx: &PackageCx<'_>) -> Exceptions {
    let pointers = Pointers::new(cx);
    let watched = callers(cx, &pointers, swallowing().chain(unchecked()).collect());
    let mut open: Vec<&str> = swallowing().collect();
    open.extend(watched.iter().filter(|name| pointers.is_given(name)));
    let names = callers(cx, &pointers, open);
    let mut called: Vec<&str> = swallowing().chain(unchecked()).collect();
    called.extend(&names);
    let returns = error_returns(cx, &called);
    let mut search = Search {
        cx,
        names: &names,
        watched: &watched,
        pointers: &pointers,
        returns: &returns,
        leaving: BTreeMap::new(),
        entered: BTreeSet::new(),
        by_pointer: BTreeSet::new(),
    };
    search.run();
    Exceptions {
        entered: search.entered,
        by_pointer: search.by_pointer,
        returns,
    }
}

/// The search for functions that may be called with an exception.
struct Search<'s, 'a> {
    cx: &'a PackageCx<'a>,
    names: &'s BTreeSet<&'a str>,
    /// Those that matter if a pointer leads to them.
    watched: &'s BTreeSet<&'a str>,
    pointers: &'s Pointers<'a>,
    returns: &'s BTreeMap<Box<str>, ErrorReturn>,
    /// Whether functions that pointers lead to may come back with an exception.
    leaving: BTreeMap<&'a str, bool>,
    entered: BTreeSet<Box<str>>,
    by_pointer: BTreeSet<Box<str>>,
}

impl<'a> Search<'_, 'a> {
    fn run(&mut self) {
        let named = self
            .names
            .iter()
            .filter(|name| meets_exception(self.cx, name));
        self.entered = named.map(|&name| name.into()).collect();
        for name in self.watched {
            if self.is_called_unseen(name) {
                self.add_by_pointer(name);
            }
        }
        let names = self.names.iter();
        let functions: Vec<(&Function, Cfg)> = names
            .flat_map(|name| self.cx.definitions(name))
            .map(|(_, function)| (function, graph(function)))
            .collect();
        // Whether it was entered when it was looked at: it takes another look once it is.
        let mut looked_at = vec![None; functions.len()];
        loop {
            let before = looked_at.clone();
            for ((function, cfg), looked_at) in functions.iter().zip(&mut looked_at) {
                let is_entered = self.entered.contains(&*function.name);
                if looked_at.replace(is_entered) != Some(is_entered) {
                    self.look_at(function, cfg);
                }
            }
            if looked_at == before {
                return;
            }
        }
    }

    fn add_by_pointer(&mut self, name: &str) {
        self.entered.insert(name.into());
        self.by_pointer.insert(name.into());
    }

    /// Whether code that nobody reads may call the function with an exception, of its own or of an
    /// earlier call.
    fn is_called_unseen(&mut self, name: &str) -> bool {
        self.cx.call_index().may_be_called_unseen(name)
            || self.pointers.may_be_called_unseen(name)
            || self.pointers.is_called_again(name) && may_leave(self.cx, name, self.returns)
    }

    /// Adds what the function calls with an exception.
    fn look_at(&mut self, function: &Function, cfg: &Cfg) {
        let helpers = helpers(self.cx, &function.tree, self.returns);
        let named = called_with_exception(function, cfg, helpers, self.names, &self.entered);
        self.entered.extend(named);
        for name in self.pointed_with_exception(function, cfg) {
            self.add_by_pointer(name);
        }
    }

    /// What the function calls with an exception by a pointer: where one may be pending, or where an
    /// earlier call by a pointer may have left one.
    ///
    /// ```c
    /// for (i = 0; i < PyTuple_GET_SIZE(t); i++)
    ///     r |= f(PyTuple_GET_ITEM(t, i), arg);
    /// ```
    fn pointed_with_exception(&mut self, function: &Function, cfg: &Cfg) -> Vec<&'a str> {
        let pointers = self.pointers;
        let is_wanted =
            |name: &&str| self.watched.contains(name) && !self.by_pointer.contains(*name);
        let calls: Vec<(&PointerCall<'_>, &[&'a str])> = pointers
            .calls_in(function)
            .map(|call| (call, pointers.meant(call)))
            .collect();
        if !calls.iter().any(|(_, meant)| meant.iter().any(is_wanted)) {
            return Vec::new();
        }
        let mut helpers = helpers(self.cx, &function.tree, self.returns);
        for (call, meant) in &calls {
            let Some(result) = cfg.call(call.call).and_then(|point| result(cfg, point)) else {
                continue;
            };
            let leaving: Vec<&'a str> =
                meant.iter().copied().filter(|it| self.leaves(it)).collect();
            if leaving.is_empty() && !meant.is_empty() {
                helpers.quiet.insert(result);
            }
            let leaving = leaving.iter();
            for helper in leaving.filter_map(|name| helper(self.cx, name, self.returns)) {
                let signs = helpers.pointed.entry(result).or_default();
                signs.extend(&helper.signs);
            }
        }
        let entered = self.entered.contains(&*function.name);
        let pending = Pending::new(cfg, function, helpers, entered);
        let is_met = |call: &PointerCall<'_>| {
            let point = cfg.call(call.call);
            point.is_some_and(|point| pending.at(point))
        };
        let met = calls.into_iter().filter(|(call, _)| is_met(call));
        let names = met.flat_map(|(_, meant)| meant.iter().copied());
        let is_wanted = |name: &&str| self.watched.contains(name);
        names.filter(is_wanted).collect()
    }

    /// Whether a function that a pointer leads to may come back with an exception.
    fn leaves(&mut self, name: &'a str) -> bool {
        let (cx, known) = (self.cx, self.returns);
        let leaves = self.leaving.entry(name);
        *leaves.or_insert_with(|| may_leave(cx, name, known))
    }
}

/// Whether the exception with which the function is called, as a destructor or by one that has seen it
/// or asks for it later, may still be pending at `call`.
pub(in crate::strong) fn keeps_entered(scene: &Scene<'_>, call: ExprId) -> bool {
    let cx = scene.cx;
    let is_shown = || {
        let returns = &cx.exceptions(exceptions).returns;
        let pending = Pending::new(
            scene.cfg,
            scene.function,
            helpers(cx, scene.tree, returns),
            true,
        );
        let point = scene.cfg.call(call);
        point.is_none_or(|point| pending.is_shown_at(point))
    };
    is_entered(scene, scene.function, MAX_DEPTH) && is_shown()
}

/// Whether a function may be called with an exception that is known of.
fn is_entered(scene: &Scene<'_>, function: &Function, depth: usize) -> bool {
    let cx = scene.cx;
    let returns = &cx.exceptions(exceptions).returns;
    let calls_so = |site: &CallSite| {
        let Some(caller) = cx.function(site.item).filter(|it| it.name != function.name) else {
            return false;
        };
        let (cfg, entered) = (graph(caller), is_entered(scene, caller, depth - 1));
        let pending = Pending::new(&cfg, caller, helpers(cx, &caller.tree, returns), entered);
        let Some(point) = cfg.call(site.expr) else {
            return false;
        };
        // `if (v == NULL && PyErr_Occurred()) return NULL;` says that there is none where `v` is
        // asked for again.
        let mut calls = caller.tree.calls();
        let has_asked = calls.any(|(_, name)| name == "PyErr_Occurred");
        pending.is_shown_at(point) || !has_asked && pending.is_asked_at(point)
    };
    meets_exception(cx, &function.name)
        || cx
            .exceptions(exceptions)
            .by_pointer
            .contains(&*function.name)
        || depth > 0 && cx.calls_to(&function.name).iter().any(calls_so)
}

/// The lookups that swallow errors.
fn swallowing() -> impl Iterator<Item = &'static str> {
    let rows = REPLACEMENTS.iter();
    rows.filter(|row| row.errors == OldErrors::Swallowed)
        .map(|row| row.borrowed)
}

/// The lookups that cannot fail.
fn unchecked() -> impl Iterator<Item = &'static str> {
    let rows = REPLACEMENTS.iter();
    rows.filter(|row| row.errors == OldErrors::Unchecked)
        .map(|row| row.borrowed)
}

/// The functions that call one of these, by name or by a pointer, those that call them, and so on.
fn callers<'a>(
    cx: &'a PackageCx<'a>,
    pointers: &Pointers<'a>,
    mut open: Vec<&'a str>,
) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    let mut followed = BTreeSet::new();
    while let Some(name) = open.pop() {
        let sites = cx.calls_to(name).iter();
        let by_name = sites.filter_map(|site| cx.function(site.item));
        let callees = pointers.callees_of(name).iter();
        let callees = callees.filter(|&&callee| followed.insert(callee));
        let by_pointer = callees.flat_map(|&callee| pointers.callers(callee));
        for caller in by_name.chain(by_pointer.copied()) {
            if names.insert(caller.name.as_str()) {
                open.push(&caller.name);
            }
        }
    }
    names
}

/// The result of the call at `point`.
fn result(cfg: &Cfg, point: Point) -> Option<TempId> {
    match cfg.block(point.block).instrs.get(point.index)?.kind {
        InstrKind::Call { dst, .. } => Some(dst),
        _ => None,
    }
}

/// Which of `names` the function calls with an exception, if those `found` are called with one.
fn called_with_exception(
    function: &Function,
    cfg: &Cfg,
    helpers: Helpers,
    names: &BTreeSet<&str>,
    found: &BTreeSet<Box<str>>,
) -> Vec<Box<str>> {
    let tree = &function.tree;
    let exprs = (0u32..).zip(&tree.exprs);
    let calls = exprs.filter_map(|(at, expr)| match expr.kind {
        ExprKind::Call { callee, .. } => Some((ExprId(at), tree.callee_name(callee)?)),
        _ => None,
    });
    let mut calls = calls
        .filter(|(_, name)| names.contains(name) && !found.contains(*name))
        .peekable();
    if calls.peek().is_none() {
        return Vec::new();
    }
    let entered = found.contains(&*function.name);
    let pending = Pending::new(cfg, function, helpers, entered);
    calls
        .filter(|(call, _)| {
            let point = cfg.call(*call);
            point.is_some_and(|point| pending.at(point))
        })
        .map(|(_, name)| name.into())
        .collect()
}

/// Whether Python calls the function on an object that dies.
pub(in crate::strong) fn is_destructor(cx: &PackageCx<'_>, name: &str) -> bool {
    has_role(cx, name, Role::is_destructor)
}

/// Whether Python calls the function while an exception may be pending.
fn meets_exception(cx: &PackageCx<'_>, name: &str) -> bool {
    has_role(cx, name, Role::may_meet_exception)
}

fn has_role(cx: &PackageCx<'_>, name: &str, is_it: fn(&Role) -> bool) -> bool {
    let Some(roles) = cx.roles() else {
        return false;
    };
    cx.definitions(name)
        .any(|(id, function)| roles.of(cx.item(id), function).any(is_it))
}
