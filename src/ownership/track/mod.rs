//! Follows chosen references along every path of a function and counts what becomes of them.
//!
//! This is the proof behind a fix: a *seed* is a call that gives a reference; each time it runs it
//! makes an *instance*, which starts with one reference (a strong call) or none (a borrowed one).
//! From there on every `Py_INCREF`, `Py_DECREF`, stealing call, store into memory and `return` of
//! the instance is counted, path by path, with what tests say about `NULL` and about status
//! results. At each exit every count must be zero.
//!
//! It shares nothing with the code that decides where releases go.

mod buffers;
mod callees;
mod carriers;
mod copied;
mod crash;
mod crowd;
mod effects;
mod facts;
mod given;
mod given_back;
mod kept;
mod ledger;
mod lent;
mod operand;
mod outs;
mod owed;
mod run;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod watch;

pub use effects::{Callees, Keeps, KnownCallees, is_read};
pub use facts::{is_number, is_plain_pointer};
pub use given_back::{is_given_back, is_same, only_releases};
pub use run::{Followed, follow, follow_in, follow_lending, follow_roughly, run};

use std::collections::{BTreeMap, BTreeSet};

use crate::ast::{ExprId, LocalId, StmtId};
use crate::cfg::Source;

/// How a seed hands out its reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gives {
    /// As its result, `NULL` if there is none.
    Result,
    /// As its result, which is never `NULL`: `Py_NewRef(x)`.
    Always,
    /// As its result; `Py_None` stands for a dead referent, `NULL` for an error.
    ResultOrNone,
    /// Through the variable whose address is this argument; the result is 1, 0 or -1.
    Out(u8),
    /// The same where only -1 says that there is none: `PyDict_SetDefaultRef`.
    OutAlways(u8),
}

impl Gives {
    /// The argument with the address of the variable.
    #[must_use]
    pub fn out(self) -> Option<u8> {
        match self {
            Self::Out(arg) | Self::OutAlways(arg) => Some(arg),
            Self::Result | Self::Always | Self::ResultOrNone => None,
        }
    }
}

/// Where a reference comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Each time this call runs it gives one.
    Call(ExprId),
    /// The caller passes it; it is not `NULL`.
    Param(LocalId),
    /// Whatever the variable holds where it is read, if it is not known otherwise. Whether the
    /// function owns it is not known, so what comes of it only tells in comparison.
    Local(LocalId),
}

/// What is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    /// Where it comes from.
    pub origin: Origin,
    /// How it hands out the reference.
    pub gives: Gives,
    /// Whether the function owns it.
    pub owned: bool,
}

/// What the function gives its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Handed {
    /// `NULL` or 0.
    Null,
    /// A number.
    Int(i64),
    /// An instance of this seed, with the references the function held just before.
    Instance {
        /// Index into the seeds.
        seed: usize,
        /// References.
        count: i8,
    },
    /// What may point into an instance of this seed, or be it.
    Inside(usize),
    /// Nothing, or what was not followed.
    Other,
}

/// One way to leave the function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exit {
    /// The `return`, or the body if it ends without one.
    pub stmt: StmtId,
    /// What is returned.
    pub value: Handed,
    /// Seeds with the references that the function holds on their instances, `value` included,
    /// where that is not 0.
    pub counts: Vec<(usize, i8)>,
}

/// What a function does with the references of a seed, on whatever path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    /// Where it takes one.
    pub takes: BTreeSet<Source>,
    /// Where it releases one.
    pub releases: BTreeSet<Source>,
    /// Where it gives one away.
    pub gifts: BTreeSet<Source>,
    /// The gifts that go where a parameter points: `*out = v`.
    pub outs: BTreeMap<Source, LocalId>,
    /// Whether it never has one on some path.
    pub is_untaken: bool,
}

impl Ledger {
    /// Where it has one less.
    pub fn losses(&self) -> impl Iterator<Item = &Source> {
        self.releases.union(&self.gifts)
    }
}

/// What is wrong with an instance on some path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Problem {
    /// A reference is never released.
    Leak,
    /// It is released, or given away, without a reference to give.
    OverRelease,
    /// It is used after its last reference was released.
    UseAfterRelease,
    /// `Py_DECREF` of what is `NULL` there.
    ReleaseOfNull,
    /// `Py_XDECREF` of a variable that has no value there.
    ReleaseOfUnset,
    /// A variable of [`Origin::Local`] is read before it has a value.
    UseOfUnset,
    /// The address of the variable that holds it leaves the function.
    AddressTaken,
    /// A pointer into it is returned or stored where the function has a reference to it.
    DerivedEscapes,
    /// The same where it has none.
    BorrowedEscapes,
    /// What a function whose code is not known made of it is used after its release: that may be
    /// the object itself, or point into it.
    MayOutlive,
    /// A function of the package keeps it without a reference, on some paths or for all that is
    /// known.
    MayBeKept,
    /// A function of the package releases a reference to it on some paths, or hands it back through
    /// another argument, where the function has one.
    MayBePassedOn,
    /// The same where it has none: what is released then is that of a container.
    BorrowedPassedOn,
    /// The code asks how many references there are, or calls what needs to be the only owner.
    CountMatters,
}

impl Problem {
    /// What it is where the function has a reference of its own.
    #[must_use]
    pub const fn of_owner(self) -> Self {
        match self {
            Self::BorrowedEscapes => Self::DerivedEscapes,
            Self::BorrowedPassedOn => Self::MayBePassedOn,
            other => other,
        }
    }

    /// Whether it may be none, for all that is known of the functions that are called.
    #[must_use]
    pub const fn is_doubt(self) -> bool {
        matches!(
            self,
            Self::MayOutlive
                | Self::MayBeKept
                | Self::MayBePassedOn
                | Self::BorrowedPassedOn
                | Self::CountMatters
        )
    }
}

/// A problem, the seed it is about (by index) and where it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trouble {
    /// Index into the seeds.
    pub seed: usize,
    /// What is wrong.
    pub problem: Problem,
    /// The step or exit at which it shows; `None` at a join or the end of a scope.
    pub at: Option<Source>,
    /// The release before it, of [`Problem::MayOutlive`].
    pub since: Option<Source>,
}

/// What following the seeds showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// All paths were followed.
    Complete(Vec<Trouble>),
    /// There are too many paths to follow.
    TooComplex,
}

impl Report {
    /// Whether every path balances.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        matches!(self, Self::Complete(troubles) if troubles.is_empty())
    }
}
