//! Lookups while an exception may be pending, which the old functions kept.
//!
//! ```c
//! v = PyDict_GetItem(d, k);               exc = PyErr_GetRaisedException();
//!                                         if (PyDict_GetItemRef(d, k, &v) < 0) {
//!                                             PyErr_WriteUnraisable(NULL);
//!                                         }
//!                                         PyErr_SetRaisedException(exc);
//! ```
//!
//! The last call puts the exception of before back. That is written only where a path shows one: a
//! call that fails and is not asked by then, a branch that asks, a caller in such a branch, a slot
//! that Python calls so. It is written as well where a loop just ends at an item that is gone, in a function that may
//! be called with an exception:
//!
//! ```c
//! wr = PyList_GET_ITEM(list, i);          exc = PyErr_GetRaisedException();
//!                                         wr = PyList_GetItemRef(list, i);
//!                                         PyErr_SetRaisedException(exc);
//!                                         if (wr == NULL) {
//!                                             break;
//!                                         }
//! ```
//!
//! An argument that may raise comes first:
//!
//! ```c
//! v = PyDict_GetItem(d, PyList_GetItem(keys, i));      key = PyList_GetItem(keys, i);
//!                                                      exc = PyErr_GetRaisedException();
//!                                                      if (PyDict_GetItemRef(d, key, &v) < 0) …
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::Draft;
use super::declarations::declares_next;
use super::names::Names;
use crate::ast::{BinaryOp, ExprId, ExprKind, Parent, StmtId, StmtKind};
use crate::capi::{self, Form, OldErrors, Returns};
use crate::strong::exits::exit::Failure;
use crate::strong::order::runs_first;
use crate::strong::pending::entered::keeps_entered;
use crate::strong::pending::raising::leaves_errors_alone;
use crate::strong::pending::unasked::{drops_exception, meets_exception};
use crate::strong::plan::{Lookup, Planned};
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::shape::Shape;

/// The variable that keeps the exception.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::strong) struct Saved {
    name: String,
    /// The first statement of the block that declares it, if several lookups use it.
    shared: Option<StmtId>,
    /// Arguments of the lookup that are computed before, with the names of their variables.
    early: Vec<(ExprId, String)>,
}

/// The statements around a lookup that keeps the exception of before.
pub(in crate::strong) struct Kept {
    pub save: String,
    pub restore: String,
}

/// What stands before and behind a call, if that keeps the exception of before.
pub(in crate::strong) fn around(kept: Option<&Kept>) -> (Vec<String>, Vec<String>) {
    let lines = kept.map(|kept| (kept.save.clone(), kept.restore.clone()));
    lines.into_iter().unzip()
}

impl Draft<'_, '_> {
    /// Notes that errors of a lookup end here, which may lose another exception.
    pub(in crate::strong) fn doubt_clear(&mut self, lookup: &Lookup) {
        if clears(self.scene, lookup) {
            let pending = self.earlier_exception(lookup);
            self.fix.assume(format!(
                "no lookup fails while {pending} is pending (that exception would be lost)"
            ));
        }
        if stops_with_another(self.scene, lookup) {
            let pending = self.earlier_exception(lookup);
            self.fix.assume(format!(
                "no item is missing while {pending} is pending (that exception would be dropped)"
            ));
        }
        if lookup.failure.drops_exception() && keeps_entered(self.scene, lookup.call) {
            let name = &self.scene.function.name;
            self.fix.assume(format!(
                "no item is missing when `{name}` is called with an exception set (that exception \
                 would be dropped, too)"
            ));
        }
    }

    /// What to call the exception that may be pending at a lookup.
    fn earlier_exception(&self, lookup: &Lookup) -> String {
        match self.scene.lost_before(lookup.call) {
            Some(name) => format!("the exception of an earlier `{name}`"),
            None => "an exception".to_owned(),
        }
    }
}

