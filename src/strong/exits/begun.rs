//! What a function begins, or ends, beside the variables and the references that are followed.
//!
//! ```c
//! Obj *self = (Obj *)op;
//! hold((Obj *)op);                              /* may begin what `put_back` ends */
//! …
//! end:
//!     put_back(self);
//! ```

use std::cell::LazyCell;

use super::beside::only_asks;
use super::branch::is_same;
use super::handled::raises;
use super::held::frees;
use super::locks::is_pair;
use super::read_behind::{is_behind, root};
use super::steady::acts;
use super::undone::begun_by;
use crate::ast::{ExprId, ExprKind, Name, Parent};
use crate::capi;
use crate::cfg::{Instr, InstrKind, Point, Source};
use crate::strong::scene::Scene;

/// Whether a step is a call that may begin what a call from `start` on ends: both get the same, or
/// nothing says what it is about. What the exit asks for has failed where it is taken.
pub(super) fn may_begin(
    scene: &Scene<'_>,
    instr: &Instr,
    start: Point,
    is_asked: impl Fn(ExprId) -> bool,
) -> bool {
    acting(scene, instr).is_some_and(|(call, name, args)| {
        let own = LazyCell::new(|| origins(scene, args));
        let may_be_ended_by = |ender: &Ender<'_>| {
            let (end, with) = (ender.name, ender.args);
            let mut pairs = args.iter().zip(with);
            let is_same = name == end && pairs.all(|(&one, &other)| is_same(scene, one, other));
            let is_unseen = || is_unknown(name) && is_unknown(end);
            // `UNPROTECT(1)` ends what `PROTECT` began.
            let is_one = || match begun_by(scene, end) {
                Some(begin) => begin == name,
                None => is_unseen() && is_about_all(scene, args, with),
            };
            let is_about_nothing = args.is_empty() && with.is_empty();
            let shares = is_about_nothing || share(scene, &own, &ender.origins);
            !is_same && (shares || is_pair(name, end) || is_one())
        };
        let mut behind = enders(scene)
            .iter()
            .filter(|it| is_behind(scene, it.call, start));
        !is_asked(call) && behind.any(may_be_ended_by)
    })
}

/// Whether a step is a call that does what is done from `start` on.
pub(super) fn ends_again(scene: &Scene<'_>, instr: &Instr, start: Point) -> bool {
    acting(scene, instr).is_some_and(|(_, name, args)| {
        let own = LazyCell::new(|| origins(scene, args));
        let mut same = enders(scene).iter().filter(|it| it.name == name);
        same.any(|it| {
            (args.is_empty() || share(scene, &own, &it.origins)) && is_behind(scene, it.call, start)
        })
    })
}

/// A step that is a call which may do more than to count, to look, or to raise.
fn acting<'s>(scene: &'s Scene<'_>, instr: &Instr) -> Option<(ExprId, &'s str, &'s [ExprId])> {
    let (InstrKind::Call { .. }, Source::Expr(call)) = (&instr.kind, instr.source) else {
        return None;
    };
    let (name, args) = scene.call(call)?;
    let is_plain = !acts(instr) || counts(name) || name.starts_with("PyErr_");
    (!is_plain).then_some((call, name, args))
}

/// A call that may end something.
pub(in crate::strong) struct Ender<'a> {
    call: ExprId,
    name: &'a str,
    args: &'a [ExprId],
    /// Of its arguments.
    origins: Vec<ExprId>,
}

/// The calls that may end something. References and memory are followed elsewhere.
fn enders<'s, 'a>(scene: &'s Scene<'a>) -> &'s [Ender<'a>] {
    let ender = |(call, _)| {
        let (name, args) = scene.call(call)?;
        (!is_called(scene, call) && may_end(scene, name, args)).then(|| Ender {
            call,
            name,
            args,
            origins: origins(scene, args),
        })
    };
    let find = || scene.tree.calls().filter_map(ender).collect();
    scene.enders.get_or_init(find)
}

/// Whether a call only says which function another one calls: `F(PyList_GetItem)(list, i)`.
fn is_called(scene: &Scene<'_>, call: ExprId) -> bool {
    match scene.parent_of_expr(call) {
        Some(Parent::Expr(outer)) => matches!(scene.tree.expr(outer).kind,
            ExprKind::Call { callee, .. } if callee == call),
        _ => false,
    }
}

