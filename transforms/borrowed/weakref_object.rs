//! Takes the referents of weak references with a reference of their own.

use crate::declare_rule;
use crate::edit::Confidence;
use crate::rule::{Finding, PackageCx};
use crate::strong;

const NAMES: &[&str] = &["PyWeakref_GetObject", "PyWeakref_GET_OBJECT"];

declare_rule! {
    /// ## What it does
    /// Replaces `PyWeakref_GetObject` and `PyWeakref_GET_OBJECT` with `PyWeakref_GetRef`, turns each test for
    /// `Py_None` into one for `NULL`, and releases the referent on every path after its last use.
    ///
    /// ## Why
    /// Another thread can release the referent right after the call. The old functions are deprecated since
    /// Python 3.13 and removed in 3.15.
    ///
    /// ## Example
    /// Before:
    ///
    ///     object = PyWeakref_GetObject(ref);
    ///     if (object == NULL)
    ///         return -1;
    ///     if (object == Py_None)
    ///         return 0;
    ///     use(object);
    ///
    /// After:
    ///
    ///     if (PyWeakref_GetRef(ref, &object) < 0)
    ///         return -1;
    ///     if (object == NULL)
    ///         return 0;
    ///     use(object);
    ///     Py_DECREF(object);
    ///
    /// If the code uses the result without a test for a dead referent, it gets `Py_None` as before:
    ///
    ///     if (PyWeakref_GetRef(ref, &object) == 0) {
    ///         object = Py_NewRef(Py_None);
    ///     }
    ///     return object;
    ///
    /// ## Confidence
    /// Safe. For an object that is not a weak reference the new function raises `TypeError` instead of
    /// `SystemError`, and the code gets `NULL` as before. Only code that would crash with that `NULL` may
    /// now treat it as a dead referent. A referent that is only compared with another pointer is left alone.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | A condition runs before the call in the same expression | manual | `if (ready && PyWeakref_GetObject(ref) != Py_None)` | Use two `if`s. |
    /// | A pointer into the object (`PyUnicode_AsUTF8`, a struct field) outlives the function | manual | `self->text = PyUnicode_AsUTF8(PyWeakref_GetObject(ref));` | Store a reference to the object beside the pointer. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/weakref.html#c.PyWeakref_GetRef>
    pub static BORROWED_WEAKREF_OBJECT {
        code: "UG104",
        name: "borrowed-weakref-object",
        summary: "the referent of a weak reference is used without owning a reference",
        severity: Memory,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    strong::check(cx, &BORROWED_WEAKREF_OBJECT, NAMES, findings);
}
