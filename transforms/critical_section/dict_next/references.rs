//! Strong references to key and value while the body of the loop runs.

use crate::ast::{StmtId, StmtKind};
use crate::source::ByteSpan;

use super::exits::Exits;
use super::scope::Scope;
use super::site::{Kind, Site};
use super::text::is_whole_in_every_branch;
use super::values::{KEY, Set, VALUE};

/// References that are taken at the top of the body and released wherever it is left.
#[derive(Debug, Default)]
pub(super) struct References {
    /// The variables, in the order in which they are taken.
    pub(super) names: Vec<String>,
    /// How many declarations of the body come before the first statement.
    pub(super) leading: usize,
    /// `break` and `continue` of the loop itself.
    pub(super) jumps: Vec<StmtId>,
    /// Whether the body can end by its end.
    pub(super) falls_through: bool,
}

impl References {
    /// References to the items in `needed`; `None` if they cannot be released on every path.
    pub(super) fn new(scope: &Scope<'_>, site: &Site, exits: &Exits, needed: Set) -> Option<Self> {
        let mut references = Self::default();
        for (local, set) in [(site.key, KEY), (site.value, VALUE)] {
            let Some(local) = local.filter(|_| needed & set != 0) else {
                continue;
            };
            let elsewhere = |expr| scope.mentions(expr, local);
            let is_elsewhere = site.step.is_some_and(elsewhere)
                || (site.cond != site.call && elsewhere_in_condition(scope, site, local));
            if is_elsewhere || scope.is_written(local, scope.range(site.body), None) {
                return None;
            }
            references.names.push(scope.name(local).to_owned());
        }
        if references.names.is_empty() {
            return Some(references);
        }
        if !site.is_body_after_item(scope) || site.kind == Kind::DoLoop {
            return None;
        }
        let mut last = site.body;
        if let StmtKind::Block(stmts) = scope.stmt(site.body) {
            last = *stmts.last()?;
            references.leading = leading_declarations(scope, stmts)?;
            if is_conditional(scope, site.body, stmts[references.leading]) {
                return None;
            }
        }
        references.falls_through = completes(scope, last);
        references.jumps.clone_from(&exits.own);
        Some(references)
    }

    pub(super) fn acquire(&self) -> Vec<String> {
        self.names
            .iter()
            .map(|name| format!("Py_INCREF({name});"))
            .collect()
    }

    pub(super) fn release(&self) -> Vec<String> {
        let names = self.names.iter().rev();
        names.map(|name| format!("Py_DECREF({name});")).collect()
    }
}

fn elsewhere_in_condition(scope: &Scope<'_>, site: &Site, local: crate::ast::LocalId) -> bool {
    let call = scope.expr(site.call).range;
    scope.mentions_outside(site.cond, local, call)
}

/// How many declarations stand in front of the references; `None` if they call something and the
/// function is C89: the references would come too late behind them.
fn leading_declarations(scope: &Scope<'_>, stmts: &[StmtId]) -> Option<usize> {
    let is_decl = |stmt: &&StmtId| matches!(scope.stmt(**stmt), StmtKind::Decl(_));
    let leading = stmts.iter().take_while(is_decl).count();
    let calls = stmts[..leading]
        .iter()
        .position(|&stmt| scope.stmt_calls(stmt));
    match calls {
        None => (leading < stmts.len()).then_some(leading),
        Some(first) => scope.declares_anywhere().then_some(first),
    }
}

/// Whether `stmt` stands in an `#if` of its block.
fn is_conditional(scope: &Scope<'_>, block: StmtId, stmt: StmtId) -> bool {
    let (Some((file, block)), Some((_, stmt))) = (scope.span(block), scope.span(stmt)) else {
        return true;
    };
    let above = ByteSpan::new(block.start().0, stmt.start().0);
    let tokens = &scope.cx.program.index[file.index()].tokens;
    !is_whole_in_every_branch(scope.cx.file(file).bytes(), tokens, above)
}

/// Whether flow comes out behind `stmt`.
fn completes(scope: &Scope<'_>, stmt: StmtId) -> bool {
    let after = scope.cfg.after(stmt);
    after.is_some_and(|point| scope.cfg.is_reachable(point.block))
}