/// Whether a call may end what another one began.
fn may_end(scene: &Scene<'_>, name: &str, args: &[ExprId]) -> bool {
    let is_own = |&root: &ExprId| {
        let local = scene.as_local(root);
        local.is_some_and(|local| !scene.tree.local(local).is_param)
    };
    let has_root = args.iter().all(|&arg| root(scene, arg).is_some());
    let is_followed = counts(name)
        || frees(name)
            && has_root
            && !args.is_empty()
            && without_calls(scene, args).iter().all(is_own);
    !is_followed && !only_asks(name) && !name.starts_with("PyErr_")
}

pub(super) fn counts(name: &str) -> bool {
    matches!(
        name,
        "Py_INCREF"
            | "Py_XINCREF"
            | "Py_NewRef"
            | "Py_XNewRef"
            | "Py_DECREF"
            | "Py_XDECREF"
            | "Py_CLEAR"
    )
}

/// Whether nothing is known of what a function of this name does. Memory is followed.
pub(super) fn is_unknown(name: &str) -> bool {
    capi::is_unknown(name) && !raises(name) && !name.to_ascii_lowercase().contains("lloc")
}

/// Whether two calls get something of the same variable, by any name, or both get nothing.
pub(super) fn shares(scene: &Scene<'_>, one: &[ExprId], other: &[ExprId]) -> bool {
    let origins = |args| origins(scene, args);
    one.is_empty() && other.is_empty() || share(scene, &origins(one), &origins(other))
}

/// Whether one of some names is one of others.
fn share(scene: &Scene<'_>, ones: &[ExprId], others: &[ExprId]) -> bool {
    let mut ones = ones.iter();
    ones.any(|&one| others.iter().any(|&other| is_same(scene, one, other)))
}

/// Whether one of two calls gets nothing that says what it works on, and the other one nothing but
/// what others know, too: `mark_busy(); … mark_idle(self);`.
fn is_about_all(scene: &Scene<'_>, one: &[ExprId], other: &[ExprId]) -> bool {
    let is_bare = |args: &[ExprId]| origins(scene, args).is_empty();
    let is_known = |args: &[ExprId]| {
        let mut origins = origins(scene, args).into_iter();
        origins.any(|origin| {
            let local = scene.as_local(origin);
            local.is_none_or(|local| scene.tree.local(local).is_param)
        })
    };
    match (is_bare(one), is_bare(other)) {
        (true, true) => true,
        (true, false) => is_known(other),
        (false, true) => is_known(one),
        (false, false) => false,
    }
}

/// The names that the arguments of a call are reached by, and those that these got their values
/// from: `op` of `self->lock` behind `self = (Obj *)op`. What a function of the package gives may
/// belong to what it got.
fn origins(scene: &Scene<'_>, args: &[ExprId]) -> Vec<ExprId> {
    reached(scene, args, |value| match scene.call(value) {
        Some((name, args)) if is_unknown(name) => args.to_vec(),
        _ => vec![value],
    })
}

/// The same without what functions give: the function owns that.
fn without_calls(scene: &Scene<'_>, args: &[ExprId]) -> Vec<ExprId> {
    reached(scene, args, |value| vec![value])
}

fn reached(
    scene: &Scene<'_>,
    args: &[ExprId],
    parts: impl Fn(ExprId) -> Vec<ExprId>,
) -> Vec<ExprId> {
    let is_variable = |&name: &ExprId| is_variable(scene, name);
    let roots = args.iter().filter_map(|&arg| root(scene, arg));
    let mut found: Vec<ExprId> = roots.filter(is_variable).collect();
    let mut next = 0;
    while let Some(&name) = found.get(next) {
        next += 1;
        let stores = scene.tree.stores();
        let stores = stores.filter(|(given, _)| Some(*given) == scene.as_local(name));
        let values = stores.flat_map(|(_, value)| parts(scene.tree.without_casts(value)));
        for root in values
            .filter_map(|value| root(scene, value))
            .filter(is_variable)
        {
            if !found.iter().any(|&it| is_same(scene, it, root)) {
                found.push(root);
            }
        }
    }
    found
}

/// Whether a name is that of a variable: `NULL` and `Py_None` are none.
fn is_variable(scene: &Scene<'_>, name: ExprId) -> bool {
    match scene.tree.expr(name).kind {
        ExprKind::Name(Name::Global(ref global)) => {
            !scene.is_null(name) && !global.starts_with("Py")
        }
        _ => true,
    }
}
