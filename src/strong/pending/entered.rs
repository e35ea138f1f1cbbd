//! Functions that are called while an exception may be pending.
//!
//! ```c
//! static void log_error(Obj *self, PyObject *key)   result = PyObject_Repr(key);
//! {                                                 if (result == NULL) {
//!     cb = PyDict_GetItem(self->callbacks, key);        log_error(self, key);
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::Pending;
use super::outcomes::error_returns;
use super::raising::{Helpers, helpers};
use crate::ast::{ExprId, ExprKind, Function, Name};
use crate::capi::{OldErrors, REPLACEMENTS};
use crate::cfg::Cfg;
use crate::program::CallSite;
use crate::roles::Role;
use crate::rule::{ErrorReturn, Exceptions, Mention, PackageCx};
use crate::strong::scene::{Scene, graph};

/// How many functions an exception is followed through.
const MAX_DEPTH: usize = 3;

/// What is known of exceptions and the functions of the package.
///
/// Of those with lookups that swallow errors, and those that call them, some may be called with an
/// exception: a function of the package does, or it is a destructor or another slot that Python
/// calls that way. All others are called without one.
pub(in crate::strong) fn exceptions(cx: &PackageCx<'_>) -> Exceptions {
    let names = callers(cx);
    let mut called: Vec<&str> = swallowing().chain(unchecked()).collect();
    called.extend(names.iter().map(|name| &**name));
    let returns = error_returns(cx, &called);
    let entered = entered(cx, &names, &returns);
    Exceptions { entered, returns }
}

fn entered(
    cx: &PackageCx<'_>,
    names: &BTreeSet<Box<str>>,
    returns: &BTreeMap<Box<str>, ErrorReturn>,
) -> BTreeSet<Box<str>> {
    let functions: Vec<(&Function, Cfg)> = names
        .iter()
        .flat_map(|name| cx.definitions(name))
        .map(|(_, function)| (function, graph(function)))
        .collect();
    let mut found: BTreeSet<Box<str>> = names
        .iter()
        .filter(|name| meets_exception(cx, name))
        .cloned()
        .collect();
    found.extend(entered_by_pointer(cx, names, returns));
    // Whether it was entered when it was looked at: it takes another look once it is.
    let mut looked_at = vec![None; functions.len()];
    loop {
        let before = looked_at.clone();
        for ((function, cfg), looked_at) in functions.iter().zip(&mut looked_at) {
            let is_entered = found.contains(&*function.name);
            if looked_at.replace(is_entered) != Some(is_entered) {
                let helpers = helpers(cx, &function.tree, returns);
                found.extend(called_with_exception(function, cfg, helpers, names, &found));
            }
        }
        if looked_at == before {
            return found;
        }
    }
}

/// Those of `names` whose address is taken, and that a call by a pointer may mean which is made where a
/// test has shown an exception: one with as many arguments.
///
/// ```c
/// static const struct ops OPS = {warn};
/// …
/// if (number == NULL)
///     OPS.fail(dict, "b");
/// ```
fn entered_by_pointer(
    cx: &PackageCx<'_>,
    names: &BTreeSet<Box<str>>,
    returns: &BTreeMap<Box<str>, ErrorReturn>,
) -> BTreeSet<Box<str>> {
    let is_given = |name: &&str| {
        let is_address = matches!(cx.mention(name), Some(Mention::Address(_)));
        is_address && !has_role(cx, name, |_| true)
    };
    let given: Vec<(&str, usize)> = names
        .iter()
        .map(|name| &**name)
        .filter(is_given)
        .flat_map(|name| {
            cx.definitions(name)
                .map(move |(_, it)| (name, it.params.len()))
        })
        .collect();
    if given.is_empty() {
        return BTreeSet::new();
    }
    let called = |function: &Function| {
        let tree = &function.tree;
        let calls: Vec<(ExprId, usize)> = tree
            .expr_ids()
            .filter_map(|expr| match &tree.expr(expr).kind {
                ExprKind::Call { callee, args } if tree.callee_name(*callee).is_none() => {
                    Some((expr, args.len()))
                }
                _ => None,
            })
            .filter(|&(_, count)| given.iter().any(|&(_, params)| params == count))
            .collect();
        if calls.is_empty() {
            return BTreeSet::new();
        }
        let cfg = graph(function);
        let pending = Pending::new(&cfg, tree, helpers(cx, tree, returns), false);
        let shown = calls.into_iter().filter(|&(call, _)| {
            let point = cfg.call(call);
            point.is_some_and(|point| pending.is_shown_at(point))
        });
        shown.map(|(_, count)| count).collect::<BTreeSet<usize>>()
    };
    let functions = cx.program.functions().map(|(_, function)| function);
    let counts: BTreeSet<usize> = functions.flat_map(called).collect();
    let meant = given.iter().filter(|(_, params)| counts.contains(params));
    meant.map(|&(name, _)| name.into()).collect()
}

