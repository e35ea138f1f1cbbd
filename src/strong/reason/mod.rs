//! Why a lookup cannot be rewritten, in words that say what to do.

pub(super) mod named;
pub(super) mod why;

/// What the reason says for which a lookup is left where a macro leaves the function.
const LEFT_BY_MACRO: &str = "a macro leaves the function";

/// Whether a lookup was left because a macro leaves the function.
#[must_use]
pub fn is_left_by_macro(reason: &str) -> bool {
    reason.ends_with(LEFT_BY_MACRO)
}

/// What the reasons say for which a lookup is left where no exit serves for its failure.
const CAN_FAIL: &str = "the checked call can fail where the macro could not";

/// Whether a lookup was left because nothing can be done where the checked call fails.
#[must_use]
pub fn has_no_exit(reason: &str) -> bool {
    reason.contains(CAN_FAIL)
}

/// What runs before a lookup that a conditional expression chooses.
pub(super) const A_CONDITION: &str = "a condition";

/// Whether a lookup was left because a condition decides whether it runs.
#[must_use]
pub fn is_behind_condition(reason: &str) -> bool {
    let why = Reason::NotEvaluatedFirst(A_CONDITION.to_owned());
    reason == why.to_string()
}

/// What the reason says for which a lookup is left whose function is the argument of a macro.
const NAME_IN_MACRO: &str = "gets the name of the function and may build other names from it";

/// Whether a lookup was left because a macro gets the name of its function.
#[must_use]
pub fn is_name_in_macro(reason: &str) -> bool {
    reason.contains(NAME_IN_MACRO)
}

impl Reason {
    /// What becomes of a reference that `name` gets is not known; the name of what a pointer calls is
    /// empty.
    pub(in crate::strong) fn may_consume(name: &str) -> Self {
        Self::MayConsume(match name {
            "" => "the function that the pointer calls".to_owned(),
            _ => format!("`{name}`"),
        })
    }
}

