//! A section that begins before the loop: where the size of the dict is asked for.
//!
//! ```c
//! Py_BEGIN_CRITICAL_SECTION(d);
//! keys = PyMem_New(char *, PyDict_Size(d));
//! while (PyDict_Next(d, &pos, &k, &v))
//!     keys[i++] = text_of(k);
//! Py_END_CRITICAL_SECTION();
//! ```

use crate::ast::{BinaryOp, ExprId, ExprKind, StmtId, StmtKind};
use crate::cfg::{Callee, InstrKind, Source};

use super::late::Late;
use super::null::may_be_null;
use super::operand::Operand;
use super::scope::{Scope, inside};
use super::site::{Region, Site};
use super::size::Asked;

/// The site with a region that holds all of `asked` as well; `None` if no run of statements in one
/// block does, or if it cannot become a block of its own. `calls` are all calls of `PyDict_Next` in
/// the function.
pub(super) fn with_sizes(
    scope: &Scope<'_>,
    site: &Site,
    asked: &[Asked<'_>],
    calls: &[ExprId],
) -> Option<Site> {
    if asked.iter().any(|asked| asked.of_list) {
        // What makes the list suspends the section.
        return None;
    }
    let mut region = region(scope, site, asked)?;
    if region.last == site.region.first {
        // What is to be done behind the loop, before others get the dict.
        region.last = site.region.last;
    } else if !inside(site.range(scope), scope.range(region.last)) {
        return None;
    }
    let first = || {
        let asks_first = |asked: &&Asked<'_>| is_unconditional(scope, region.first, asked.call);
        asked.iter().filter(asks_first)
    };
    let is_checked = is_checked_first(scope, site, region.first);
    let asks_first = is_checked || first().next().is_some();
    let crashes = is_checked || first().any(Asked::crashes);
    let begin = scope.cfg.before(region.first);
    let mut wide = Site {
        region,
        is_unconditional: true,
        may_be_null: !crashes && begin.is_none_or(|at| may_be_null(scope, site.dict, at)),
        ..*site
    };
    if !keeps_its_variables(scope, &wide) {
        let late = Late::new(scope, region.first)?;
        wide.region.first = late.next;
        wide.late = Some(late);
    }
    let range = wide.range(scope);
    let is_only_section = scope.steps_in(range).all(|step| match &step.kind {
        InstrKind::Call { callee, .. } => {
            let is_own = scope.is_inside(step.source, site.turn(scope));
            is_own
                || !begins_section(callee)
                    && !calls.iter().any(|&call| step.source == Source::Expr(call))
        }
        _ => true,
    });
    let operand = Operand::read(scope, &wide, range).ok()?;
    let is_possible = is_only_section
        && asks_first
        && matches!(operand, Operand::Variable(_))
        && keeps_its_variables(scope, &wide);
    is_possible.then_some(wide)
}

/// The statements of one block from the first that asks to the one with the loop.
fn region(scope: &Scope<'_>, site: &Site, asked: &[Asked<'_>]) -> Option<Region> {
    let holds = |stmt: StmtId, call: ExprId| inside(scope.expr(call).range, scope.range(stmt));
    let mut last = site.iteration;
    for block in scope.ancestors(site.iteration) {
        if let StmtKind::Block(stmts) = scope.stmt(block) {
            let to = stmts.iter().position(|&stmt| stmt == last)?;
            let stmts = &stmts[..=to];
            let asks = |stmt: &StmtId| asked.iter().any(|asked| holds(*stmt, asked.call));
            let held = |asked: &Asked<'_>| stmts.iter().any(|&stmt| holds(stmt, asked.call));
            if asked.iter().all(held) {
                let first = stmts.iter().copied().find(asks)?;
                return Some(Region { first, last });
            }
        }
        if scope.is_loop(block) {
            return None;
        }
        last = block;
    }
    None
}

fn begins_section(callee: &Callee) -> bool {
    matches!(callee, Callee::Named(name) if name.starts_with("PyCriticalSection") || &**name == "PyMutex_Lock")
}

/// Whether `call` is made whenever `stmt` is.
pub(super) fn is_unconditional(scope: &Scope<'_>, stmt: StmtId, call: ExprId) -> bool {
    let at = scope.expr(call).range;
    let within = |expr: ExprId| inside(at, scope.expr(expr).range);
    let is_skipped = scope.tree().exprs.iter().any(|expr| match expr.kind {
        ExprKind::Binary {
            op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
            rhs,
            ..
        } => within(rhs),
        ExprKind::Conditional {
            then, otherwise, ..
        } => then.is_some_and(within) || within(otherwise),
        _ => false,
    });
    let is_plain = matches!(
        scope.stmt(stmt),
        StmtKind::Expr(_) | StmtKind::Decl(_) | StmtKind::If { .. }
    );
    is_plain && !is_skipped && scope.stmt_of(call) == Some(stmt)
}

/// Whether the first statement asks what the object is before anything else, which reads it:
/// `if (PyDict_CheckExact(d) && PyDict_Size(d) == 1)`.
fn is_checked_first(scope: &Scope<'_>, site: &Site, first: StmtId) -> bool {
    let mut calls = scope.tree().calls();
    calls.any(|(call, name)| {
        let ExprKind::Call { args, .. } = &scope.expr(call).kind else {
            return false;
        };
        let of_dict = args.first().map(|&arg| scope.is_same_text(arg, site.dict));
        matches!(name, "PyDict_Check" | "PyDict_CheckExact")
            && of_dict == Some(true)
            && is_unconditional(scope, first, call)
    })
}

/// Whether what the region declares is used in it only, and where the function declares variables
/// behind statements anyway.
pub(super) fn keeps_its_variables(scope: &Scope<'_>, site: &Site) -> bool {
    let region = site.range(scope);
    let stmts = scope.statements(site.region.first, site.region.last);
    let declared = stmts.iter().filter_map(|&stmt| match scope.stmt(stmt) {
        StmtKind::Decl(decls) => Some(decls),
        _ => None,
    });
    let locals: Vec<_> = declared.flatten().map(|decl| decl.local).collect();
    let is_used_behind = scope.tree().exprs.iter().any(|expr| match expr.kind {
        ExprKind::Name(crate::ast::Name::Local(local)) => {
            locals.contains(&local) && !inside(expr.range, region)
        }
        _ => false,
    });
    !is_used_behind && (locals.is_empty() || scope.declares_anywhere())
}
