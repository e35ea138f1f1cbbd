//! Operators of `lang_c` to ours.

use lang_c::ast;

use crate::ast::{BinaryOp, UnaryOp};

/// What a `lang_c` binary operator is in our tree.
pub(super) enum Operator {
    Index,
    Binary(BinaryOp),
    /// An assignment with the operator of a compound one.
    Assign(Option<BinaryOp>),
}

pub(super) fn unary(op: &ast::UnaryOperator) -> UnaryOp {
    match op {
        ast::UnaryOperator::PostIncrement => UnaryOp::PostIncrement,
        ast::UnaryOperator::PostDecrement => UnaryOp::PostDecrement,
        ast::UnaryOperator::PreIncrement => UnaryOp::PreIncrement,
        ast::UnaryOperator::PreDecrement => UnaryOp::PreDecrement,
        ast::UnaryOperator::Address => UnaryOp::AddressOf,
        ast::UnaryOperator::Indirection => UnaryOp::Deref,
        ast::UnaryOperator::Plus => UnaryOp::Plus,
        ast::UnaryOperator::Minus => UnaryOp::Minus,
        ast::UnaryOperator::Complement => UnaryOp::Complement,
        ast::UnaryOperator::Negate => UnaryOp::Not,
    }
}

pub(super) fn binary(op: &ast::BinaryOperator) -> Operator {
    use ast::BinaryOperator as C;
    match op {
        C::Index => Operator::Index,
        C::Multiply => Operator::Binary(BinaryOp::Multiply),
        C::Divide => Operator::Binary(BinaryOp::Divide),
        C::Modulo => Operator::Binary(BinaryOp::Modulo),
        C::Plus => Operator::Binary(BinaryOp::Plus),
        C::Minus => Operator::Binary(BinaryOp::Minus),
        C::ShiftLeft => Operator::Binary(BinaryOp::ShiftLeft),
        C::ShiftRight => Operator::Binary(BinaryOp::ShiftRight),
        C::Less => Operator::Binary(BinaryOp::Less),
        C::Greater => Operator::Binary(BinaryOp::Greater),
        C::LessOrEqual => Operator::Binary(BinaryOp::LessOrEqual),
        C::GreaterOrEqual => Operator::Binary(BinaryOp::GreaterOrEqual),
        C::Equals => Operator::Binary(BinaryOp::Equals),
        C::NotEquals => Operator::Binary(BinaryOp::NotEquals),
        C::BitwiseAnd => Operator::Binary(BinaryOp::BitAnd),
        C::BitwiseXor => Operator::Binary(BinaryOp::BitXor),
        C::BitwiseOr => Operator::Binary(BinaryOp::BitOr),
        C::LogicalAnd => Operator::Binary(BinaryOp::LogicalAnd),
        C::LogicalOr => Operator::Binary(BinaryOp::LogicalOr),
        C::Assign => Operator::Assign(None),
        C::AssignMultiply => Operator::Assign(Some(BinaryOp::Multiply)),
        C::AssignDivide => Operator::Assign(Some(BinaryOp::Divide)),
        C::AssignModulo => Operator::Assign(Some(BinaryOp::Modulo)),
        C::AssignPlus => Operator::Assign(Some(BinaryOp::Plus)),
        C::AssignMinus => Operator::Assign(Some(BinaryOp::Minus)),
        C::AssignShiftLeft => Operator::Assign(Some(BinaryOp::ShiftLeft)),
        C::AssignShiftRight => Operator::Assign(Some(BinaryOp::ShiftRight)),
        C::AssignBitwiseAnd => Operator::Assign(Some(BinaryOp::BitAnd)),
        C::AssignBitwiseXor => Operator::Assign(Some(BinaryOp::BitXor)),
        C::AssignBitwiseOr => Operator::Assign(Some(BinaryOp::BitOr)),
    }
}