/// Names the variables for exceptions: lookups of a block, and of blocks in it, share one.
/// `declined` are lookups that stay as they are.
pub(in crate::strong) fn name_saved(
    scene: &Scene<'_>,
    groups: &mut [Vec<Planned>],
    declined: &BTreeMap<ExprId, Reason>,
    names: &mut Names,
) {
    let saving = groups.iter_mut().flat_map(saving(scene, declined));
    let mut saving: Vec<(&mut Lookup, Vec<ExprId>)> = saving.collect();
    saving.sort_by_key(|(lookup, _)| scene.cfg.call(lookup.call));
    let stmts = saving.iter().map(|(lookup, _)| scene.stmt_of(lookup.call));
    // The variable is declared behind the declarations at the top of its block.
    let is_decl = |stmt: &StmtId| matches!(scene.tree.stmt(*stmt).kind, StmtKind::Decl(_));
    let stmts = stmts.map(|stmt| stmt.filter(|stmt| !is_decl(stmt)));
    let around: Vec<Vec<StmtId>> = stmts.map(|stmt| blocks_around(scene, stmt)).collect();
    let innermost: BTreeSet<StmtId> = around.iter().filter_map(|it| it.first()).copied().collect();
    let outermost =
        |around: &Vec<StmtId>| around.iter().rfind(|it| innermost.contains(it)).copied();
    let homes: Vec<Option<StmtId>> = around.iter().map(outermost).collect();
    let mut shared: BTreeMap<StmtId, String> = BTreeMap::new();
    for ((lookup, early), &home) in saving.into_iter().zip(&homes) {
        let is_alone = homes.iter().filter(|&&other| other == home).count() == 1;
        let first = home
            .filter(|_| !is_alone)
            .and_then(|home| first_of(scene, home));
        let stmt = scene.stmt_of(lookup.call);
        let mut fresh = |stmt| names.fresh(scene, stmt, "exc");
        let name = match first {
            Some(at) => shared.entry(at).or_insert_with(|| fresh(first)).clone(),
            None => fresh(stmt),
        };
        let mut named = |arg| (arg, names.fresh(scene, stmt, stem(scene, lookup.call, arg)));
        lookup.failure.keep_exception();
        lookup.saved = Some(Saved {
            shared: first,
            name,
            early: early.into_iter().map(&mut named).collect(),
        });
    }
}

/// The blocks around a statement that may declare variables, innermost first: nothing runs in front
/// of the first `case` of a `switch`.
fn blocks_around(scene: &Scene<'_>, stmt: Option<StmtId>) -> Vec<StmtId> {
    let outer = |stmt: StmtId| match scene.parent_of_stmt(stmt)? {
        Parent::Stmt(outer) => Some(outer),
        Parent::Expr(_) => None,
    };
    let all = std::iter::successors(stmt.and_then(outer), |stmt| outer(*stmt));
    let is_switch = |stmt| matches!(scene.tree.stmt(stmt).kind, StmtKind::Switch { .. });
    all.filter(|&stmt| first_of(scene, stmt).is_some() && !outer(stmt).is_some_and(is_switch))
        .collect()
}

/// The first statement of a block.
fn first_of(scene: &Scene<'_>, block: StmtId) -> Option<StmtId> {
    match &scene.tree.stmt(block).kind {
        StmtKind::Block(stmts) => stmts.first().copied(),
        _ => None,
    }
}

/// The lookups of a group that are made while an exception may be pending, and whose arguments have
/// nothing to do with exceptions: they are made while it is put away. With those arguments that are
/// computed before.
fn saving<'g>(
    scene: &Scene<'_>,
    declined: &BTreeMap<ExprId, Reason>,
) -> impl FnMut(&'g mut Vec<Planned>) -> Vec<(&'g mut Lookup, Vec<ExprId>)> {
    move |group| {
        let all = group.iter().flat_map(|planned| &planned.home.lookups);
        let moved: BTreeSet<ExprId> = all
            .filter(|lookup| matches!(lookup.shape, Shape::Nested(_)))
            .map(|lookup| lookup.call)
            .collect();
        let all = group
            .iter_mut()
            .flat_map(|planned| &mut planned.home.lookups);
        let clearing = all.filter(|lookup| clears(scene, lookup) || ends_quietly(scene, lookup));
        let saving = clearing.filter_map(|lookup| {
            let early = early(scene, lookup.call, &moved, declined)?;
            let fits = early.is_empty() || comes_first(scene, lookup);
            fits.then_some((lookup, early))
        });
        saving.collect()
    }
}

