//! What a pointer may point to, as far as threads may meet there.

use std::ops::{BitOr, BitOrAssign};

/// Kinds of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Kinds(u16);

impl Kinds {
    /// On the stack of this call or of a caller, or allocated and not published.
    pub(super) const PRIVATE: Self = Self(1);
    /// Other threads may have it.
    pub(super) const SHARED: Self = Self(2);
    /// Elements of a buffer that the caller guards, what is constant.
    pub(super) const LENT: Self = Self(4);
    /// Bytes that an object lends to be read, which others may have.
    pub(super) const BYTES: Self = Self(8);
    /// The attributes of a type, which are shared.
    pub(super) const ATTRIBUTES: Self = Self(16);

    /// An object that the package keeps: what it says may be another thread's doing.
    pub(super) const KEPT: Self = Self(64);

    /// What a field leads to that methods change without a lock, as a rule reports: others may have it.
    pub(super) const REPORTED: Self = Self(256);

    /// Nothing: it is `NULL`.
    const NOWHERE: Self = Self(128);

    /// Private, and filled by other functions: what it leads to is private only where all that is
    /// stored in the field is.
    const FILLED: Self = Self(32);

    /// Whether nobody else has what this is, on every path.
    pub(super) fn is_private(self) -> bool {
        self.0 & !(Self::FILLED.0 | Self::NOWHERE.0) == Self::PRIVATE.0
    }

    /// Whether it leads to nothing, on every path that was seen.
    pub(super) fn is_nothing(self) -> bool {
        self.0 & !Self::NOWHERE.0 == 0
    }

    /// Whether nothing is known of it.
    pub(super) const fn is_unknown(self) -> bool {
        self.0 == 0
    }

    /// Whether other functions filled it.
    pub(super) const fn is_filled(self) -> bool {
        self.has(Self::FILLED)
    }

    /// Whether threads may meet where this is written: of a pointer of which nothing is known, too.
    pub(super) const fn is_open(self) -> bool {
        self.0 == 0 || self.is_of_others()
    }

    /// Whether others may have it.
    pub(super) const fn is_of_others(self) -> bool {
        self.has(Self::SHARED.or(Self::BYTES).or(Self::REPORTED))
    }

    /// Whether others may have it, and a rule reports all that is done with it.
    pub(super) const fn is_reported(self) -> bool {
        self.has(Self::REPORTED) && !self.has(Self::SHARED.or(Self::BYTES))
    }

    /// What pointers lead to that are read from there.
    pub(super) const fn of_others_inside(self) -> Self {
        match self.is_reported() {
            true => Self::REPORTED,
            false => Self::SHARED,
        }
    }

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.or(other)
    }
}

/// A pointer, or a struct with pointers in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct Value {
    /// What it points to.
    pub(super) points: Kinds,
    /// What pointers that are stored there point to.
    pub(super) inner: Kinds,
}

impl Value {
    /// No pointer.
    pub(super) const NONE: Self = Self::of(Kinds(0), Kinds(0));
    /// `NULL`.
    pub(super) const NULL: Self = Self::of(Kinds::NOWHERE, Kinds(0));
    /// Others may have it, and all that it leads to.
    pub(super) const SHARED: Self = Self::of(Kinds::SHARED, Kinds::SHARED);
    /// The same of an object that the package keeps.
    pub(super) const KEPT: Self = Self::of(Kinds::SHARED.or(Kinds::KEPT), Kinds::SHARED);
    /// Nobody else has it, nor what it leads to.
    pub(super) const PRIVATE: Self = Self::of(Kinds::PRIVATE, Kinds::PRIVATE);
    /// An object that nobody else has, with what other functions stored in it.
    pub(super) const OWN: Self = Self::of(
        Kinds::PRIVATE.or(Kinds::FILLED),
        Kinds::PRIVATE.or(Kinds::FILLED),
    );
    /// New memory that holds no pointer yet.
    pub(super) const FRESH: Self = Self::of(Kinds::PRIVATE, Kinds(0));
    /// See [`Kinds::LENT`].
    pub(super) const LENT: Self = Self::of(Kinds::LENT, Kinds::LENT);

    /// See [`Kinds::BYTES`].
    pub(super) const BYTES: Self = Self::of(Kinds::BYTES, Kinds::BYTES);
    /// See [`Kinds::ATTRIBUTES`].
    pub(super) const ATTRIBUTES: Self =
        Self::of(Kinds::ATTRIBUTES.or(Kinds::SHARED), Kinds::SHARED);

    pub(super) const fn of(points: Kinds, inner: Kinds) -> Self {
        Self { points, inner }
    }

    /// All that can be reached by it.
    pub(super) fn all(self) -> Kinds {
        self.points | self.inner
    }
}

impl BitOr for Value {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self::of(self.points | other.points, self.inner | other.inner)
    }
}

impl BitOrAssign for Value {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}
