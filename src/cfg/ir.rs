//! Instructions: what one step of a function reads, writes and calls.

use crate::ast::{BinaryOp, ExprId, LocalId, StmtId, Type, UnaryOp};

use super::BlockId;

/// Names a value that is computed once a pass through its instruction and never changes after.
///
/// Each temporary has one defining instruction, except the results of `?:`, `&&` and `||`: each of
/// their arms ends in a [`InstrKind::Copy`] to the same temporary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TempId(pub u32);

/// A value that needs no further step to be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// Result of an earlier instruction.
    Temp(TempId),
    /// `NULL`, `nullptr`, or zero cast to a pointer type. A bare `0` is `Int(0)`, whatever it
    /// is used for: ask [`Operand::is_zero`].
    Null,
    /// An integer constant; `true` and `false` are 1 and 0.
    Int(i64),
    /// A string literal.
    Str(ExprId),
    /// `&place`, and the value of an array.
    AddressOf(Box<Place>),
    /// A value that no analysis follows and that is never a reference: a floating or character
    /// constant, `sizeof`, the address of a label, the result of what has none.
    Unknown,
}

impl Operand {
    /// Whether it is the null pointer or zero: both test false, and `0` may mean either.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        matches!(self, Self::Null | Self::Int(0))
    }

    /// Whether it is the same in every run.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        matches!(self, Self::Null | Self::Int(_) | Self::Str(_))
    }
}

/// Where a place begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// A parameter or block-scope variable.
    Local(LocalId),
    /// A name from outside the function. It may be a variable, an array, a function, an
    /// enumerator or an API macro such as `Py_None`: reading it is a load all the same, and who
    /// knows the name says what the load gives.
    Global(Box<str>),
    /// What a pointer points at.
    Deref(Operand),
    /// The object without a name that an expression makes: `(T){…}`, or the `struct` that `f()`
    /// returns in `f().field`.
    Unnamed(ExprId),
}

/// One step into an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projection {
    /// `.field`
    Field(Box<str>),
    /// `[index]`; in an initialiser without designators also the position in a `struct`.
    Index(Operand),
}

/// Something that can be read and written.
///
/// | C | place |
/// |---|---|
/// | `x` | `Local(x)` |
/// | `*p` | `Deref(p)` |
/// | `p->f.g` | `Deref(p)` `.f` `.g` |
/// | `p[i]` | `Deref(p)` `[i]` |
/// | `a[i]`, `a` a local array | `Local(a)` `[i]` |
///
/// Only local arrays are known to be arrays. The item `self->items[i]` is reached through the
/// value of `self->items`, whether that is a pointer or an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where it begins.
    pub base: Base,
    /// Steps from there.
    pub path: Vec<Projection>,
}

impl Place {
    /// The whole object at `base`.
    #[must_use]
    pub fn whole(base: Base) -> Self {
        Self {
            base,
            path: Vec::new(),
        }
    }

    /// The variable, if the place is all of one.
    #[must_use]
    pub fn as_local(&self) -> Option<LocalId> {
        match self.base {
            Base::Local(local) if self.path.is_empty() => Some(local),
            _ => None,
        }
    }

    /// The values the place is computed from, outermost pointer first.
    pub fn operands(&self) -> impl Iterator<Item = &Operand> {
        let pointer = match &self.base {
            Base::Deref(operand) => Some(operand),
            Base::Local(_) | Base::Global(_) | Base::Unnamed(_) => None,
        };
        pointer
            .into_iter()
            .chain(self.path.iter().filter_map(|step| match step {
                Projection::Index(index) => Some(index),
                Projection::Field(_) => None,
            }))
    }
}

/// What is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Callee {
    /// A function, function-like macro or file-scope function pointer, by name.
    Named(Box<str>),
    /// The value of an expression: `slots->fn(x)`, `(*callback)(x)`.
    Indirect(Operand),
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
}

/// The node an instruction was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