/// Whether the exception with which the function is called, as a destructor or by one that has seen it
/// or asks for it later, may still be pending at `call`.
pub(in crate::strong) fn keeps_entered(scene: &Scene<'_>, call: ExprId) -> bool {
    let cx = scene.cx;
    let is_shown = || {
        let returns = &cx.exceptions(exceptions).returns;
        let pending = Pending::new(
            scene.cfg,
            scene.tree,
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
        let pending = Pending::new(
            &cfg,
            &caller.tree,
            helpers(cx, &caller.tree, returns),
            entered,
        );
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

/// The functions with lookups that swallow errors, those that call them, and so on.
fn callers(cx: &PackageCx<'_>) -> BTreeSet<Box<str>> {
    let mut names = BTreeSet::new();
    let mut open: Vec<&str> = swallowing().collect();
    while let Some(name) = open.pop() {
        for site in cx.calls_to(name) {
            let caller = cx.function(site.item).map(|function| &*function.name);
            if let Some(caller) = caller
                && names.insert(Box::from(caller))
            {
                open.push(caller);
            }
        }
    }
    names
}

/// Which of `names` the function calls with an exception, if those `found` are called with one.
fn called_with_exception(
    function: &Function,
    cfg: &Cfg,
    helpers: Helpers,
    names: &BTreeSet<Box<str>>,
    found: &BTreeSet<Box<str>>,
) -> Vec<Box<str>> {
    let tree = &function.tree;
    let exprs = (0u32..).zip(&tree.exprs);
    let calls = exprs.filter_map(|(at, expr)| match expr.kind {
        ExprKind::Call { callee, .. } => Some((ExprId(at), tree.callee_name(callee)?)),
        _ => None,
    });
    let mut calls = calls
        .filter(|(_, name)| names.contains(*name) && !found.contains(*name))
        .peekable();
    if calls.peek().is_none() {
        return Vec::new();
    }
    let entered = found.contains(&*function.name);
    let pending = Pending::new(cfg, tree, helpers, entered);
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
    has_role(cx, name, Role::may_meet_exception) || destroys_capsule(cx, name)
}

/// Whether the function is the destructor of a capsule: `PyCapsule_New(pointer, NULL, drop)`.
fn destroys_capsule(cx: &PackageCx<'_>, name: &str) -> bool {
    let is_it = |site: &CallSite| {
        let Some(tree) = cx.tree(site.item) else {
            return false;
        };
        let given = tree.call(site.expr).and_then(|(_, args)| args.get(2));
        given.is_some_and(|&arg| {
            let arg = tree.without_casts(arg);
            matches!(&tree.expr(arg).kind, ExprKind::Name(Name::Global(it)) if **it == *name)
        })
    };
    cx.calls_to("PyCapsule_New").iter().any(is_it)
}

fn has_role(cx: &PackageCx<'_>, name: &str, is_it: fn(&Role) -> bool) -> bool {
    let Some(roles) = cx.roles() else {
        return false;
    };
    cx.definitions(name)
        .any(|(id, function)| roles.of(cx.item(id), function).any(is_it))
}
