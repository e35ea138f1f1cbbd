//! How blocks end, and what decides where flow goes on.

use crate::ast::{BinaryOp, ExprId, StmtId};

use super::{BlockId, Operand};

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// The one that an operator of C makes.
    #[must_use]
    pub fn of(op: BinaryOp) -> Option<Self> {
        match op {
            BinaryOp::Less => Some(Self::Less),
            BinaryOp::Greater => Some(Self::Greater),
            BinaryOp::LessOrEqual => Some(Self::LessOrEqual),
            BinaryOp::GreaterOrEqual => Some(Self::GreaterOrEqual),
            BinaryOp::Equals => Some(Self::Equal),
            BinaryOp::NotEquals => Some(Self::NotEqual),
            BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Modulo
            | BinaryOp::Plus
            | BinaryOp::Minus
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight
            | BinaryOp::BitAnd
            | BinaryOp::BitXor
            | BinaryOp::BitOr
            | BinaryOp::LogicalAnd
            | BinaryOp::LogicalOr
            | BinaryOp::Comma => None,
        }
    }

    /// The comparison with its sides exchanged.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Equal => Self::Equal,
            Self::NotEqual => Self::NotEqual,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    /// Whether it holds between two numbers.
    #[must_use]
    pub fn holds(self, lhs: i64, rhs: i64) -> bool {
        match self {
            Self::Equal => lhs == rhs,
            Self::NotEqual => lhs != rhs,
            Self::Less => lhs < rhs,
            Self::LessOrEqual => lhs <= rhs,
            Self::Greater => lhs > rhs,
            Self::GreaterOrEqual => lhs >= rhs,
        }
    }
}

/// What a branch decides on. A constant stands on the right; `if (x)` is `x != 0`, and `!`, `&&`,
/// `||` are gone: they became edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Left side.
    pub lhs: Operand,
    /// The comparison.
    pub comparison: Comparison,
    /// Right side.
    pub rhs: Operand,
    /// The expression that was decided.
    pub expr: ExprId,
}

/// What a `case` label matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseLabel {
    /// A number.
    Int(i64),
    /// `case low ... high`, both ends included.
    Range(i64, i64),
    /// An enumerator or another constant whose number is not known; of a range, its lower end.
    Expr(ExprId),
}

/// How a block ends. The order of [`Terminator::targets`] names the edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Terminator {
    /// Goes on elsewhere.
    Goto(BlockId),
    /// Edge 0 if the condition holds, edge 1 if not.
    Branch {
        /// The condition.
        condition: Condition,
        /// Where to go if it holds.
        then: BlockId,
        /// Where to go if not.
        otherwise: BlockId,
    },
    /// One edge a case, in source order, then the default.
    Switch {
        /// The selector.
        value: Operand,
        /// Labels with their blocks.
        cases: Vec<(CaseLabel, BlockId)>,
        /// `default:`, or the end of the `switch`.
        default: BlockId,
        /// The `switch`.
        stmt: StmtId,
    },
    /// `goto *e`: any label whose address the function takes.
    Indirect(Vec<BlockId>),
    /// Leaves the function, by the given `return` or by the end of the body.
    Return(Option<Operand>, StmtId),
    /// Never reached: after a call that does not return.
    Unreachable,
}

impl Terminator {
    /// Targets by edge number; the same block may stand more than once.
    #[must_use]
    pub fn targets(&self) -> Vec<BlockId> {
        match self {
            Self::Goto(target) => vec![*target],
            Self::Branch {
                then, otherwise, ..
            } => vec![*then, *otherwise],
            Self::Switch { cases, default, .. } => cases
                .iter()
                .map(|&(_, target)| target)
                .chain([*default])
                .collect(),
            Self::Indirect(targets) => targets.clone(),
            Self::Return(..) | Self::Unreachable => Vec::new(),
        }
    }

    /// The values that are used.
    #[must_use]
    pub fn operands(&self) -> Vec<&Operand> {
        match self {
            Self::Branch { condition, .. } => vec![&condition.lhs, &condition.rhs],
            Self::Switch { value, .. } | Self::Return(Some(value), _) => vec![value],
            Self::Goto(_) | Self::Indirect(_) | Self::Return(None, _) | Self::Unreachable => {
                Vec::new()
            }
        }
    }

    /// Replaces each target by what `map` makes of it.
    pub(super) fn map_targets(&mut self, map: impl Fn(BlockId) -> BlockId) {
        match self {
            Self::Goto(target) => *target = map(*target),
            Self::Branch {
                then, otherwise, ..
            } => {
                *then = map(*then);
                *otherwise = map(*otherwise);
            }
            Self::Switch { cases, default, .. } => {
                for (_, target) in cases {
                    *target = map(*target);
                }
                *default = map(*default);
            }
            Self::Indirect(targets) => {
                for target in targets {
                    *target = map(*target);
                }
            }
            Self::Return(..) | Self::Unreachable => {}
        }
    }
}