/// Whether clearing the errors of a lookup may drop another exception. A literal key can fail as
/// well: the dict may hold one with the same hash that objects to the comparison.
pub(in crate::strong) fn clears(scene: &Scene<'_>, lookup: &Lookup) -> bool {
    lookup.replacement.errors == OldErrors::Swallowed
        && !matches!(lookup.failure, Failure::Exit(_))
        && meets_exception(scene, lookup.call)
}

/// Whether a function without a result is left where the item is gone, and another exception, which
/// somebody asks for, gets lost by that: an own one that its caller would see, or any that is
/// written out.
///
/// ```c
/// Py_XDECREF(PyObject_CallNoArgs(before));
/// Py_XDECREF(PyObject_CallNoArgs(PyList_GET_ITEM(hooks, 0)));      /* the caller asks */
/// ```
pub(in crate::strong) fn stops_with_another(scene: &Scene<'_>, lookup: &Lookup) -> bool {
    // What the function may be called with, `keeps_entered` looks at.
    let start = scene.cfg.before(scene.function.body);
    let is_entered = start.is_some_and(|start| scene.pending().is_shown_at(start));
    let is_own = || !is_entered || scene.lost_before(lookup.call).is_some();
    let call = scene.cfg.call(lookup.call);
    let is_known = || call.is_none_or(|point| scene.pending().is_known_at(point));
    matches!(lookup.failure, Failure::Stop(_))
        && is_own()
        && (lookup.failure.drops_exception() || is_known())
        && drops_exception(scene, lookup.call)
}

/// Whether a loop ends where the item is gone, and clearing the exception may drop one of an earlier
/// pass, or the one that the function is called with.
fn ends_quietly(scene: &Scene<'_>, lookup: &Lookup) -> bool {
    let may_drop = || drops_exception(scene, lookup.call) || keeps_entered(scene, lookup.call);
    matches!(lookup.failure, Failure::Break(..))
        && lookup.failure.drops_exception()
        && lookup.replacement.reads_list()
        && may_drop()
}

/// Whether clearing the exception of `call`, which finds an item gone, may drop another one of the
/// function, and that one cannot be put away for it.
pub(in crate::strong) fn loses_exception(scene: &Scene<'_>, call: ExprId) -> bool {
    let is_kept = || {
        let named = scene.call(call).filter(|(name, _)| capi::reads_list(name));
        named.is_some_and(|(_, args)| {
            let mut args = args.iter();
            args.all(|&arg| is_quiet(scene, arg, &BTreeSet::new()))
        })
    };
    drops_exception(scene, call) && !is_kept()
}

/// The arguments of `call` that have to be computed before an exception is put away; `None` if that
/// is not possible. `moved` are calls that move in front of the statement, `declined` those that
/// lend what may be gone soon.
fn early(
    scene: &Scene<'_>,
    call: ExprId,
    moved: &BTreeSet<ExprId>,
    declined: &BTreeMap<ExprId, Reason>,
) -> Option<Vec<ExprId>> {
    let (_, args) = scene.call(call)?;
    let args = args.iter().map(|&arg| scene.tree.without_casts(arg));
    let early: Vec<ExprId> = args.filter(|&arg| !is_quiet(scene, arg, moved)).collect();
    let may_move = |&arg: &ExprId| {
        let mut inner = scene.tree.exprs_in(scene.tree.expr(arg).range);
        gives_object(scene, arg)
            && scene.span(arg).is_some()
            && inner.all(|(it, _)| !moved.contains(&it) && !declined.contains_key(&it))
    };
    early.iter().all(may_move).then_some(early)
}

/// Whether nothing of the lookup's statement runs in front of it, or instead of it.
///
/// ```c
/// if (name != NULL && (v = PyDict_GetItem(d, PyTuple_GetItem(name, 1))))
/// PyObject *k = keys, *v = PyDict_GetItem(d, PyTuple_GetItem(k, 0));
/// ```
fn comes_first(scene: &Scene<'_>, lookup: &Lookup) -> bool {
    match lookup.shape {
        Shape::Inside(stmt, ..) => runs_first(scene, stmt, lookup.call, &BTreeSet::new()).is_ok(),
        Shape::Initialised(stmt, _) => {
            matches!(&scene.tree.stmt(stmt).kind, StmtKind::Decl(decls) if decls.len() == 1)
        }
        _ => true,
    }
}

