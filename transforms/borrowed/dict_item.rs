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
    /// every path after its last use. Where only the presence of a key is asked for, `PyDict_Contains`
    /// answers that without a reference. A lookup that cannot be written so, and one whose result is only
    /// compared with another pointer, is left alone: nothing reads the object.
    ///
    /// `PyDict_GetItem` and `PyDict_GetItemString` swallow errors of the lookup, and report them since
    /// Python 3.13. The function now leaves with such an error, by its own failure exit and after the same
    /// releases. Where no exit fits, where the function has changed something by then and had no exit in
    /// that state, and everywhere with `--errors preserve`, the error is reported by
    /// `PyErr_WriteUnraisable(NULL)`, and the function goes on as before. Errors that the old function left
    /// set stay set.
    ///
    /// Where the result goes straight to a field, and a `Py_INCREF` of the field stands right behind, the
    /// field has its reference at once. A static variable, or a field of one, that gets nothing but what
    /// such lookups of one function give, and of which no reference is ever taken or released, keeps one by
    /// `Py_XSETREF`: what it holds lives until it gets the next.
    ///
    /// A dict in a field that its object is made with, and that nobody hands out, may only ever get items
    /// that were not there: by `PyDict_SetDefault`, or behind a lookup that found nothing, with a lock of
    /// the object held from there on. What it lends lives as long as the object, and such lookups stay.
    /// So do those in the dict that a thread has for itself (`PyThreadState_GetDict`), where what they
    /// give is kept nowhere but in the function and those that it is returned to.
    ///
    /// Where macros leave the function while the reference is held (`CHECK(f(x))`), one or two uses are
    /// written out with the release. Where there are more, or the macro has several definitions, the rest
    /// of the function becomes one of its own, which is lent the object.
    ///
    /// ## Why
    /// Another thread can replace or remove the value between the call and its use. The dict was then its
    /// last owner, and the pointer dangles.
    ///
    /// ## Example
    /// Before:
    ///
    ///     value = PyDict_GetItem(dict, key);
    ///     if (value != NULL)
    ///         n = PyLong_AsLong(value);
    ///     if (n == -1 && PyErr_Occurred())
    ///         return NULL;
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
    ///     if (n == -1 && PyErr_Occurred())
    ///         return NULL;
    ///
    /// ## Confidence
    /// Safe. An error that gets out is a change of behaviour, of which each run tells once. Where the
    /// package shows that an exception may be pending (after a failed call, one whose result nothing looks
    /// at, `PyErr_SetString`; in a destructor or `bf_releasebuffer`) the lookup keeps that one, as the old
    /// function did:
    ///
    ///     exc = PyErr_GetRaisedException();
    ///     if (PyDict_GetItemRef(dict, key, &value) < 0) {
    ///         PyErr_WriteUnraisable(NULL);
    ///     }
    ///     PyErr_SetRaisedException(exc);
    ///
    /// One thing differs: with a key that cannot be hashed, the old function dropped the pending exception
    /// as well; now it stays. An argument that is a call of the C API is computed before that; review
    /// where another call among the arguments may meet the exception. Review, too, where the code found
    /// the key there before, and does not test what the lookup gives.
    ///
    /// ## Declines
    /// - The reference is returned or stored without a reference of its own: callers must change.
    /// - A pointer into the object (`PyUnicode_AsUTF8`, a struct field) outlives the function.
    /// - Only some paths own the reference, or there is no statement at which to release it.
    /// - The call is made by the body of a macro.
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/dict.html#c.PyDict_GetItemRef>
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#borrowed-references>
    pub static BORROWED_DICT_ITEM {
        code: "UG102",
        name: "borrowed-dict-item",
        summary: "a dict value is used without owning a reference",
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    strong::check(cx, &BORROWED_DICT_ITEM, NAMES, findings);
}
