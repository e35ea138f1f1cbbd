//! Blocks that macros write around a call: `({ int r = 0; if (is_wanted()) r = PyObject_IsTrue(v);
//! r; })`.

use super::branch::Found;
use crate::ast::{ExprId, ExprKind, LocalId, StmtId, StmtKind, TokenRange, UnaryOp};
use crate::cfg::reaches;
use crate::strong::scene::Scene;

/// The function whose result a value is that a test `found` to be that, be it the result of a block
/// around a call of it.
pub(super) fn called_for<'a>(scene: &Scene<'a>, value: ExprId, found: Found) -> Option<&'a str> {
    let ExprKind::Stmt(block) = scene.tree.expr(value).kind else {
        return scene.call(value).map(|(name, _)| name);
    };
    let StmtKind::Block(stmts) = &scene.tree.stmt(block).kind else {
        return None;
    };
    let StmtKind::Expr(last) = scene.tree.stmt(*stmts.last()?).kind else {
        return None;
    };
    let local = scene.as_local(last)?;
    let is_own = stmts.iter().any(|&stmt| match &scene.tree.stmt(stmt).kind {
        StmtKind::Decl(decls) => decls.iter().any(|decl| decl.local == local),
        _ => false,
    });
    let block = Block {
        scene,
        within: scene.tree.expr(value).range,
        first: *stmts.first()?,
        local,
    };
    let known = block.known()?;
    let is_named = || {
        let text = scene.span(value).map(|span| scene.text(span));
        let rest = text.as_deref().and_then(|text| text.strip_prefix(known));
        rest.is_some_and(|rest| rest.starts_with('('))
    };
    // What has the name of the function, fails as it does: `#define PyObject_IsTrue(v) ({ … })`.
    let is_so = is_named() || is_own && block.tells_of(known, found) && !block.clears(known);
    is_so.then_some(known)
}

/// A block with the variable that it gives.
struct Block<'s, 'a> {
    scene: &'s Scene<'a>,
    within: TokenRange,
    first: StmtId,
    local: LocalId,
}

impl<'a> Block<'_, 'a> {
    fn stores(&self) -> impl Iterator<Item = ExprId> {
        let stores = self.scene.tree.stores();
        let stores = stores.filter(|&(given, value)| {
            given == self.local && self.within.contains(self.scene.tree.expr(value).range)
        });
        stores.map(|(_, value)| self.scene.tree.without_casts(value))
    }

    /// The one function with a known result whose result the variable gets.
    fn known(&self) -> Option<&'a str> {
        let calls = self.stores().filter_map(|value| self.scene.call(value));
        let is_known = |name: &&str| self.scene.cx.summaries().returns(name).is_some();
        let mut known = calls.map(|(name, _)| name).filter(is_known);
        let first = known.next()?;
        known.all(|other| other == first).then_some(first)
    }

    /// Whether the variable holds what a test `found` only where `known` gave it: all else that it
    /// gets are other numbers.
    fn tells_of(&self, known: &str, found: Found) -> bool {
        let tree = self.scene.tree;
        let is_other = |value: ExprId| match (self.number(value), found) {
            (Some(number), Found::Zero) => number != 0,
            (Some(number), Found::NotZero) => number == 0,
            (Some(number), Found::Negative) => number >= 0,
            (None, _) => self
                .scene
                .call(value)
                .is_some_and(|(name, _)| name == known),
        };
        let mut changes = tree.exprs_in(self.within);
        let only_stores = changes.all(|(expr, _)| {
            let place = tree.changed(expr);
            place.is_none_or(|place| self.scene.as_local(place) != Some(self.local))
                || matches!(tree.expr(expr).kind, ExprKind::Assign { op: None, .. })
        });
        only_stores
            && !self.scene.cfg.address_taken().contains(&self.local)
            && self.stores().all(is_other)
    }

    fn number(&self, value: ExprId) -> Option<i64> {
        let tree = self.scene.tree;
        match tree.expr(value).kind {
            _ if self.scene.is_null(value) => Some(0),
            ExprKind::Int(number) => number,
            ExprKind::Unary {
                op: UnaryOp::Minus,
                operand,
            } => self.number(tree.without_casts(operand))?.checked_neg(),
            _ => None,
        }
    }

    /// Whether something in the block is called behind a call of `known`, which may clear its
    /// exception.
    fn clears(&self, known: &str) -> bool {
        let (tree, cfg) = (self.scene.tree, self.scene.cfg);
        let is_call = |expr: ExprId| matches!(tree.expr(expr).kind, ExprKind::Call { .. });
        let calls = || {
            tree.exprs_in(self.within)
                .filter(|&(expr, _)| is_call(expr))
        };
        let is_known = |&(expr, _): &(ExprId, _)| tree.called(expr) == Some(known);
        let others = || calls().filter(|call| !is_known(call));
        let Some(start) = cfg.before(self.first) else {
            return true;
        };
        calls().filter(is_known).any(|(raising, _)| {
            others().any(|(other, _)| match (cfg.call(raising), cfg.call(other)) {
                (Some(from), Some(to)) => reaches(cfg, from.next(), to, &[start]),
                _ => true,
            })
        })
    }
}
