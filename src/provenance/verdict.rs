//! What is known of the container behind a borrowed reference, in words for a maintainer.

use std::fmt;

/// Whether another thread can take the reference away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It cannot.
    Safe(Proof),
    /// It can, for all that is known.
    Shared(SharedKind),
}

impl Verdict {
    /// The verdict where the container is one of two: the worse of both, the first of equals.
    pub(super) fn join(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Safe(_), Self::Shared(_)) => other,
            _ => self,
        }
    }
}

/// Why a use is safe, with a sentence that can be checked against the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The kind of argument.
    pub reason: SafeReason,
    /// The argument: lower case, no full stop, C names in backticks, lines of the site's file
    /// unless another is named.
    pub sentence: String,
}

/// Kinds of arguments for safety.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SafeReason {
    /// The container never changes: a tuple.
    Immutable,
    /// It was made here, and nobody else knows it before the value was last used.
    Fresh,
    /// The dict of keyword arguments, made for this call.
    Kwargs,
    /// A field that is set while its object is built, and never changed later.
    FrozenField,
    /// A dict in such a field, which only ever gets more items.
    GrowingField,
    /// The dict of the thread that runs.
    OwnThread,
    /// The code runs only while the module is made.
    InitOnly,
    /// A critical section on the container covers the whole use.
    Guarded,
    /// The object is not used: at most, whether there is one is asked.
    Unread,
    /// There is no container: all callers pass `NULL`.
    Absent,
    /// A maintainer marked the line `noqa: borrowed-ref OK`.
    Marked,
}

/// Where a container that others can reach comes from. Displayed as a phrase: "a module global".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedKind {
    /// An argument of the Python call.
    ParsedArgument,
    /// A parameter of a function that others call.
    Parameter(Box<str>),
    /// A variable of file scope or a `static` one.
    Global(Box<str>),
    /// A field of an object.
    Field(Box<str>),
    /// A field or variable that a file names which nobody analyses.
    NamedUnread {
        /// As it is written.
        what: Box<str>,
        /// The file.
        by: Box<str>,
    },
    /// The result of a call.
    FromCall(Box<str>),
    /// The dict of a module or a type.
    ModuleOrTypeDict,
    /// `sys.modules` and other dicts of the interpreter.
    Interpreter,
    /// A weak reference keeps nothing alive.
    WeakReference,
    /// Made here, but given away, or maybe emptied, while the value is in use.
    Published {
        /// The line where that happens.
        line: u32,
        /// Whether it may be a list with slots that are not filled yet: `PyList_GetItemRef` crashes
        /// on them. One made with no items has none.
        has_gaps: bool,
    },
    /// Cannot be told.
    Unknown,
}

impl fmt::Display for SharedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ParsedArgument => f.write_str("an argument that Python code passes"),
            Self::Parameter(name) => write!(f, "`{name}`, which the caller passes"),
            Self::Global(name) => write!(f, "`{name}`, a variable that all threads share"),
            Self::Field(name) => write!(f, "`{name}`, a field that other threads can reach"),
            Self::NamedUnread { what, by } => {
                write!(
                    f,
                    "`{what}`, which also appears in `{by}`, a file that was not read"
                )
            }
            Self::FromCall(name) => write!(f, "the result of `{name}()`"),
            Self::ModuleOrTypeDict => f.write_str("the dict of a module or type"),
            Self::Interpreter => f.write_str("a dict of the interpreter"),
            Self::WeakReference => {
                f.write_str("a weak reference, which does not keep its object alive")
            }
            Self::Published { line, .. } => {
                write!(
                    f,
                    "a container that is made here, and passed on or emptied on line {line}"
                )
            }
            Self::Unknown => f.write_str("a container of unknown origin"),
        }
    }
}

pub(super) fn safe(reason: SafeReason, sentence: String) -> Verdict {
    Verdict::Safe(Proof { reason, sentence })
}