/// Why there is no fix. Names are those of variables, functions and macros.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(in crate::strong) enum Reason {
    #[error(
        "use a separate variable for the lookup (other code may read or replace `{0}`, because its \
         address is passed on)"
    )]
    AddressTaken(String),
    #[error(
        "take and release the reference by hand (on some paths only, another variable has the same \
         object as `{0}` and counts its reference)"
    )]
    Alias(String),
    #[error("take the reference by hand (a macro assigns to `{0}` and releases the old object)")]
    ClearedByMacro(String),
    #[error(
        "take a strong reference, and adapt the tests of the reference count (the function tests \
         the count of the object in `{0}`)"
    )]
    Counted(String),
    #[error(
        "keep a strong reference as long as the pointer (a pointer into the object in `{0}` is \
         returned or stored, and would dangle)"
    )]
    DerivedEscapes(String),
    #[error(
        "keep the reference in a variable that lives as long as the pointer (a pointer into the \
         object is still used after `{0}` gets another value or goes out of scope)"
    )]
    DerivedOutlives(String),
    #[error(
        "declare the variable first, and assign to it after the declarations (a test of the result \
         cannot stand between declarations)"
    )]
    Declared,
    #[error(
        "take a strong reference, and release it before the thread is detached (after the last use \
         of `{0}` the thread may be detached, and may not release references)"
    )]
    Detached(String),
    #[error("remove the call (its result is not used)")]
    Discarded,
    #[error("release the reference in `{0}` by hand where {left}", left = LEFT_BY_MACRO)]
    ExitInMacro(String),
    #[error(
        "decide who owns the reference, and take a strong reference for it (the borrowed reference \
         is stored in memory that outlives the call)"
    )]
    Field,
    #[error(
        "decide who owns the reference, and take a strong reference for it (`{0}` keeps or \
         releases its argument, which the function does not own)"
    )]
    KeptBorrowed(String),
    #[error(
        "take and release the reference by hand, or pass a format that is one literal ({0} may \
         take over the reference: neither its format nor its code rules that out)"
    )]
    MayConsume(String),
    #[error("change the macro `{0}` together with its uses (the call is in the macro)")]
    InMacro(String),
    #[error(
        "use the strong function, define each name that `{0}` builds from it, and release the new \
         reference in addition to what the code releases already (the macro `{0}` {gets})",
        gets = NAME_IN_MACRO
    )]
    NameInMacro(String),
    #[error(
        "write the call here without the macro `{0}` (the macro makes the call, but the function \
         uses its result)"
    )]
    ByMacro(String),
    #[error(
        "change the `else if` to an `else` with an `if` inside, or do the lookup before the chain \
         (statements cannot stand before an `else if`)"
    )]
    ElseIf,
    #[error("put the statement in its own block (a label stands directly before it)")]
    Labelled,
    #[error("move the call into the body of the loop (it is part of the condition)")]
    LoopCondition,
    #[error(
        "hold the object in a `PyObject *` variable, and read from that what the code needs (`{0}` \
         is not known to be a pointer, so it cannot own the object)"
    )]
    NoPointer(String),
    #[error(
        "take a strong reference to `{1}` first (it is assigned next, nothing owns it, and \
         releasing the object in `{0}` may free it)"
    )]
    TakenLate(String, String),
    #[error(
        "release `{0}` by hand, or restructure the function (no statement after its last use is \
         reached on every path)"
    )]
    NoPlace(String),
    #[error(
        "adapt each use of `{0}` by hand (for a dead object it is then `NULL` instead of `Py_None`)"
    )]
    NoneEscapes(String),
    #[error(
        "use `{0}`, and handle `NULL` like the other errors of the function ({why})",
        why = CAN_FAIL
    )]
    NoExit(&'static str),
    #[error(
        "use `{0}`, and decide what this function and `{1}` do on `NULL` ({why}, and `{1}` ignores \
         the `{2}` that this function returns for an error, or takes it for success)",
        why = CAN_FAIL
    )]
    Mistaken(&'static str, String, String),
    #[error(
        "use `{0}`, and on `NULL` also undo what has begun before ({why}, and `{1}` on line {2} \
         undoes what may have begun)",
        why = CAN_FAIL
    )]
    Undoes(&'static str, String, u32),
    #[error(
        "use `{0}`, and on `NULL` release the references that have been stored ({why}, and `{1}` \
         on line {2} records only after the loop how many there are)",
        why = CAN_FAIL
    )]
    CountedBehind(&'static str, String, u32),
    #[error(
        "use `{0}`, and on `NULL` correct the number of items ({why}, and `{1}` on line {2} has \
         already set the number that a complete loop needs)",
        why = CAN_FAIL
    )]
    ToldBefore(&'static str, String, u32),
    #[error(
        "use `{0}`, and on `NULL` release the references that are stored in `{1}` ({why})",
        why = CAN_FAIL
    )]
    Filled(&'static str, String),
    #[error("{0}")]
    NoSwap(&'static str),
    #[error("put the lookup in its own statement ({0} runs before it in the same expression)")]
    NotEvaluatedFirst(String),
    #[error(
        "put the lookup in its own statement (a build without assertions leaves out the `assert` \
         with the call)"
    )]
    Asserted,
    #[error(
        "use a `PyObject *` variable instead of `{0}` (the strong function stores its result in a \
         `PyObject *`)"
    )]
    OutParameterType(String),
    #[error(
        "correct the original code first (the function releases or gives away a reference in `{0}` \
         that it does not own)"
    )]
    OverRelease(String),
    #[error(
        "use a separate variable for the lookup (on some paths `{0}` still has the value that the \
         caller passed)"
    )]
    OverwritesParameter(String),
    #[error("take the reference in `{0}` on all paths (only some paths own it)")]
    OwnedOnSomePaths(String),
    #[error(
        "return a strong reference on all paths, and release it in the callers (the function \
         returns a strong reference on some paths, and a borrowed one on others)"
    )]
    OwnedByCallerToo,
    #[error("return a strong reference from `{0}`, too (the function returns its result)")]
    ReturnsResultOf(String),
    #[error("{0}")]
    Contract(String),
    #[error(
        "return a strong reference, and release it in all callers (the function returns the \
         borrowed reference)"
    )]
    ReturnedBorrowed,
    #[error(
        "store a strong reference in `{0}`, and release it when it is replaced (`{0}` keeps the \
         borrowed reference after the function returns)"
    )]
    Static(String),
    #[error(
        "release the reference by hand where `{0}` fails (it takes over the reference only if it \
         succeeds)"
    )]
    StealsOnSuccess(String),
    #[error(
        "correct the original code first (`{0}` takes over a reference that the function does not \
         own)"
    )]
    StolenBorrowed(String),
    #[error(
        "decide who owns the reference, and take a strong reference for it (the borrowed reference \
         is stored in memory)"
    )]
    StoredBorrowed,
    #[error(
        "use a separate variable for each object (the object of an earlier iteration or lookup is \
         still in use when `{0}` gets the next one)"
    )]
    TwoAtOnce(String),
    #[error(
        "look the item up before the list is passed on (the list may have empty slots, which the \
         strong function must not read)"
    )]
    Unfilled,
    #[error("the call is never reached")]
    Unreachable,
    #[error(
        "change each branch of the `#if` by hand (its configurations at line {0} need different \
         changes)"
    )]
    Variants(u32),
    #[error(
        "change this text by hand (it is compiled in several places, which need different changes)"
    )]
    Uses,
}
