//! Points at uses of weak referents that are not owned.

use crate::declare_rule;
use crate::rule::{Finding, PackageCx};
use crate::strong;

const NAMES: &[&str] = &["PyWeakref_GetObject", "PyWeakref_GET_OBJECT"];

declare_rule! {
    /// ## What it does
    /// Reports `PyWeakref_GetObject` and `PyWeakref_GET_OBJECT`, which `PyWeakref_GetRef` replaces.
    ///
    /// ## Why
    /// The referent can be freed by another thread right after the call. The old functions are deprecated
    /// since 3.13 and gone in 3.15.
    ///
    /// ## Example
    /// Before:
    ///
    ///     object = PyWeakref_GetObject(ref);
    ///     if (object == Py_None)
    ///         return 0;
    ///
    /// After:
    ///
    ///     if (PyWeakref_GetRef(ref, &object) <= 0)
    ///         return 0;
    ///     Py_DECREF(object);
    ///
    /// ## Confidence
    /// No fix yet: a dead referent is `NULL` where it was `Py_None`, and each use must be adapted.
    ///
    /// ## Declines
    /// - Always, for now.
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/weakref.html#c.PyWeakref_GetRef>
    pub static BORROWED_WEAKREF_OBJECT {
        code: "UG104",
        name: "borrowed-weakref-object",
        summary: "the referent of a weak reference is used without owning a reference",
        since: "0.1.0",
        best: None,
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    strong::check(cx, &BORROWED_WEAKREF_OBJECT, NAMES, findings);
}
