//! Why a lookup cannot be rewritten, in words that say what to do.

use std::fmt;

/// Why there is no fix.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    AddressTaken(String),
    Alias(String),
    Callback,
    ClearedByMacro(String),
    DerivedEscapes(String),
    DerivedOutlives(String),
    Discarded,
    ExitInMacro(String),
    Field,
    InMacro(String),
    LoopCondition,
    NoFailureExit(String),
    NoPlace(String),
    NoSwap(&'static str),
    NotEvaluatedFirst(String),
    OutParameterType(String),
    OverRelease(String),
    OverwritesParameter(String),
    OwnedOnSomePaths(String),
    ReturnedBorrowed,
    SharedWith(String),
    Static(String),
    StealsOnSuccess(String),
    StolenBorrowed(String),
    StoredBorrowed,
    TwoAtOnce(String),
    Unreachable,
    Variants,
    WeakrefUse(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddressTaken(v) => write!(
                f,
                "the address of `{v}` is passed on, so other code may read or replace it: give the lookup a variable of its own"
            ),
            Self::Alias(v) => write!(
                f,
                "on some paths only, another variable is the same object as `{v}`, and it is counted: take and release the reference by hand"
            ),
            Self::Callback => write!(
                f,
                "the function is used as a value and not called here: whoever calls it gets a borrowed reference"
            ),
            Self::ClearedByMacro(v) => write!(
                f,
                "a macro assigns to `{v}` and releases what it held: take the reference by hand"
            ),
            Self::DerivedEscapes(v) => write!(
                f,
                "a pointer into the object of `{v}` is returned or stored, and would dangle once the reference is released: keep the reference as long as the pointer"
            ),
            Self::DerivedOutlives(v) => write!(
                f,
                "a pointer into the object is still used after `{v}` gets another value or goes out of scope: keep the reference in a variable that lives as long"
            ),
            Self::Discarded => write!(f, "the result is not used: take the call out"),
            Self::ExitInMacro(v) => write!(
                f,
                "a macro leaves the function while `{v}` holds the reference: release it there by hand"
            ),
            Self::Field => write!(
                f,
                "the borrowed reference is stored in memory that outlives the call: decide who owns it, and take a reference with it"
            ),
            Self::InMacro(name) => write!(
                f,
                "the call stands in the macro `{name}`: change the macro together with its uses"
            ),
            Self::LoopCondition => write!(
                f,
                "the call is part of a loop's condition: move it into the body"
            ),
            Self::NoFailureExit(v) => write!(
                f,
                "the checked call can fail where the macro could not, and what the function does about failure there is not evident: test `{v}` for `NULL` by hand"
            ),
            Self::NoPlace(v) => write!(
                f,
                "there is no statement after the last use of `{v}` at which to release it on every path"
            ),
            Self::NoSwap(why) => write!(f, "{why}"),
            Self::NotEvaluatedFirst(what) => write!(
                f,
                "{what} runs before the call in the same expression: give the lookup a statement of its own"
            ),
            Self::OutParameterType(v) => write!(
                f,
                "`{v}` is not a `PyObject *`, which the strong function stores its result in: use a `PyObject *` variable"
            ),
            Self::OverRelease(v) => write!(
                f,
                "the reference in `{v}` is already released, or given away, where the function has none: check the code as it is"
            ),
            Self::OverwritesParameter(v) => write!(
                f,
                "on some paths `{v}` still holds what the caller passed: give the lookup a variable of its own"
            ),
            Self::OwnedOnSomePaths(v) => write!(
                f,
                "whether the function owns what `{v}` holds depends on the path: make it own the reference on all of them"
            ),
            Self::ReturnedBorrowed => write!(
                f,
                "the function returns the borrowed reference: its callers must be changed with it"
            ),
            Self::SharedWith(why) => write!(
                f,
                "it can only be changed together with another lookup of this function: {why}"
            ),
            Self::Static(v) => write!(
                f,
                "`{v}` keeps the borrowed reference after the function returns: it must own it"
            ),
            Self::StealsOnSuccess(name) => write!(
                f,
                "`{name}` takes the reference only if it succeeds: write the failure path by hand"
            ),
            Self::StolenBorrowed(name) => write!(
                f,
                "`{name}` takes over a reference that the function does not own: check the code as it is"
            ),
            Self::StoredBorrowed => write!(
                f,
                "the borrowed reference is stored in memory: decide who owns it, and take a reference with it"
            ),
            Self::TwoAtOnce(v) => write!(
                f,
                "the object of an earlier pass or lookup is still used when `{v}` gets the next one: keep each in a variable of its own"
            ),
            Self::Unreachable => write!(f, "the call is never reached"),
            Self::Variants => write!(
                f,
                "the configurations of this function need different changes: change each branch of the `#if` by hand"
            ),
            Self::WeakrefUse(v) => write!(
                f,
                "a dead referent is `Py_None` before and `NULL` after the change, and a use of `{v}` does not fit that: adapt it by hand"
            ),
        }
    }
}
