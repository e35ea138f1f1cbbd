//! Whether `errno`, or a variable of the file, is still read behind the end of a section: releases
//! may run code that sets it.
//!
//! ```c
//! while (PyDict_Next(dict, &pos, &key, &value)) {
//!     if (close(PyLong_AsLong(value)) < 0)
//!         goto io_error;
//! }
//! …
//! io_error:
//!     return PyErr_SetFromErrno(PyExc_OSError);
//! ```

use std::collections::BTreeSet;

use super::exits::{Exit, ExitKind, Exits, is_return_macro};
use super::plan::Plan;
use super::scope::{Scope, inside};
use super::site::Site;
use crate::ast::{ExprKind, Name, StmtId, TokenRange};
use crate::cfg::Point;
use crate::edit::Fix;
use crate::strong::{Around, Errno, errno_functions};

/// Assumes that what is read behind the section is as it was in it.
pub(super) fn assume_kept(
    scope: &Scope<'_>,
    site: &Site,
    exits: &Exits,
    plan: &Plan,
    fix: &mut Fix,
) {
    let computed = plan.exits.iter().filter(|departure| departure.has_value);
    let computed: BTreeSet<StmtId> = computed.map(|departure| departure.exit.stmt).collect();
    let mut points: Vec<Option<Point>> = Vec::new();
    for departure in &plan.exits {
        let first = departure.moved.first().copied();
        let stmt = first.unwrap_or(departure.exit.stmt);
        // What is computed has read it before.
        if !computed.contains(&departure.exit.stmt) {
            points.push(scope.cfg.before(stmt));
        }
    }
    points.extend(exits.own.iter().map(|&stmt| scope.cfg.before(stmt)));
    points.push(scope.cfg.after(site.region.last));
    assume_errno(scope, points.into_iter().flatten(), fix);
    let later = plan.exits.iter().flat_map(|departure| {
        let own = is_done_behind(scope, &departure.exit).then_some(departure.exit.stmt);
        departure.moved.iter().copied().chain(own)
    });
    assume_globals(scope, later, fix);
}

/// Assumes that variables of the file that `stmts` read, behind releases, are not set by these.
fn assume_globals(scope: &Scope<'_>, stmts: impl Iterator<Item = StmtId>, fix: &mut Fix) {
    let names = stmts.flat_map(|stmt| read_globals(scope, scope.range(stmt)));
    let names: BTreeSet<String> = names.collect();
    for name in names {
        fix.assume(format!(
            "no code that the releases run sets `{name}` before it is read after them"
        ));
    }
}

/// The same for the release of a copy in front of `exits`.
pub(super) fn assume_kept_by_copy<'e>(
    scope: &Scope<'_>,
    last: StmtId,
    exits: impl Iterator<Item = &'e Exit>,
    own: &[StmtId],
    fix: &mut Fix,
) {
    let exits: Vec<&Exit> = exits.collect();
    let left = exits
        .iter()
        .map(|exit| exit.stmt)
        .chain(own.iter().copied());
    let left = left.filter_map(|stmt| scope.cfg.before(stmt));
    assume_errno(scope, left.chain(scope.cfg.after(last)), fix);
    let macros = exits.iter().filter(|exit| is_done_behind(scope, exit));
    assume_globals(scope, macros.map(|exit| exit.stmt), fix);
}

/// Assumes that `errno` stays where it is wanted at one of `points`.
fn assume_errno(scope: &Scope<'_>, points: impl Iterator<Item = Point>, fix: &mut Fix) {
    let around = Around::new(errno_functions(scope.cx), &scope.function.name);
    let errno = Errno::new(&scope.cfg, around);
    let mut points = points.filter(|point| scope.cfg.is_reachable(point.block));
    if points.any(|point| errno.is_wanted(point)) {
        fix.assume(
            "the releases before `errno` is read do not run code that changes it".to_owned(),
        );
    }
}

/// Whether a macro makes the exit, and reads behind the section what it read in it.
fn is_done_behind(scope: &Scope<'_>, exit: &Exit) -> bool {
    let text = scope.stmt_text(exit.stmt).unwrap_or_default();
    exit.kind == ExitKind::Macro || is_return_macro(&text)
}

/// Variables of the file that hold no object and are read in `range`.
fn read_globals<'s>(scope: &'s Scope<'_>, range: TokenRange) -> impl Iterator<Item = String> + 's {
    let (tree, types) = (scope.tree(), scope.cx.types());
    let callees = tree
        .exprs_in(range)
        .filter_map(|(_, expr)| match expr.kind {
            ExprKind::Call { callee, .. } => Some(tree.expr(callee).range),
            _ => None,
        });
    let callees: Vec<TokenRange> = callees.collect();
    tree.exprs_in(range).filter_map(move |(id, expr)| {
        let ExprKind::Name(Name::Global(name)) = &expr.kind else {
            return None;
        };
        let ty = types.is_variable(name).then(|| types.of(tree, id))??;
        let is_called = callees.iter().any(|callee| inside(expr.range, *callee));
        let may_change = !ty.is_const && (types.is_number(ty) || types.pointee(ty).is_some());
        let may_change = may_change && !types.is_object_pointer(ty);
        (may_change && !is_called).then(|| name.to_string())
    })
}
