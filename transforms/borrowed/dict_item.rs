//! Takes dict values with a reference of their own.

use crate::declare_rule;
use crate::edit::Confidence;
use crate::rule::{Finding, PackageCx};
use crate::strong;

const NAMES: &[&str] = &[
    "PyDict_GetItem",
    "PyDict_GetItemWithError",
    "PyDict_GetItemString",
    "PyODict_GetItem",
    "PyODict_GetItemWithError",
    "PyODict_GetItemString",
    "_PyDict_GetItemWithError",
    "_PyDict_GetItemStringWithError",
    "_PyDict_GetItem_KnownHash",
];

declare_rule! {
    /// ## What it does
    /// Replaces the lookup with `PyDict_GetItemRef` or `PyDict_GetItemStringRef`, and releases the value on
    /// every path after its last use. If the code only asks whether a key is present, the fix calls
    /// `PyDict_Contains`.
    ///
    /// `PyDict_GetItem` and `PyDict_GetItemString` swallow errors of the lookup. The fix reports them: the
    /// function leaves by its own failure exit, after the same releases. If no exit fits, or with
    /// `--errors preserve`, the error goes to `PyErr_WriteUnraisable(NULL)` and the function continues.
    ///
    /// ## Why
    /// Another thread can replace or remove the value between the call and its use. If the dict held the
    /// last reference, the pointer dangles.
    ///
    /// ## Example
    /// Before:
    ///
    ///     value = PyDict_GetItem(dict, key);
    ///     if (value != NULL)
    ///         n = PyLong_AsLong(value);
    ///
    /// After:
    ///
    ///     if (PyDict_GetItemRef(dict, key, &value) < 0) {
    ///         return NULL;
    ///     }
    ///     if (value != NULL) {
    ///         n = PyLong_AsLong(value);
    ///         Py_DECREF(value);
    ///     }
    ///
    /// ## Confidence
    /// Safe. Behaviour changes in one way: an error that was swallowed is now raised. Each run says so once.
    /// If an exception may be pending before the lookup, the new code saves it and restores it afterwards.
    ///
    /// Review if a call among the arguments may see that exception, or if the code found the key before and
    /// does not test the result of this lookup.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The object is returned or stored without a strong reference: the callers must change | manual | `return PyDict_GetItem(d, key);` | Return a new reference, and release it in each caller. |
    /// | A pointer into the object (`PyUnicode_AsUTF8`, a struct field) outlives the function | manual | `self->text = PyUnicode_AsUTF8(item);` | Store a reference to the object beside the pointer. |
    /// | Only some paths own the reference, or there is no statement after which to release it | manual | `if (keep) Py_INCREF(item);` | Take the reference on every path. |
    /// | The call is in the body of a macro | manual | `#define GET(d, k) PyDict_GetItem(d, k)` | Write the call out where the macro is used. |
    ///
    /// ## References
    /// - [Strong references](../topics/strong-references.md): values that stay borrowed, pending exceptions
    /// - <https://docs.python.org/3/c-api/dict.html#c.PyDict_GetItemRef>
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#borrowed-references>
    pub static BORROWED_DICT_ITEM {
        code: "UG102",
        name: "borrowed-dict-item",
        summary: "a dict value is used without owning a reference",
        severity: Memory,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    strong::check(cx, &BORROWED_DICT_ITEM, NAMES, findings);
}
