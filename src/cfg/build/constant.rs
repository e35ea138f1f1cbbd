//! Integer constants that a program writes as expressions: `-1`, `1 << 3`, `!0`.

use crate::ast::{BinaryOp, ExprId, ExprKind, Name, UnaryOp};
use crate::cfg::{Comparison, Operand};

use super::Builder;

/// How deep an expression may nest and still count as a constant.
const MAX_DEPTH: u32 = 32;

/// `op value`; `None` if that is no constant.
pub(super) fn unary(op: UnaryOp, value: i64) -> Option<i64> {
    match op {
        UnaryOp::Plus => Some(value),
        UnaryOp::Minus => value.checked_neg(),
        UnaryOp::Complement => Some(!value),
        UnaryOp::Not => Some(i64::from(value == 0)),
        UnaryOp::PostIncrement
        | UnaryOp::PostDecrement
        | UnaryOp::PreIncrement
        | UnaryOp::PreDecrement
        | UnaryOp::AddressOf
        | UnaryOp::Deref
        | UnaryOp::LabelAddress => None,
    }
}

/// `lhs op rhs`; `None` if that is no constant, overflows, or divides by zero.
pub(super) fn binary(op: BinaryOp, lhs: i64, rhs: i64) -> Option<i64> {
    let shift = || u32::try_from(rhs).ok().filter(|&by| by < 63);
    match op {
        BinaryOp::Multiply => lhs.checked_mul(rhs),
        BinaryOp::Divide => lhs.checked_div(rhs),
        BinaryOp::Modulo => lhs.checked_rem(rhs),
        BinaryOp::Plus => lhs.checked_add(rhs),
        BinaryOp::Minus => lhs.checked_sub(rhs),
        BinaryOp::ShiftLeft => lhs.checked_mul(1 << shift()?),
        BinaryOp::ShiftRight => Some(lhs >> shift()?),
        BinaryOp::BitAnd => Some(lhs & rhs),
        BinaryOp::BitXor => Some(lhs ^ rhs),
        BinaryOp::BitOr => Some(lhs | rhs),
        BinaryOp::LogicalAnd => Some(i64::from(lhs != 0 && rhs != 0)),
        BinaryOp::LogicalOr => Some(i64::from(lhs != 0 || rhs != 0)),
        BinaryOp::Comma => Some(rhs),
        BinaryOp::Less
        | BinaryOp::Greater
        | BinaryOp::LessOrEqual
        | BinaryOp::GreaterOrEqual
        | BinaryOp::Equals
        | BinaryOp::NotEquals => Some(i64::from(Comparison::of(op)?.holds(lhs, rhs))),
    }
}

/// The value of a constant that C spells as a name.
pub(super) fn named(name: &str) -> Option<Operand> {
    match name {
        "NULL" | "nullptr" => Some(Operand::Null),
        "true" | "TRUE" => Some(Operand::Int(1)),
        "false" | "FALSE" => Some(Operand::Int(0)),
        _ => None,
    }
}

impl Builder<'_> {
    /// The number that `expr` always has. Effects of a comma's left side do not count.
    pub(super) fn constant(&self, expr: ExprId) -> Option<i64> {
        self.constant_within(expr, MAX_DEPTH)
    }

    fn constant_within(&self, expr: ExprId, depth: u32) -> Option<i64> {
        let depth = depth.checked_sub(1)?;
        match &self.tree.expr(expr).kind {
            ExprKind::Int(value) => *value,
            ExprKind::Name(Name::Global(name)) => match named(name)? {
                Operand::Int(value) => Some(value),
                _ => None,
            },
            ExprKind::Unary { op, operand } => unary(*op, self.constant_within(*operand, depth)?),
            ExprKind::Binary {
                op: BinaryOp::Comma,
                rhs,
                ..
            } => self.constant_within(*rhs, depth),
            ExprKind::Binary { op, lhs, rhs } => {
                let rhs = self.constant_within(*rhs, depth)?;
                binary(*op, self.constant_within(*lhs, depth)?, rhs)
            }
            ExprKind::Name(Name::Local(_))
            | ExprKind::Float
            | ExprKind::Char
            | ExprKind::Str(_)
            | ExprKind::Call { .. }
            | ExprKind::Member { .. }
            | ExprKind::Index { .. }
            | ExprKind::Assign { .. }
            | ExprKind::Conditional { .. }
            | ExprKind::Cast { .. }
            | ExprKind::TypeQuery(_)
            | ExprKind::SizeOfExpr(_)
            | ExprKind::VaArg { .. }
            | ExprKind::Compound { .. }
            | ExprKind::Stmt(_) => None,
        }
    }
}