/// What a variable for the argument `arg` of a lookup is called.
fn stem(scene: &Scene<'_>, call: ExprId, arg: ExprId) -> &'static str {
    let first = scene.call(call).and_then(|(_, args)| args.first());
    match first.is_some_and(|&first| scene.tree.without_casts(first) == arg) {
        true => "dict",
        false => "key",
    }
}

/// Whether `arg` calls a function of the C API that gives an object.
fn gives_object(scene: &Scene<'_>, arg: ExprId) -> bool {
    let called = scene.call(arg).and_then(|(name, _)| capi::effects(name));
    called.is_some_and(|effects| matches!(effects.returns, Returns::New | Returns::Borrowed))
}

/// Whether `arg` is the same with and without an exception, and raises none.
fn is_quiet(scene: &Scene<'_>, arg: ExprId, moved: &BTreeSet<ExprId>) -> bool {
    let mut inner = scene.tree.exprs_in(scene.tree.expr(arg).range);
    inner.all(|(id, expr)| match expr.kind {
        ExprKind::Call { .. } => {
            let called = scene.call(id);
            let leaves_alone = |(name, _): (&str, _)| leaves_errors_alone(name);
            moved.contains(&id) || called.is_some_and(leaves_alone)
        }
        ExprKind::Binary { op, .. } => !matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr),
        ExprKind::Conditional { .. } | ExprKind::Assign { .. } => false,
        _ => true,
    })
}

impl Draft<'_, '_> {
    /// Declares the variable for the exception before a lookup that gives `result`, and gives what
    /// stands around it.
    pub(in crate::strong) fn keep_exception(
        &mut self,
        lookup: &Lookup,
        saved: &Saved,
        result: &str,
    ) -> Kept {
        let name = &saved.name;
        let pointer = self.scene.layout.pointer("PyObject *");
        let stmt = match lookup.shape {
            Shape::Assigned(stmt, _)
            | Shape::Inside(stmt, ..)
            | Shape::Nested(stmt)
            | Shape::Initialised(stmt, _) => Some(stmt),
            Shape::Presence(..) => self.scene.stmt_of(lookup.call),
            Shape::Guarded(_) | Shape::Returned => None,
        };
        let is_behind = match lookup.shape {
            Shape::Initialised(stmt, _) => {
                lookup.replacement.form != Form::Return || self.moves_behind(stmt, result)
            }
            _ => false,
        };
        if let Some(stmt) = stmt {
            self.compute_early(stmt, saved);
        }
        let head = match (saved.shared, stmt) {
            (Some(first), _) => {
                self.declare_on_top(first, format!("{pointer}{name};"));
                format!("{name} =")
            }
            (None, Some(stmt)) if is_behind && !self.may_declare_behind(stmt) => {
                self.declare_behind(stmt, format!("{pointer}{name};"));
                format!("{name} =")
            }
            (None, Some(stmt)) if !is_behind => self.declare(stmt, "PyObject *", name),
            (None, _) => format!("{pointer}{name} ="),
        };
        self.compat("PyErr_GetRaisedException");
        self.compat("PyErr_SetRaisedException");
        Kept {
            save: format!("{head} PyErr_GetRaisedException();"),
            restore: format!("PyErr_SetRaisedException({name});"),
        }
    }

    /// Computes arguments of a lookup in front of `stmt`.
    fn compute_early(&mut self, stmt: StmtId, saved: &Saved) {
        for (arg, name) in &saved.early {
            let Some(span) = self.scene.span(*arg) else {
                continue;
            };
            let head = self.declare(stmt, "PyObject *", name);
            let value = self.aligned(stmt, span, head.len() + 1);
            self.before(stmt, [format!("{head} {value};")]);
            self.name_result(span, name);
        }
    }

    /// Whether the lines behind a declaration that gets a lookup may begin with another one.
    fn may_declare_behind(&self, stmt: StmtId) -> bool {
        let is_single = match &self.scene.tree.stmt(stmt).kind {
            StmtKind::Decl(decls) => decls.len() == 1,
            _ => false,
        };
        let is_first = !declares_next(self, stmt) && !self.moving.contains(&stmt);
        is_single && is_first || self.scene.file_mixes_declarations()
    }
}
