//! Values and places: what instructions work on.

use crate::ast::{ExprId, LocalId};

/// Names a value that is computed once a pass through its instruction and never changes after.
///
/// Each temporary has one defining instruction, except the results of `?:`, `&&` and `||`: each of
/// their arms ends in a [`InstrKind::Copy`](super::InstrKind::Copy) to the same temporary.
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
