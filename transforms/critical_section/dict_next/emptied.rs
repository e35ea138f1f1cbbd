//! Loops whose dict is emptied right behind them: what the loop has not seen would be lost.
//!
//! ```c
//! while (PyDict_Next(inv, &pos, &key, &value)) {
//!     if (invalidate(key) < 0)
//!         return NULL;
//! }
//! PyDict_Clear(inv);
//! ```

use crate::ast::{ExprKind, StmtId, StmtKind};
use crate::cfg::{Callee, InstrKind};

use super::operand::Operand;
use super::scope::Scope;
use super::site::{Region, Site};

/// `PyDict_Clear` of the dict of `site` as the next statement behind its region, or the next but
/// exits after a failure.
pub(super) fn clear_behind(scope: &Scope<'_>, site: &Site) -> Option<StmtId> {
    let block = scope.parent(site.region.last)?;
    let StmtKind::Block(stmts) = scope.stmt(block) else {
        return None;
    };
    let at = stmts.iter().position(|&stmt| stmt == site.region.last)?;
    let mut behind = stmts[at + 1..].iter().copied();
    let next = behind.find(|&stmt| {
        !matches!(
            scope.stmt(stmt),
            StmtKind::If {
                otherwise: None,
                ..
            }
        )
    })?;
    clears(scope, site, next).then_some(next)
}

fn clears(scope: &Scope<'_>, site: &Site, stmt: StmtId) -> bool {
    let StmtKind::Expr(expr) = scope.stmt(stmt) else {
        return false;
    };
    let ExprKind::Call { callee, args } = &scope.expr(*expr).kind else {
        return false;
    };
    let is_same = |&arg| {
        let (arg, dict) = (scope.uncast(arg), scope.uncast(site.dict));
        scope.is_same_text(arg, dict)
    };
    scope.tree().callee_name(*callee) == Some("PyDict_Clear") && args.first().is_some_and(is_same)
}

/// The site with a region that ends with `clear`; `None` if a section or the end of one stands in
/// between, or if the dict is not in a variable that stays what it is.
pub(super) fn up_to(scope: &Scope<'_>, site: &Site, clear: StmtId) -> Option<Site> {
    let all = Site {
        region: Region {
            first: site.region.first,
            last: clear,
        },
        ..*site
    };
    let from = scope.range(site.region.last).end;
    let mut steps = scope.steps_in(all.range(scope));
    let locks = steps.any(|step| {
        let is_behind = scope.source_range(step.source).start >= from;
        let name = match &step.kind {
            InstrKind::Call {
                callee: Callee::Named(name),
                ..
            } => name,
            _ => return false,
        };
        is_behind && (name.starts_with("PyCriticalSection") || name.starts_with("PyMutex_"))
    });
    let operand = Operand::read(scope, &all, all.range(scope)).ok()?;
    (!locks && matches!(operand, Operand::Variable(_))).then_some(all)
}
