//! Takes the result of `PyDict_SetDefault` with a reference of its own.

use crate::declare_rule;
use crate::edit::Confidence;
use crate::rule::{Finding, PackageCx};
use crate::strong;

const NAMES: &[&str] = &["PyDict_SetDefault"];

declare_rule! {
    /// ## What it does
    /// Replaces `PyDict_SetDefault` with `PyDict_SetDefaultRef`, and releases the value on every path after
    /// its last use.
    ///
    /// ## Why
    /// Another thread can replace the value between the call and its use.
    ///
    /// ## Example
    /// Before:
    ///
    ///     value = PyDict_SetDefault(dict, key, empty);
    ///     if (value == NULL)
    ///         return -1;
    ///     n = PyList_Append(value, item);
    ///
    /// After:
    ///
    ///     (void)PyDict_SetDefaultRef(dict, key, empty, &value);
    ///     if (value == NULL)
    ///         return -1;
    ///     n = PyList_Append(value, item);
    ///     Py_DECREF(value);
    ///
    /// ## Confidence
    /// Safe.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The object is returned or stored without a strong reference: the callers must change | manual | `return PyDict_SetDefault(d, key, value);` | Return a new reference, and release it in each caller. |
    /// | A pointer into the object (`PyUnicode_AsUTF8`, a struct field) outlives the function | manual | `self->text = PyUnicode_AsUTF8(item);` | Store a reference to the object beside the pointer. |
    /// | Only some paths own the reference, or there is no statement after which to release it | manual | `if (keep) Py_INCREF(item);` | Take the reference on every path. |
    /// | The call is in the body of a macro | manual | `#define INTERN(d, k) PyDict_SetDefault(d, k, k)` | Write the call out where the macro is used. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/dict.html#c.PyDict_SetDefaultRef>
    pub static BORROWED_DICT_SET_DEFAULT {
        code: "UG103",
        name: "borrowed-dict-set-default",
        summary: "the result of PyDict_SetDefault is used without owning a reference",
        severity: Memory,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    strong::check(cx, &BORROWED_DICT_SET_DEFAULT, NAMES, findings);
}
