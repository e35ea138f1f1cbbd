//! Why a lookup cannot be rewritten, in words that say what to do.

pub(super) mod named;
pub(super) mod why;

/// How the reason begins for which a lookup is left where a macro leaves the function.
const LEFT_BY_MACRO: &str = "a macro leaves the function";

/// Whether a lookup was left because a macro leaves the function.
#[must_use]
pub fn is_left_by_macro(reason: &str) -> bool {
    reason.starts_with(LEFT_BY_MACRO)
}

/// How the reasons begin for which a lookup is left where no exit serves for its failure.
const CAN_FAIL: &str = "the checked call can fail where the macro could not";

/// Whether a lookup was left because nothing can be done where the checked call fails.
#[must_use]
pub fn has_no_exit(reason: &str) -> bool {
    reason.starts_with(CAN_FAIL)
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
        "other code may read or replace `{0}`, because its address is passed on: use a separate \
         variable for the lookup"
    )]
    AddressTaken(String),
    #[error(
        "on some paths only, another variable has the same object as `{0}`, and its reference is \
         counted: take and release the reference by hand"
    )]
    Alias(String),
    #[error("a macro assigns to `{0}` and releases the old object: take the reference by hand")]
    ClearedByMacro(String),
    #[error(
        "the function tests the reference count of the object in `{0}`, and a strong reference \
         would change the count: change those tests, too"
    )]
    Counted(String),
    #[error(
        "a pointer into the object of `{0}` is returned or stored, and would dangle after the \
         reference is released: keep the reference as long as the pointer"
    )]
    DerivedEscapes(String),
    #[error(
        "a pointer into the object is still used after `{0}` gets another value or goes out \
         of scope: keep the reference in a variable that lives as long"
    )]
    DerivedOutlives(String),
    #[error(
        "the test would have to stand between declarations: declare the variable first, and \
         assign to it later"
    )]
    Declared,
    #[error(
        "the thread may be detached after the last use of `{0}`, where no reference may be \
         released: release it before that point"
    )]
    Detached(String),
    #[error("the result is not used: remove the call")]
    Discarded,
    #[error("{left} while `{0}` holds the reference: release it there by hand", left = LEFT_BY_MACRO)]
    ExitInMacro(String),
    #[error(
        "the borrowed reference is stored in memory that outlives the call: decide who owns it, \
         and take a strong reference"
    )]
    Field,
    #[error(
        "`{0}` keeps or releases its argument, and the function does not own that reference: \
         decide who owns it, and take a strong reference"
    )]
    KeptBorrowed(String),
    #[error(
        "{0} may take over the reference that it gets (its format or its code does not rule that \
         out): use a format that is one literal, or take and release the reference by hand"
    )]
    MayConsume(String),
    #[error("the call is in the macro `{0}`: change the macro together with its uses")]
    InMacro(String),
    #[error(
        "the macro `{0}` {gets}: pass the strong function, and define each name that `{0}` builds \
         from it",
        gets = NAME_IN_MACRO
    )]
    NameInMacro(String),
    #[error(
        "the macro `{0}` makes the call, but its result belongs to the function: write the call \
         here without the macro"
    )]
    ByMacro(String),
    #[error(
        "statements would have to stand before an `else if`: change it to an `else` with an `if` \
         inside, or do the lookup before the chain"
    )]
    ElseIf,
    #[error("a label stands directly before the statement: put the statement in its own block")]
    Labelled,
    #[error("the call is part of a loop's condition: move it into the body")]
    LoopCondition,
    #[error(
        "`{0}` is not known to be a pointer, so it cannot own the object: hold the object in a \
         `PyObject *` variable, and read from that what the code needs"
    )]
    NoPointer(String),
    #[error(
        "releasing the object in `{0}` may free `{1}`, which is assigned next and which nothing \
         owns: take a strong reference to `{1}` first"
    )]
    TakenLate(String, String),
    #[error(
        "no statement after the last use of `{0}` is reached on every path, so there is no place \
         to release it: restructure the function, or release it by hand"
    )]
    NoPlace(String),
    #[error(
        "a dead referent in `{0}` is now `NULL` instead of `Py_None`, and the code uses it: adapt \
         each use by hand"
    )]
    NoneEscapes(String),
    #[error(
        "{why}: use `{0}`, and handle `NULL` like the other errors of the function",
        why = CAN_FAIL
    )]
    NoExit(&'static str),
    #[error(
        "{why}, and `{1}` ignores the `{2}` that this function returns for an error, or takes it \
         for success: use `{0}`, and decide what both functions do on `NULL`",
        why = CAN_FAIL
    )]
    Mistaken(&'static str, String, String),
    #[error(
        "{why}, and `{1}` on line {2} undoes what may have begun before: use `{0}`, and handle \
         `NULL` like the other errors of the function at this point",
        why = CAN_FAIL
    )]
    Undoes(&'static str, String, u32),
    #[error(
        "{why}, and `{1}` on line {2} records only after the loop how many references are stored: \
         use `{0}`, and on `NULL` release those that have been stored",
        why = CAN_FAIL
    )]
    CountedBehind(&'static str, String, u32),
    #[error(
        "{why}, and `{1}` on line {2} has already reported how many items the loop sets: use \
         `{0}`, and on `NULL` correct that number",
        why = CAN_FAIL
    )]
    ToldBefore(&'static str, String, u32),
    #[error(
        "{why}, and `{1}` already holds references: use `{0}`, and on `NULL` release those that \
         are stored in `{1}`",
        why = CAN_FAIL
    )]
    Filled(&'static str, String),
    #[error("{0}")]
    NoSwap(&'static str),
    #[error("{0} runs before the call in the same expression: put the lookup in its own statement")]
    NotEvaluatedFirst(String),
    #[error(
        "the call is in an `assert`, which a build without assertions leaves out: put the lookup \
         in its own statement"
    )]
    Asserted,
    #[error(
        "the strong function stores its result in a `PyObject *`, which `{0}` is not: use a \
         `PyObject *` variable"
    )]
    OutParameterType(String),
    #[error(
        "the function releases or gives away a reference in `{0}` that it does not own: correct \
         the original code first"
    )]
    OverRelease(String),
    #[error(
        "on some paths `{0}` still has the value that the caller passed: use a separate variable \
         for the lookup"
    )]
    OverwritesParameter(String),
    #[error("only some paths own the reference in `{0}`: make all of them own it")]
    OwnedOnSomePaths(String),
    #[error(
        "the function returns an owned reference on some paths, and a borrowed one on others: \
         return the same kind on all paths, and change its callers accordingly"
    )]
    OwnedByCallerToo,
    #[error("it returns the result of `{0}`, which does not return a reference either")]
    ReturnsResultOf(String),
    #[error("{0}")]
    Contract(String),
    #[error("the function returns the borrowed reference: its callers must be changed with it")]
    ReturnedBorrowed,
    #[error(
        "`{0}` keeps the borrowed reference after the function returns: it must own the reference"
    )]
    Static(String),
    #[error("`{0}` takes over the reference only if it succeeds: write the failure path by hand")]
    StealsOnSuccess(String),
    #[error("`{0}` takes over a reference that the function does not own: check the original code")]
    StolenBorrowed(String),
    #[error(
        "the borrowed reference is stored in memory: decide who owns it, and take a strong \
         reference"
    )]
    StoredBorrowed,
    #[error(
        "the object of an earlier iteration or lookup is still in use when `{0}` gets the next \
         one: use a separate variable for each"
    )]
    TwoAtOnce(String),
    #[error(
        "the list may have empty slots, which the strong function must not read: look the item up \
         before the list is passed on"
    )]
    Unfilled,
    #[error("the call is never reached")]
    Unreachable,
    #[error(
        "the configurations of the branch at line {0} need different changes: change each branch \
         by hand"
    )]
    Variants(u32),
    #[error(
        "this text is compiled in several places, which need different changes: change it by hand"
    )]
    Uses,
}
