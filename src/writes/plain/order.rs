//! Steps of which C does not say which one runs first, though the flow graph has an order.

use super::code::Code;
use crate::ast::{ExprKind, TokenRange, Tree};
use crate::capi;
use crate::cfg::{Cfg, Point, Source};

/// What is in no order, or in more than one.
#[derive(Debug)]
pub(super) struct Order {
    /// The operands of each expression of which several do something: `both(fill(t), append(list, t))`.
    operands: Vec<Vec<TokenRange>>,
    /// Whether a jump may lead to where `setjmp` was, from anywhere.
    jumps_back: bool,
}

impl Order {
    pub(super) fn new(tree: &Tree, cfg: &Cfg) -> Self {
        let acts = |range: &TokenRange| {
            let mut parts = tree.exprs_in(*range);
            parts.any(|(_, part)| match part.kind {
                ExprKind::Call { .. } | ExprKind::Assign { .. } => true,
                ExprKind::Unary { op, .. } => op.is_step(),
                _ => false,
            })
        };
        let operands = tree.exprs.iter().filter_map(|expr| {
            let operands = match &expr.kind {
                ExprKind::Call { args, .. } => args.clone(),
                ExprKind::Binary { op, lhs, rhs } if !op.is_sequenced() => vec![*lhs, *rhs],
                ExprKind::Assign { lhs, rhs, .. } => vec![*lhs, *rhs],
                ExprKind::Index { base, index } => vec![*base, *index],
                _ => return None,
            };
            let operands = operands.into_iter().map(|it| tree.expr(it).range);
            let acting: Vec<TokenRange> = operands.filter(acts).collect();
            (acting.len() > 1).then_some(acting)
        });
        let mut calls = cfg.steps().filter_map(|(_, instr)| instr.named_call());
        Self {
            operands: operands.collect(),
            jumps_back: calls.any(|(name, _)| capi::is_jumped_to(name)),
        }
    }

    /// Whether `at` may run after `from`, whatever the graph says.
    pub(super) fn is_open(&self, code: &Code<'_>, from: Point, at: Point) -> bool {
        if self.operands.is_empty() {
            return self.jumps_back;
        }
        let range = |point| match code.cfg.source(point)? {
            Source::Expr(expr) => Some(code.function.tree.expr(expr).range),
            Source::Stmt(_) => None,
        };
        let (Some(from), Some(at)) = (range(from), range(at)) else {
            return self.jumps_back;
        };
        let has = |operands: &[TokenRange], it| operands.iter().position(|all| all.contains(it));
        let mut operands = self.operands.iter();
        self.jumps_back
            || operands.any(|all| {
                let (from, at) = (has(all, from), has(all, at));
                from.is_some() && at.is_some() && from != at
            })
    }
}
