//! Points at items of `PySequence_Fast` that are not owned.

use crate::declare_rule;
use crate::rule::{Finding, PackageCx};
use crate::strong;

const NAMES: &[&str] = &["PySequence_Fast_GET_ITEM"];

declare_rule! {
    /// ## What it does
    /// Reports `PySequence_Fast_GET_ITEM`.
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
    ///     item = PyTuple_GET_ITEM(fast, i);
    ///
    /// ## Confidence
    /// No fix: a snapshot by `PySequence_Tuple`, a lock around the loop, or `PySequence_GetItem` with a new
    /// error path are all right; which one is a question of cost and of what the loop calls.
    ///
    /// ## Declines
    /// - Always: the choice is the maintainer's.
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/sequence.html#c.PySequence_Fast>
    pub static BORROWED_SEQUENCE_FAST_ITEM {
        code: "UG107",
        name: "borrowed-sequence-fast-item",
        summary: "an item of a PySequence_Fast result is used without owning a reference",
        since: "0.1.0",
        best: None,
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    strong::check(cx, &BORROWED_SEQUENCE_FAST_ITEM, NAMES, findings);
}
