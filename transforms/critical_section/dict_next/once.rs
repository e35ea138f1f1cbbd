//! Calls that only ask for the first item, of a dict that is known to have one.
//!
//! ```c
//! if (PyDict_Size(unused) != 0) {
//!     PyDict_Next(unused, &pos, &key, NULL);
//!     PyErr_Format(PyExc_TypeError, "%R is not known", key);
//!     return -1;
//! }
//! ```

use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, StmtId, StmtKind, UnaryOp};

use super::bound::size_of;
use super::scope::{Scope, inside};
use super::site::{Kind, Region, Site, is_stepped_by_outer_loop};
use super::size::Asked;
use super::values;
use super::wide::keeps_its_variables;

/// Most statements that a section around one call holds.
const MOST: usize = 20;

/// The site of a call that is a statement of its own, with the statements behind it up to the last
/// that uses key or value; `None` if there is none, or if not all of them stand in one block.
pub(super) fn with_uses(scope: &Scope<'_>, site: &Site, position: LocalId) -> Option<Site> {
    let StmtKind::Block(stmts) = scope.stmt(scope.parent(site.iteration)?) else {
        return None;
    };
    let at = stmts.iter().position(|&stmt| stmt == site.iteration)?;
    let first = *stmts.get(at + 1)?;
    let up_to = |last| Site {
        region: Region {
            first: site.iteration,
            last,
        },
        body: Region { first, last },
        ..*site
    };
    let is_used = values::uses(scope, site).outlives != 0;
    let mut sites = stmts[at + 1..].iter().take(MOST).map(|&last| up_to(last));
    let all = sites.find(|site| is_used && values::uses(scope, site).outlives == 0)?;
    let is_possible =
        !is_stepped_by_outer_loop(scope, site, position) && keeps_its_variables(scope, &all);
    is_possible.then_some(all)
}

/// Whether `stmt` is an `if` that is for leaving where there is no item:
/// `if (!PyDict_Next(d, &pos, &key, NULL)) return NULL;`.
pub(super) fn leaves_without(scope: &Scope<'_>, stmt: StmtId, call: ExprId) -> bool {
    let StmtKind::If {
        cond,
        then,
        otherwise: None,
    } = *scope.stmt(stmt)
    else {
        return false;
    };
    let is_none = match scope.expr(cond).kind {
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => operand == call,
        ExprKind::Binary {
            op: BinaryOp::Equals,
            lhs,
            rhs,
        } => lhs == call && matches!(scope.expr(rhs).kind, ExprKind::Int(Some(0))),
        _ => false,
    };
    is_none && scope.tree().leaves(then)
}

/// Whether the call of `site` is made only where one of the sizes `asked` says that the dict has an
/// item.
pub(super) fn has_item(scope: &Scope<'_>, site: &Site, asked: &[Asked<'_>]) -> bool {
    let is_asked = |expr: ExprId| {
        let size = size_of(scope, expr);
        size.is_some_and(|size| asked.iter().any(|asked| asked.call == size))
    };
    let call = scope.range(site.iteration);
    let says_so = || {
        scope
            .ancestors(site.iteration)
            .any(|stmt| match *scope.stmt(stmt) {
                StmtKind::If { cond, then, .. } => {
                    inside(call, scope.range(then)) && says_item(scope, cond, &is_asked)
                }
                _ => false,
            })
    };
    site.kind == Kind::Once && (leaves_without(scope, site.iteration, site.call) || says_so())
}

/// Whether `cond` holds only if a size is above 0.
fn says_item(scope: &Scope<'_>, cond: ExprId, is_size: &dyn Fn(ExprId) -> bool) -> bool {
    let bare = scope.uncast(cond);
    let ExprKind::Binary { op, lhs, rhs } = scope.expr(bare).kind else {
        return is_size(bare);
    };
    if op == BinaryOp::LogicalAnd {
        return says_item(scope, lhs, is_size) || says_item(scope, rhs, is_size);
    }
    let ExprKind::Int(Some(number)) = scope.expr(scope.uncast(rhs)).kind else {
        return false;
    };
    let is_above = match op {
        BinaryOp::Equals | BinaryOp::GreaterOrEqual => number > 0,
        BinaryOp::NotEquals => number == 0,
        BinaryOp::Greater => number >= 0,
        _ => false,
    };
    is_above && is_size(lhs)
}
