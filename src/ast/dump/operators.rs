//! Operators as text.

use crate::ast::{BinaryOp, UnaryOp};

pub(super) fn unary_text(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::PostIncrement => "post++",
        UnaryOp::PostDecrement => "post--",
        UnaryOp::PreIncrement => "++",
        UnaryOp::PreDecrement => "--",
        UnaryOp::AddressOf => "addr",
        UnaryOp::Deref => "deref",
        UnaryOp::Plus => "plus",
        UnaryOp::Minus => "neg",
        UnaryOp::Complement => "~",
        UnaryOp::Not => "!",
        UnaryOp::LabelAddress => "label-addr",
    }
}

pub(super) fn binary_text(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Modulo => "%",
        BinaryOp::Plus => "+",
        BinaryOp::Minus => "-",
        BinaryOp::ShiftLeft => "<<",
        BinaryOp::ShiftRight => ">>",
        BinaryOp::Less => "<",
        BinaryOp::Greater => ">",
        BinaryOp::LessOrEqual => "<=",
        BinaryOp::GreaterOrEqual => ">=",
        BinaryOp::Equals => "==",
        BinaryOp::NotEquals => "!=",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitXor => "^",
        BinaryOp::BitOr => "|",
        BinaryOp::LogicalAnd => "&&",
        BinaryOp::LogicalOr => "||",
        BinaryOp::Comma => ",",
    }
}
