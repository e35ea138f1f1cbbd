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
const NAME_IN_MACRO: &str = "gets the name of the function and may make another one of it";

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
            "" => "the function behind the pointer".to_owned(),
            _ => format!("`{name}`"),
        })
    }
}

/// Why there is no fix. Names are those of variables, functions and macros.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(in crate::strong) enum Reason {
    #[error(
        "the address of `{0}` is passed on, so other code may read or replace it: give the \
         lookup a variable of its own"
    )]
    AddressTaken(String),
    #[error(
        "on some paths only, another variable is the same object as `{0}`, and it is counted: \
         take and release the reference by hand"
    )]
    Alias(String),
    #[error("a macro assigns to `{0}` and releases what it held: take the reference by hand")]
    ClearedByMacro(String),
    #[error(
        "the function looks at the reference count of what `{0}` holds, to which a reference of \
         its own would add: change the tests of the count with it"
    )]
    Counted(String),
    #[error(
        "a pointer into the object of `{0}` is returned or stored, and would dangle once the \
         reference is released: keep the reference as long as the pointer"
    )]
    DerivedEscapes(String),
    #[error(
        "a pointer into the object is still used after `{0}` gets another value or goes out \
         of scope: keep the reference in a variable that lives as long"
    )]
    DerivedOutlives(String),
    #[error(
        "a test would have to stand between declarations: declare the variable first, and assign \
         to it later"
    )]
    Declared,
    #[error(
        "the thread may be detached where the last use of `{0}` is behind it, and no reference is \
         released then: release it before"
    )]
    Detached(String),
    #[error("the result is not used: take the call out")]
    Discarded,
    #[error("{left} while `{0}` holds the reference: release it there by hand", left = LEFT_BY_MACRO)]
    ExitInMacro(String),
    #[error(
        "the borrowed reference is stored in memory that outlives the call: decide who owns \
         it, and take a reference with it"
    )]
    Field,
    #[error(
        "`{0}` keeps or releases what it is given, and the function does not own it: decide who \
         owns it, and take a reference with it"
    )]
    KeptBorrowed(String),
    #[error(
        "{0} may take over the reference that it gets, for all that its format or its code shows: \
         give it a format that is one literal, or take and release the reference by hand"
    )]
    MayConsume(String),
    #[error("the call stands in the macro `{0}`: change the macro together with its uses")]
    InMacro(String),
    #[error(
        "the macro `{0}` {gets}: give it the strong function, and define whatever `{0}` makes of that \
         name",
        gets = NAME_IN_MACRO
    )]
    NameInMacro(String),
    #[error(
        "the macro `{0}` makes the call, but what it gives belongs to the function: write the call \
         out here"
    )]
    ByMacro(String),
    #[error(
        "statements would have to stand in front of an `else if`: make it an `else` with an `if` \
         inside, or do the lookup before the chain"
    )]
    ElseIf,
    #[error("a label stands right in front of the statement: give it a block of its own")]
    Labelled,
    #[error("the call is part of a loop's condition: move it into the body")]
    LoopCondition,
    #[error(
        "`{0}` is not known to be a pointer, so it cannot own the object: use a `PyObject *` \
         variable, and what the code needs of it where that variable holds the object"
    )]
    NoPointer(String),
    #[error(
        "releasing what `{0}` holds may free `{1}`, which it gets next and nobody owns: take a \
         reference to that first"
    )]
    TakenLate(String, String),
    #[error(
        "there is no statement after the last use of `{0}` at which to release it on every \
         path"
    )]
    NoPlace(String),
    #[error(
        "a dead referent in `{0}` is `NULL` where it was `Py_None`, and is used as such: adapt \
         each use by hand"
    )]
    NoneEscapes(String),
    #[error(
        "{why}: use `{0}`, and do on `NULL` what \
         the function does about its other errors",
        why = CAN_FAIL
    )]
    NoExit(&'static str),
    #[error(
        "{why}, and `{1}` does not notice the `{2}` of this function's errors, or takes it for a \
         success: use `{0}`, and decide what both do on `NULL`",
        why = CAN_FAIL
    )]
    Mistaken(&'static str, String, String),
    #[error(
        "{why}, and `{1}` on line {2} undoes what may \
         have begun before it: use `{0}`, and do on `NULL` what the function does about its other \
         errors there",
        why = CAN_FAIL
    )]
    Undoes(&'static str, String, u32),
    #[error(
        "{why}, and `{1}` on line {2} tells only \
         behind the loop how many references it has stored: use `{0}`, and on `NULL` release those \
         that are stored by then",
        why = CAN_FAIL
    )]
    CountedBehind(&'static str, String, u32),
    #[error(
        "{why}, and `{1}` on line {2} has told others how much the loop sets: \
         use `{0}`, and on `NULL` tell them how much that is",
        why = CAN_FAIL
    )]
    ToldBefore(&'static str, String, u32),
    #[error(
        "{why}, and `{1}` holds references by then: \
         use `{0}`, and on `NULL` release those that are stored in `{1}`",
        why = CAN_FAIL
    )]
    Filled(&'static str, String),
    #[error("{0}")]
    NoSwap(&'static str),
    #[error(
        "{0} runs before the call in the same expression: give the lookup a statement of its \
         own"
    )]
    NotEvaluatedFirst(String),
    #[error(
        "the call stands in an `assert`, which a build without assertions leaves out: give the \
         lookup a statement of its own"
    )]
    Asserted,
    #[error(
        "`{0}` is not a `PyObject *`, which the strong function stores its result in: use a \
         `PyObject *` variable"
    )]
    OutParameterType(String),
    #[error(
        "the reference in `{0}` is already released, or given away, where the function has \
         none: check the code as it is"
    )]
    OverRelease(String),
    #[error(
        "on some paths `{0}` still holds what the caller passed: give the lookup a variable \
         of its own"
    )]
    OverwritesParameter(String),
    #[error(
        "whether the function owns what `{0}` holds depends on the path: make it own the \
         reference on all of them"
    )]
    OwnedOnSomePaths(String),
    #[error(
        "on some paths the function returns a reference of its own, on others a borrowed one: make \
         it one of them, and change its callers with it"
    )]
    OwnedByCallerToo,
    #[error("it returns the result of `{0}`, which gives no reference either")]
    ReturnsResultOf(String),
    #[error("{0}")]
    Contract(String),
    #[error("the function returns the borrowed reference: its callers must be changed with it")]
    ReturnedBorrowed,
    #[error("`{0}` keeps the borrowed reference after the function returns: it must own it")]
    Static(String),
    #[error("`{0}` takes the reference only if it succeeds: write the failure path by hand")]
    StealsOnSuccess(String),
    #[error("`{0}` takes over a reference that the function does not own: check the code as it is")]
    StolenBorrowed(String),
    #[error(
        "the borrowed reference is stored in memory: decide who owns it, and take a reference \
         with it"
    )]
    StoredBorrowed,
    #[error(
        "the object of an earlier pass or lookup is still used when `{0}` gets the next one: \
         keep each in a variable of its own"
    )]
    TwoAtOnce(String),
    #[error(
        "the list may have slots that are not filled yet, which the strong function must not \
         read: look the item up before the list is given away"
    )]
    Unfilled,
    #[error("the call is never reached")]
    Unreachable,
    #[error(
        "the configurations that the branch at line {0} tells apart need different changes: change \
         each branch by hand"
    )]
    Variants(u32),
    #[error("the places where this text is compiled need different changes: change it by hand")]
    Uses,
}
