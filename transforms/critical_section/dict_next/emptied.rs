//! Loops whose dict is emptied or replaced after them: what the loop has not seen would be lost.
//!
//! ```c
//! while (PyDict_Next(inv, &pos, &key, &value)) {
//!     if (invalidate(key) < 0)
//!         return NULL;
//! }
//! PyDict_Clear(inv);
//! ```

use std::collections::BTreeSet;

use crate::ast::{ExprId, ExprKind, StmtId, StmtKind, Tree};
use crate::cfg::{Callee, InstrKind, Source, reaches};

use super::field::{names_in, sets, sets_one};
use super::operand::Operand;
use super::scope::Scope;
use super::site::{Region, Site};

/// What may empty the dict of `site`, or put another one in its place, on some path after its region.
///
/// ```c
/// if (reset)
///     PyDict_Clear(self->stats);      /* `PyDict_Clear` */
/// flush(self);                        /* `flush`, which calls that */
/// Py_SETREF(self->stats, fresh);      /* `Py_SETREF` */
/// ```
pub(super) fn later(scope: &Scope<'_>, site: &Site) -> Option<String> {
    let from = scope.cfg.call(site.call)?;
    let (tree, range) = (scope.tree(), site.range(scope));
    let names = holders(tree, site.dict);
    let is_dict = |&arg: &ExprId| {
        scope.is_same_text(scope.uncast(arg), scope.uncast(site.dict))
            || !names.is_disjoint(&holders(tree, arg))
    };
    let exprs = scope
        .cfg
        .steps()
        .filter_map(|(at, step)| match step.source {
            Source::Expr(expr) if !scope.is_inside(step.source, range) => Some((at, expr)),
            _ => None,
        });
    let mut exprs = exprs.filter(|(at, _)| reaches(&scope.cfg, from, *at, &[]));
    exprs.find_map(|(_, expr)| {
        let kind = &tree.expr(expr).kind;
        let call = match kind {
            ExprKind::Call { callee, args } => Some((tree.callee_name(*callee)?, args)),
            _ => None,
        };
        match call {
            _ if sets_one(tree, kind, &names) => Some(match call {
                Some((name, _)) => format!("`{name}`"),
                None => String::from("the assignment of another dict"),
            }),
            Some((name, args)) => {
                let gets = args.iter().any(is_dict);
                let empties =
                    gets && clears_itself(tree, expr, name) || empties(scope, name, &names, gets);
                empties.then(|| format!("`{name}`"))
            }
            None => None,
        }
    })
}

/// The fields and file-scope variables that hold what an expression gives.
fn holders(tree: &Tree, expr: ExprId) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    names_in(tree, expr, &mut names);
    if let Some(local) = tree.as_local(tree.without_casts(expr)) {
        for (_, value) in tree.stores().filter(|(stored, _)| *stored == local) {
            names_in(tree, value, &mut names);
        }
    }
    names
}

/// Whether a call empties the dict that it gets: `PyDict_Clear(d)`, and the method `clear` by its name.
fn clears_itself(tree: &Tree, call: ExprId, name: &str) -> bool {
    let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
        return false;
    };
    let mut texts = args.iter().filter_map(|&arg| tree.as_string(arg));
    name == "PyDict_Clear" || texts.any(|text| text == b"clear")
}

/// Whether a function of the package, or one that it calls, sets one of `names` or empties what these
/// hold, or a dict that it gets if it `gets` this one.
fn empties(scope: &Scope<'_>, name: &str, names: &BTreeSet<&str>, gets: bool) -> bool {
    let mut open: Vec<(&str, bool)> = vec![(name, gets)];
    let mut seen: BTreeSet<(&str, bool)> = BTreeSet::new();
    while let Some((name, gets)) = open.pop() {
        if !seen.insert((name, gets)) {
            continue;
        }
        for (_, function) in scope.cx.definitions(name) {
            let tree = &function.tree;
            if sets(tree, function.range, names) {
                return true;
            }
            for (call, name) in tree.calls() {
                let ExprKind::Call { args, .. } = &tree.expr(call).kind else {
                    continue;
                };
                let is_dict = |&arg: &ExprId| {
                    let of = holders(tree, arg);
                    gets && of.is_empty() || !of.is_disjoint(names)
                };
                let gets = args.iter().any(is_dict);
                if gets && clears_itself(tree, call, name) {
                    return true;
                }
                open.push((name, gets));
            }
        }
    }
    false
}

/// `PyDict_Clear` of the dict of `site` as the next statement after its region, or the next but
/// exits after a failure.
pub(super) fn clear_behind(scope: &Scope<'_>, site: &Site) -> Option<StmtId> {
    let block = scope.parent(site.region.last)?;
    let StmtKind::Block(stmts) = scope.stmt(block) else {
        return None;
    };
    let at = stmts.iter().position(|&stmt| stmt == site.region.last)?;
    let mut after = stmts[at + 1..].iter().copied();
    let next = after.find(|&stmt| {
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
