//! Whether the test that bounds an index speaks of the list as the read finds it.

use super::region::stores;
use super::{Held, argument};
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, StmtKind};
use crate::capi::{self, PLAIN_LIST_SIZES};
use crate::cfg::{Callee, Instr, InstrKind, Point, reaches};
use crate::transforms::critical_section::dict_next::null::points;
use crate::transforms::critical_section::dict_next::scope::{Scope, inside};

/// Whether a condition around `read` says that its index is below the size, and nothing since then
/// may have changed either.
pub(super) fn is_bounded(held: &Held<'_>, read: ExprId) -> bool {
    let scope = held.scope;
    let Some(index) = argument(scope, read, 1).and_then(|index| scope.local(index)) else {
        return false;
    };
    let around = scope.stmt_of(read).into_iter();
    let around = around.flat_map(|stmt| std::iter::once(stmt).chain(scope.ancestors(stmt)));
    let mut inner = around.take_while(|&stmt| inside(scope.range(stmt), held.range()));
    inner.any(|stmt| {
        let (cond, body) = match *scope.stmt(stmt) {
            StmtKind::For {
                cond: Some(cond),
                body,
                ..
            }
            | StmtKind::While { cond, body } => (cond, body),
            StmtKind::If { cond, then, .. } => (cond, then),
            _ => return false,
        };
        let tests = conjuncts(scope, cond);
        inside(scope.expr(read).range, scope.range(body))
            && tests
                .into_iter()
                .any(|test| bounds(held, read, index, test))
    })
}

/// The parts of a condition that all hold where it does.
fn conjuncts(scope: &Scope<'_>, cond: ExprId) -> Vec<ExprId> {
    match scope.expr(cond).kind {
        ExprKind::Binary {
            op: BinaryOp::LogicalAnd,
            lhs,
            rhs,
        } => [conjuncts(scope, lhs), conjuncts(scope, rhs)].concat(),
        _ => vec![cond],
    }
}

/// Whether `test` is `index < size`, and both are the same at `read`.
fn bounds(held: &Held<'_>, read: ExprId, index: LocalId, test: ExprId) -> bool {
    let scope = held.scope;
    let (below, size) = match scope.expr(test).kind {
        ExprKind::Binary {
            op: BinaryOp::Less,
            lhs,
            rhs,
        } => (lhs, rhs),
        ExprKind::Binary {
            op: BinaryOp::Greater,
            lhs,
            rhs,
        } => (rhs, lhs),
        _ => return false,
    };
    if scope.local(scope.uncast(below)) != Some(index) {
        return false;
    }
    let ask = asked(held, scope.uncast(size)).and_then(|ask| scope.cfg.call(ask));
    let (Some(ask), Some(read), Some(begin), Some(tested)) = (
        ask,
        scope.cfg.call(read),
        scope.cfg.before(held.region.first),
        loaded(scope, index, test),
    ) else {
        return false;
    };
    let comes = |from, past| reaches(&scope.cfg, from, read, &[past]);
    let mut steps = stores(scope, index).into_iter();
    !scope.cfg.pointed_at().contains(&index)
        && !comes(begin, tested)
        && !comes(begin, ask)
        && !steps.any(|step| comes(step, tested))
        && !held.suspensions().iter().any(|(at, _)| comes(*at, ask))
}

/// The call that gave `size`: itself, or the only value of the variable that it is.
fn asked(held: &Held<'_>, size: ExprId) -> Option<ExprId> {
    let scope = held.scope;
    let is_ask = |&call: &ExprId| {
        let name = scope.tree().called(call);
        held.asks.contains(&call) && name.is_some_and(|name| PLAIN_LIST_SIZES.contains(&name))
    };
    let Some(local) = scope.local(size) else {
        return Some(size).filter(is_ask);
    };
    let mut values = scope.tree().stores().filter(|(to, _)| *to == local);
    let (_, value) = values.next()?;
    let is_only = stores(scope, local).len() == 1 && !scope.cfg.pointed_at().contains(&local);
    Some(scope.uncast(value)).filter(is_ask).filter(|_| is_only)
}

/// Where `test` reads the variable.
fn loaded(scope: &Scope<'_>, local: LocalId, test: ExprId) -> Option<Point> {
    let range = scope.expr(test).range;
    let mut loads = points(scope).filter(|(_, step)| {
        scope.is_inside(step.source, range)
            && matches!(&step.kind, InstrKind::Load { place, .. } if place.as_local() == Some(local))
    });
    loads.next().map(|(at, _)| at)
}

/// Whether no call waits for a lock between a size and a read of the list: that suspends the section,
/// where the GIL kept other threads out. What runs Python code let them in before as well.
///
/// ```c
/// texts = PyMem_New(char *, PyList_GET_SIZE(list));
/// for (i = 0; i < PyList_GET_SIZE(list); i++) {
///     texts[i] = text_of(PyList_GET_ITEM(list, i));
///     PyList_Append(others, number);          /* another thread adds to `list` */
/// }
/// ```
pub(super) fn sizes_hold(held: &Held<'_>) -> bool {
    let scope = held.scope;
    let calls = |calls: &[ExprId]| -> Vec<Point> {
        let points = calls.iter().filter_map(|&call| scope.cfg.call(call));
        points.collect()
    };
    let (reads, asks) = (calls(&held.reads), calls(&held.asks));
    let suspensions = held.suspensions();
    let mut waits = suspensions.iter().filter(|(_, step)| only_waits(step));
    let between = |from: Point, wait: Point, to: Point| {
        reaches(&scope.cfg, from, wait, &[]) && reaches(&scope.cfg, wait, to, &[from])
    };
    !waits.any(|&(wait, _)| {
        let mut pairs = asks
            .iter()
            .flat_map(|&ask| reads.iter().map(move |&read| (ask, read)));
        pairs.any(|(ask, read)| between(ask, wait, read) || between(read, wait, ask))
    })
}

/// Whether the GIL may have been kept all through a call.
fn only_waits(step: &Instr) -> bool {
    let InstrKind::Call {
        callee: Callee::Named(name),
        ..
    } = &step.kind
    else {
        return true;
    };
    !capi::effects(name).is_some_and(|effects| effects.runs_python)
}
