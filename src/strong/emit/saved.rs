//! Lookups while an exception may be pending, which the old functions kept.
//!
//! ```c
//! v = PyDict_GetItem(d, k);               exc = PyErr_GetRaisedException();
//!                                         (void)PyDict_GetItemRef(d, k, &v);
//!                                         PyErr_SetRaisedException(exc);
//! ```
//!
//! The last call puts the exception of before, or that there is none, in the place of what the
//! lookup raised.

use std::collections::{BTreeMap, BTreeSet};

use super::Draft;
use super::calls::declares_next;
use super::names::Names;
use crate::ast::{BinaryOp, ExprId, ExprKind, StmtId, StmtKind};
use crate::capi::OldErrors;
use crate::strong::exits::exit::Failure;
use crate::strong::pending::raising::leaves_errors_alone;
use crate::strong::plan::{Lookup, Planned};
use crate::strong::scene::{Parent, Scene};
use crate::strong::shape::Shape;

/// The variable that keeps the exception.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::strong) struct Saved {
    name: String,
    /// The first statement of the block that declares it, if several lookups use it.
    shared: Option<StmtId>,
}

/// The statements around a lookup that keeps the exception of before.
pub(in crate::strong) struct Kept {
    pub save: String,
    pub restore: String,
}

/// Names the variables for exceptions: lookups of a block, and of blocks in it, share one.
pub(in crate::strong) fn name_saved(
    scene: &Scene<'_>,
    groups: &mut [Vec<Planned>],
    names: &mut Names,
) {
    let mut saving: Vec<&mut Lookup> = groups.iter_mut().flat_map(saving(scene)).collect();
    saving.sort_by_key(|lookup| scene.cfg.call(lookup.call));
    let stmts = saving.iter().map(|lookup| scene.stmt_of(lookup.call));
    // The variable is declared behind the declarations at the top of its block.
    let is_decl = |stmt: &StmtId| matches!(scene.tree.stmt(*stmt).kind, StmtKind::Decl(_));
    let stmts = stmts.map(|stmt| stmt.filter(|stmt| !is_decl(stmt)));
    let around: Vec<Vec<StmtId>> = stmts.map(|stmt| blocks_around(scene, stmt)).collect();
    let innermost: BTreeSet<StmtId> = around.iter().filter_map(|it| it.first()).copied().collect();
    let outermost =
        |around: &Vec<StmtId>| around.iter().rfind(|it| innermost.contains(it)).copied();
    let homes: Vec<Option<StmtId>> = around.iter().map(outermost).collect();
    let mut shared: BTreeMap<StmtId, String> = BTreeMap::new();
    for (lookup, &home) in saving.into_iter().zip(&homes) {
        let is_alone = homes.iter().filter(|&&other| other == home).count() == 1;
        let first = home
            .filter(|_| !is_alone)
            .and_then(|home| first_of(scene, home));
        let mut fresh = |stmt| names.fresh(scene, stmt, "exc");
        lookup.saved = Some(Saved {
            shared: first,
            name: match first {
                Some(stmt) => shared.entry(stmt).or_insert_with(|| fresh(first)).clone(),
                None => fresh(scene.stmt_of(lookup.call)),
            },
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
/// nothing to do with exceptions: they are made while it is put away.
fn saving<'g>(scene: &Scene<'_>) -> impl FnMut(&'g mut Vec<Planned>) -> Vec<&'g mut Lookup> {
    move |group| {
        let all = group.iter().flat_map(|planned| &planned.home.lookups);
        let moved: BTreeSet<ExprId> = all
            .filter(|lookup| matches!(lookup.shape, Shape::Nested(_)))
            .map(|lookup| lookup.call)
            .collect();
        let all = group
            .iter_mut()
            .flat_map(|planned| &mut planned.home.lookups);
        all.filter(|lookup| clears(scene, lookup) && is_quiet(scene, lookup.call, &moved))
            .collect()
    }
}

/// Whether clearing the errors of a lookup may drop another exception: not where the key is a
/// literal, which is found or not.
pub(in crate::strong) fn clears(scene: &Scene<'_>, lookup: &Lookup) -> bool {
    lookup.replacement.errors == OldErrors::Swallowed
        && !matches!(lookup.failure, Failure::Exit(_))
        && scene.is_pending(lookup.call)
        && !scene.has_literal_key(lookup.call)
}

/// Whether the arguments of `call` are the same with and without an exception, and raise none;
/// `moved` are calls that move in front of the statement.
fn is_quiet(scene: &Scene<'_>, call: ExprId, moved: &BTreeSet<ExprId>) -> bool {
    let whole = scene.tree.expr(call).range;
    let exprs = (0u32..).map(ExprId).zip(&scene.tree.exprs);
    let mut inner = exprs.filter(|(id, expr)| {
        let is_inside = whole.start <= expr.range.start && expr.range.end <= whole.end;
        is_inside && *id != call
    });
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
    /// Declares the variable for the exception before a lookup, and gives what stands around it.
    pub(in crate::strong) fn keep_exception(&mut self, lookup: &Lookup, saved: &Saved) -> Kept {
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
        let is_behind = matches!(lookup.shape, Shape::Initialised(..));
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

    /// Whether the lines behind a declaration that gets a lookup may begin with another one.
    fn may_declare_behind(&self, stmt: StmtId) -> bool {
        let is_single = match &self.scene.tree.stmt(stmt).kind {
            StmtKind::Decl(decls) => decls.len() == 1,
            _ => false,
        };
        is_single && !declares_next(self, stmt) || self.scene.file_mixes_declarations()
    }
}
