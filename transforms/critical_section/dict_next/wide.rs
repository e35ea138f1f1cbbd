//! A section that begins before the loop: where the size of the dict is asked for.
//!
//! ```c
//! Py_BEGIN_CRITICAL_SECTION(d);
//! keys = PyMem_New(char *, PyDict_Size(d));
//! while (PyDict_Next(d, &pos, &k, &v))
//!     keys[i++] = text_of(k);
//! Py_END_CRITICAL_SECTION();
//! ```

use std::collections::BTreeSet;

use crate::ast::{BinaryOp, ExprId, ExprKind, StmtId, StmtKind};
use crate::capi;
use crate::cfg::{Callee, InstrKind, Source, reaches};

use crate::program::CallSite;
use crate::provenance::Verdict;

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
    let mut region = region(scope, site, asked)?;
    if region.last == site.region.first {
        // What is to be done behind the loop, before others get the dict.
        region.last = site.region.last;
    } else if !inside(site.range(scope), scope.range(region.last)) {
        return None;
    }
    let wide = Site {
        region,
        is_unconditional: true,
        ..*site
    };
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
    let asks_first = asked
        .iter()
        .any(|asked| is_unconditional(scope, region.first, asked.call))
        || is_checked_first(scope, site, region.first);
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

/// Whether `call` is made whenever `stmt` is: the dict then is one.
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

/// The first call of the region that waits for a lock of something else while the size is in use:
/// that suspends the section, where the GIL kept other threads out.
pub(super) fn waits<'s>(scope: &'s Scope<'_>, site: &Site) -> Option<&'s str> {
    let iteration = scope.cfg.call(site.call)?;
    let mut calls = scope.steps_in(site.range(scope)).filter_map(|step| {
        let (
            InstrKind::Call {
                callee: Callee::Named(name),
                ..
            },
            Source::Expr(call),
        ) = (&step.kind, step.source)
        else {
            return None;
        };
        let is_before = reaches(&scope.cfg, scope.cfg.call(call)?, iteration, &[]);
        (call != site.call && is_before).then_some((call, &**name))
    });
    let waiting = calls.find(|&(call, name)| takes_lock(scope, call, name));
    waiting.map(|(_, name)| name)
}

/// Whether a call, or one of a function of the package below it, takes the lock of an object that
/// other threads know.
fn takes_lock(scope: &Scope<'_>, call: ExprId, name: &str) -> bool {
    let cx = scope.cx;
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![(scope.item, call, name)];
    while let Some((item, expr, name)) = open.pop() {
        if let Some(effects) = capi::effects(name) {
            let locked = match name {
                "PyDict_Next" => Some(0),
                _ => effects.locks,
            };
            let site = CallSite { item, expr };
            let is_shared = |arg| matches!(cx.provenance(site, arg), Verdict::Shared(_));
            if locked.is_some_and(|arg| is_shared(usize::from(arg))) {
                return true;
            }
        } else if seen.insert(name) {
            open.extend(cx.definitions(name).flat_map(|(item, function)| {
                let calls = function.tree.calls();
                calls.map(move |(call, name)| (item, call, name))
            }));
        }
    }
    false
}
