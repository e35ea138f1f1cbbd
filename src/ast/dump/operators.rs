//! Operators as text.

use crate::ast::UnaryOp;

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
