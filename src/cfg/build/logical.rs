//! `&&`, `||`, `?:` and `,` outside of conditions.

use crate::ast::{BinaryOp, ExprId, ExprKind};
use crate::cfg::{BlockId, InstrKind, Operand, Source, TempId};

use super::Builder;

impl Builder<'_> {
    /// The operands of `a op b op c …` in order.
    pub(super) fn spine(&self, expr: ExprId, op: BinaryOp) -> Vec<ExprId> {
        let mut operands = Vec::new();
        let mut at = expr;
        while let ExprKind::Binary {
            op: inner,
            lhs,
            rhs,
        } = &self.tree.expr(at).kind
            && *inner == op
        {
            operands.push(*rhs);
            at = *lhs;
        }
        operands.push(at);
        operands.reverse();
        operands
    }

    /// Runs all of `a, b, c` but the last, which is given back.
    pub(super) fn effect_of_front(&mut self, expr: ExprId) -> ExprId {
        let operands = self.spine(expr, BinaryOp::Comma);
        let Some((&last, front)) = operands.split_last() else {
            return expr;
        };
        for &operand in front {
            self.effect(operand);
        }
        last
    }

    /// `ready && go();`
    pub(super) fn effect_of_logical(&mut self, expr: ExprId, op: BinaryOp) {
        let join = self.drafts.reserve();
        let operands = self.spine(expr, op);
        let Some((&last, front)) = operands.split_last() else {
            return;
        };
        for &operand in front {
            let next = self.drafts.reserve();
            match op {
                BinaryOp::LogicalAnd => self.branch(operand, next, join),
                _ => self.branch(operand, join, next),
            }
            self.drafts.start(next);
        }
        self.effect(last);
        self.drafts.land(join);
    }

    /// `x = a && b;` is 1 or 0.
    pub(super) fn value_of_logical(&mut self, expr: ExprId) -> Operand {
        let dst = self.temp();
        let [then, otherwise, join] = std::array::from_fn(|_| self.drafts.reserve());
        self.branch(expr, then, otherwise);
        self.drafts.start(then);
        self.arm(expr, dst, Operand::Int(1), join);
        self.drafts.start(otherwise);
        self.arm(expr, dst, Operand::Int(0), join);
        self.drafts.land(join);
        Operand::Temp(dst)
    }

    /// `c ? x : d ? y : z`, of which tables are made that go on for pages.
    pub(super) fn value_of_conditional(&mut self, expr: ExprId) -> Operand {
        let dst = self.temp();
        let join = self.drafts.reserve();
        let last = self.each_arm(expr, |builder, arm, value| {
            let value = value.unwrap_or_else(|| builder.value(arm));
            builder.arm(arm, dst, value, join);
        });
        let value = self.value(last);
        self.arm(last, dst, value, join);
        self.drafts.land(join);
        Operand::Temp(dst)
    }

    /// `c ? f() : g();`
    pub(super) fn effect_of_conditional(&mut self, expr: ExprId) {
        let join = self.drafts.reserve();
        let last = self.each_arm(expr, |builder, arm, value| {
            if value.is_none() {
                builder.effect(arm);
            }
            builder.drafts.goto(join);
        });
        self.effect(last);
        self.drafts.land(join);
    }

    /// Decides the conditions of a chain of conditionals one after the other; `on_true` gets each
    /// arm for which one is true, with its value if that was computed before: `c ?: d`. Gives the
    /// arm for which all are false.
    fn each_arm(
        &mut self,
        expr: ExprId,
        mut on_true: impl FnMut(&mut Self, ExprId, Option<Operand>),
    ) -> ExprId {
        let tree = self.tree;
        let mut at = expr;
        while let ExprKind::Conditional {
            cond,
            then,
            otherwise,
        } = &tree.expr(at).kind
        {
            let [then_block, else_block] = std::array::from_fn(|_| self.drafts.reserve());
            let value = match then {
                Some(_) => {
                    self.branch(*cond, then_block, else_block);
                    None
                }
                None => {
                    let value = self.value(*cond);
                    self.branch_nonzero(*cond, value.clone(), then_block, else_block);
                    Some(value)
                }
            };
            self.drafts.start(then_block);
            on_true(self, then.unwrap_or(*cond), value);
            self.drafts.start(else_block);
            at = *otherwise;
        }
        at
    }

    fn arm(&mut self, expr: ExprId, dst: TempId, src: Operand, join: BlockId) {
        self.emit(Source::Expr(expr), InstrKind::Copy { dst, src });
        self.drafts.goto(join);
    }
}
