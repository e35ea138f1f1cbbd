//! Reads items of `PySequence_Fast` from a snapshot.

use crate::declare_rule;
use crate::edit::Confidence;
use crate::rule::{Finding, PackageCx};
use crate::strong;

const NAMES: &[&str] = &["PySequence_Fast_GET_ITEM"];

declare_rule! {
    /// ## What it does
    /// Replaces `PySequence_Fast` with `PySequence_Tuple` where the items are read by
    /// `PySequence_Fast_GET_ITEM`, which works on a tuple as well.
    ///
    /// ## Why
    /// `PySequence_Fast` gives a list back as it is, not a copy: another thread can change it meanwhile.
    ///
    /// ## Example
    /// Before:
    ///
    ///     PyObject *fast = PySequence_Fast(arg, "not a sequence");
    ///     item = PySequence_Fast_GET_ITEM(fast, i);
    ///
    /// After:
    ///
    ///     PyObject *fast = PySequence_Tuple(arg);
    ///     item = PySequence_Fast_GET_ITEM(fast, i);
    ///
    /// ## Confidence
    /// Review: a list is copied, and the error for what cannot be iterated loses its own text.
    ///
    /// ## Declines
    /// - The sequence is not made by `PySequence_Fast` in the same function.
    /// - Something else is done with it than reading, testing and releasing: it may be changed, or kept.
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/sequence.html#c.PySequence_Fast>
    pub static BORROWED_SEQUENCE_FAST_ITEM {
        code: "UG107",
        name: "borrowed-sequence-fast-item",
        summary: "an item of a PySequence_Fast result is used without owning a reference",
        since: "0.1.0",
        best: Some(Confidence::Review),
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    strong::check(cx, &BORROWED_SEQUENCE_FAST_ITEM, NAMES, findings);
}
