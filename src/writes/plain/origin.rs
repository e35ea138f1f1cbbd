//! Whose a pointer of a function may be.
//!
//! ```c
//! struct box b;                   &b              the stack
//! char *out = malloc(n);          out + 1         what `malloc` made
//! node *next = self->next;        next            foreign: whatever others have
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::ops::BitOrAssign;

use super::escape::Escapes;
use crate::ast::{ExprId, LocalId};
use crate::cfg::TempId;
use crate::writes::value::{Kinds, Value};

/// Memory that a function has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Root {
    /// A variable on the stack.
    Stack(LocalId),
    /// `(T){…}`
    Literal(ExprId),
    /// What a call made.
    Made(TempId),
    /// What the caller gives, which it has for itself: see [`Plain::given`].
    Param(usize),
    /// What can be reached from there when the function begins.
    Within(usize),
    /// A constant, whose pointers may lead to what others have.
    Constant,
}

/// Whose a pointer may be, besides the function's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::writes) struct Foreign {
    /// Others may have it.
    pub(super) given: bool,
    /// It is the object, or the module, whose method runs, or a type or a module by its name.
    pub(super) is_self: bool,
    /// The package keeps it where other threads find it.
    pub(super) kept: bool,
}

impl Foreign {
    pub(in crate::writes) const NOT: Self = Self {
        given: false,
        is_self: false,
        kept: false,
    };
    pub(in crate::writes) const GIVEN: Self = Self {
        given: true,
        is_self: false,
        kept: false,
    };
    pub(in crate::writes) const KEPT: Self = Self {
        given: true,
        is_self: false,
        kept: true,
    };
    pub(super) const SELF: Self = Self {
        given: true,
        is_self: true,
        kept: false,
    };

    /// Whether what is known of it, or asked of it, is so for other threads as well.
    pub(super) const fn is_known(self) -> bool {
        self.kept || self.is_self
    }

    /// The same of what Python gives.
    pub(in crate::writes) fn of(value: Value) -> Self {
        match value.points {
            points if points.has(Kinds::KEPT) => Self::SELF,
            points if points.is_private() => Self::NOT,
            _ => Self::GIVEN,
        }
    }
}

impl BitOrAssign for Foreign {
    fn bitor_assign(&mut self, other: Self) {
        self.given |= other.given;
        self.is_self |= other.is_self;
        self.kept |= other.kept;
    }
}

/// All that a pointer may point into.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Origin {
    pub(super) foreign: Foreign,
    pub(super) roots: BTreeSet<Root>,
    /// Whether it is a number of which nobody knows whether it is an address.
    pub(super) number: bool,
}

impl Origin {
    pub(super) fn of(root: Root) -> Self {
        Self {
            roots: [root].into(),
            ..Self::default()
        }
    }

    /// A number that comes from elsewhere.
    pub(super) const NUMBER: Self = Self {
        foreign: Foreign::NOT,
        roots: BTreeSet::new(),
        number: true,
    };

    /// Something of which not even the type is known.
    pub(super) const UNKNOWN: Self = Self {
        foreign: Foreign::GIVEN,
        roots: BTreeSet::new(),
        number: true,
    };

    /// The bytes of it, one of several of which an address may be put together.
    pub(super) fn bytes(&self) -> Self {
        Self {
            number: self.number || self.is_followed(),
            ..Self::default()
        }
    }

    /// It as an address: what a number says may be anybody's.
    pub(super) fn into_address(mut self) -> Self {
        if std::mem::take(&mut self.number) {
            self.foreign |= Foreign::GIVEN;
        }
        self
    }

    /// Adds what another path gives; whether that is new.
    pub(super) fn add(&mut self, other: Self) -> bool {
        let before = (self.foreign, self.roots.len(), self.number);
        self.foreign |= other.foreign;
        self.roots.extend(other.roots);
        self.number |= other.number;
        before != (self.foreign, self.roots.len(), self.number)
    }

    /// Whether it may be an address that was followed.
    pub(super) fn is_followed(&self) -> bool {
        self.foreign.given || !self.roots.is_empty()
    }
}

impl From<Foreign> for Origin {
    fn from(foreign: Foreign) -> Self {
        Self {
            foreign,
            ..Self::default()
        }
    }
}

/// What a pointer may be that a function of the package gives back or stores, as its callers see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Result {
    /// Whether it may be memory which the function made.
    pub(super) made: bool,
    pub(super) foreign: Foreign,
    /// Whether it may be a number of which nobody knows whether it is an address.
    pub(super) number: bool,
    /// Whether it may be a constant.
    pub(super) constant: bool,
    /// The parameters that it may be, a bit for each.
    pub(super) params: u32,
    /// The parameters from which it can be reached, a bit for each.
    pub(super) within: u32,
}

impl BitOrAssign for Result {
    fn bitor_assign(&mut self, other: Self) {
        self.made |= other.made;
        self.foreign |= other.foreign;
        self.number |= other.number;
        self.constant |= other.constant;
        self.params |= other.params;
        self.within |= other.within;
    }
}

impl Result {
    pub(super) const UNKNOWN: Self = Self {
        made: false,
        foreign: Foreign::KEPT,
        number: true,
        constant: false,
        params: 0,
        within: 0,
    };

    /// Adds a pointer of the function; `is_out` tells what others may have.
    pub(super) fn add(&mut self, origin: &Origin, is_out: impl Fn(Root) -> bool) {
        self.foreign |= origin.foreign;
        self.number |= origin.number;
        for &root in &origin.roots {
            match root {
                _ if is_out(root) => self.foreign |= Foreign::GIVEN,
                Root::Made(_) => self.made = true,
                Root::Constant => self.constant = true,
                Root::Param(at) if at < 32 => self.params |= 1 << at,
                Root::Within(at) if at < 32 => self.within |= 1 << at,
                _ => self.foreign |= Foreign::GIVEN,
            }
        }
    }
}

/// What the temporaries and variables of one function may point into, and what memory holds.
#[derive(Debug)]
pub(super) struct Origins {
    pub(super) temps: Vec<Origin>,
    pub(super) locals: Vec<Origin>,
    /// What is stored in memory, but for variables.
    pub(super) contents: BTreeMap<Root, Origin>,
    /// Where others get memory, as far as that was found before.
    pub(super) out: Escapes,
}

impl Origins {
    /// Adds what memory may hold; whether that is new.
    pub(super) fn add(&mut self, root: Root, value: Origin) -> bool {
        match root {
            Root::Stack(local) => self.locals[local.0 as usize].add(value),
            _ => self.contents.entry(root).or_default().add(value),
        }
    }
}
