//! Conditions become edges.

use crate::ast::{BinaryOp, ExprId, ExprKind, UnaryOp};
use crate::cfg::{BlockId, Comparison, Condition, Operand, Terminator};

use super::Builder;

impl Builder<'_> {
    /// Goes to `then` if `expr` is true and to `otherwise` if not.
    pub(super) fn branch(&mut self, mut expr: ExprId, mut then: BlockId, mut otherwise: BlockId) {
        let tree = self.tree;
        loop {
            match &tree.expr(expr).kind {
                ExprKind::Unary {
                    op: UnaryOp::Not,
                    operand,
                } => {
                    std::mem::swap(&mut then, &mut otherwise);
                    expr = *operand;
                }
                ExprKind::Binary {
                    op: BinaryOp::Comma,
                    ..
                } => expr = self.effect_of_front(expr),
                ExprKind::Binary {
                    op: op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr),
                    ..
                } => {
                    return self.branch_chain(expr, *op, then, otherwise);
                }
                ExprKind::Binary { op, lhs, rhs } if Comparison::of(*op).is_some() => {
                    let (op, lhs, rhs) = (*op, *lhs, *rhs);
                    return self.branch_comparison(expr, op, [lhs, rhs], then, otherwise);
                }
                ExprKind::Call { callee, args } if !args.is_empty() && self.is_expect(*callee) => {
                    expr = args[0];
                }
                _ => {
                    let value = self.value(expr);
                    return self.branch_nonzero(expr, value, then, otherwise);
                }
            }
        }
    }

    /// `a && b && c` goes on to the next operand while they are true, `||` while they are false.
    fn branch_chain(&mut self, expr: ExprId, op: BinaryOp, then: BlockId, otherwise: BlockId) {
        let operands = self.spine(expr, op);
        let Some((&last, front)) = operands.split_last() else {
            return;
        };
        for &operand in front {
            let next = self.drafts.reserve();
            match op {
                BinaryOp::LogicalAnd => self.branch(operand, next, otherwise),
                _ => self.branch(operand, then, next),
            }
            self.drafts.start(next);
        }
        self.branch(last, then, otherwise);
    }

    fn branch_comparison(
        &mut self,
        expr: ExprId,
        op: BinaryOp,
        [lhs, rhs]: [ExprId; 2],
        then: BlockId,
        otherwise: BlockId,
    ) {
        let lhs = self.value(lhs);
        let rhs = self.value(rhs);
        let Some(comparison) = Comparison::of(op) else {
            return;
        };
        let condition = if lhs.is_constant() && !rhs.is_constant() {
            Condition {
                lhs: rhs,
                comparison: comparison.mirrored(),
                rhs: lhs,
                expr,
            }
        } else {
            Condition {
                lhs,
                comparison,
                rhs,
                expr,
            }
        };
        self.branch_on(condition, then, otherwise);
    }

    /// Goes to `then` if the value of `expr` is not zero.
    pub(super) fn branch_nonzero(
        &mut self,
        expr: ExprId,
        value: Operand,
        then: BlockId,
        otherwise: BlockId,
    ) {
        let comparison = Comparison::NotEqual;
        let condition = Condition {
            lhs: value,
            comparison,
            rhs: Operand::Int(0),
            expr,
        };
        self.branch_on(condition, then, otherwise);
    }

    fn branch_on(&mut self, condition: Condition, then: BlockId, otherwise: BlockId) {
        let numbers = number(&condition.lhs).zip(number(&condition.rhs));
        self.drafts.end(match numbers {
            Some((lhs, rhs)) if condition.comparison.holds(lhs, rhs) => Terminator::Goto(then),
            Some(_) => Terminator::Goto(otherwise),
            None => Terminator::Branch {
                condition,
                then,
                otherwise,
            },
        });
    }

    /// Whether `callee` is `__builtin_expect`, which stands behind `likely(x)` and gives its first
    /// argument.
    pub(super) fn is_expect(&self, callee: ExprId) -> bool {
        self.tree.callee_name(callee) == Some("__builtin_expect")
    }
}

fn number(operand: &Operand) -> Option<i64> {
    match operand {
        Operand::Int(value) => Some(*value),
        Operand::Null => Some(0),
        Operand::Temp(_) | Operand::Str(_) | Operand::AddressOf(_) | Operand::Unknown => None,
    }
}
