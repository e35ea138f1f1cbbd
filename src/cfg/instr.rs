//! Instructions: what one step of a function reads, writes and calls.

use crate::ast::{BinaryOp, ExprId, LocalId, StmtId, Type, UnaryOp};

use super::{Operand, Place, TempId};

/// What is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Callee {
    /// A function, function-like macro or file-scope function pointer, by name.
    Named(Box<str>),
    /// The value of an expression: `slots->fn(x)`, `(*callback)(x)`.
    Indirect(Operand),
}

impl Callee {
    /// The name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Indirect(_) => None,
        }
    }
}

/// An operation that only computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// `-`, `~`, `!`, `+`.
    Unary(UnaryOp),
    /// Arithmetic, bit operations and comparisons; `++` and `--` are `+ 1` and `- 1`.
    Binary(BinaryOp),
    /// `va_arg(list, type)`: gives the next argument and moves the list on.
    VaArg,
    /// What a macro may read in another build than this one, where it leaves it out.
    Look,
}

/// The node an instruction was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// An expression.
    Expr(ExprId),
    /// A statement.
    Stmt(StmtId),
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instr {
    /// What it does.
    pub kind: InstrKind,
    /// What it was made from.
    pub source: Source,
}

/// Kinds of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstrKind {
    /// Reads a place.
    Load {
        /// Gets the value.
        dst: TempId,
        /// What is read.
        place: Place,
    },
    /// Writes a place. `Int(0)` written to an object with members clears all of it, as
    /// `T x = {…}` does before its entries.
    Store {
        /// What is written.
        place: Place,
        /// The value.
        value: Operand,
    },
    /// The value of one arm of `?:`, `&&` or `||`.
    Copy {
        /// The value of the whole expression.
        dst: TempId,
        /// The arm's value.
        src: Operand,
    },
    /// The same value under another type.
    Cast {
        /// The value under its type.
        dst: TempId,
        /// The type.
        ty: Type,
        /// The value.
        src: Operand,
    },
    /// Computes without touching memory.
    Op {
        /// The result.
        dst: TempId,
        /// The operation.
        op: Op,
        /// What it is computed from.
        operands: Vec<Operand>,
    },
    /// A call. Its source is the call expression.
    Call {
        /// The result; defined also for functions without one.
        dst: TempId,
        /// What is called.
        callee: Callee,
        /// The arguments in order.
        args: Vec<Operand>,
    },
    /// An automatic variable begins to live, or lives anew: what it holds is indeterminate.
    Declare {
        /// The variable.
        local: LocalId,
    },
    /// Automatic variables go out of scope: at the end of their block, and on `break`,
    /// `continue`, `goto` and `return` out of it. Parameters never do.
    ScopeEnd {
        /// The variables, last declared first.
        locals: Vec<LocalId>,
    },
    /// Inline assembly: may do anything to memory.
    Asm,
}

impl Instr {
    /// The temporary that gets a value.
    #[must_use]
    pub fn dst(&self) -> Option<TempId> {
        match self.kind {
            InstrKind::Load { dst, .. }
            | InstrKind::Copy { dst, .. }
            | InstrKind::Cast { dst, .. }
            | InstrKind::Op { dst, .. }
            | InstrKind::Call { dst, .. } => Some(dst),
            InstrKind::Store { .. }
            | InstrKind::Declare { .. }
            | InstrKind::ScopeEnd { .. }
            | InstrKind::Asm => None,
        }
    }

    /// The name of the function that is called, and the call; `None` for other steps and for calls
    /// through pointers.
    #[must_use]
    pub fn named_call(&self) -> Option<(&str, ExprId)> {
        match (&self.kind, self.source) {
            (
                InstrKind::Call {
                    callee: Callee::Named(name),
                    ..
                },
                Source::Expr(call),
            ) => Some((name, call)),
            _ => None,
        }
    }

    /// The place that is read or written.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        match &self.kind {
            InstrKind::Load { place, .. } | InstrKind::Store { place, .. } => Some(place),
            _ => None,
        }
    }

    /// The values that are used, those that make up the place included.
    pub fn operands(&self) -> impl Iterator<Item = &Operand> {
        let (callee, values): (Option<&Operand>, &[Operand]) = match &self.kind {
            InstrKind::Store { value, .. } => (None, std::slice::from_ref(value)),
            InstrKind::Copy { src, .. } | InstrKind::Cast { src, .. } => {
                (None, std::slice::from_ref(src))
            }
            InstrKind::Op { operands, .. } => (None, operands),
            InstrKind::Call {
                callee: Callee::Indirect(callee),
                args,
                ..
            } => (Some(callee), args),
            InstrKind::Call {
                callee: Callee::Named(_),
                args,
                ..
            } => (None, args),
            InstrKind::Load { .. }
            | InstrKind::Declare { .. }
            | InstrKind::ScopeEnd { .. }
            | InstrKind::Asm => (None, &[]),
        };
        self.place()
            .into_iter()
            .flat_map(Place::operands)
            .chain(callee)
            .chain(values)
    }
}
