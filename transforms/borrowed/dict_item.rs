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
    /// every path after its last use. If the code only asks whether a key is there, `PyDict_Contains` answers
    /// that without a reference. A lookup of that kind that cannot be written so stays as it is, and so does
    /// one whose result is only compared with another pointer: nothing reads the object.
    ///
    /// `PyDict_GetItem` and `PyDict_GetItemString` swallow errors of the lookup; since Python 3.13 they report
    /// them. With the fix, the function leaves with such an error by its own failure exit, after the same
    /// releases. In three cases the error is reported by `PyErr_WriteUnraisable(NULL)` instead, and the
    /// function goes on as before: no exit fits; the function has already changed something and had no exit
    /// in that state; or `--errors preserve` is set. Errors that the old function left set stay set.
    ///
    /// If the result goes straight to a field, and a `Py_INCREF` of the field follows, the field gets the
    /// strong reference from the lookup. A static variable, or a field of one, may be set by lookups of one
    /// function only, and never counted. The fix then makes it own its value with `Py_XSETREF`: the value
    /// lives until the next one is set.
    ///
    /// Two kinds of lookup stay borrowed, because nothing can remove the value:
    ///
    /// - The dict is in a field, is made with its object, is never handed out, and only gets keys that were
    ///   not there. They come from `PyDict_SetDefault`, or are added after a lookup found nothing, with a
    ///   lock of the object held since that lookup.
    /// - The dict belongs to the thread (`PyThreadState_GetDict`), and the value is kept only in the function
    ///   and in those that it returns to.
    ///
    /// If a macro leaves the function while the reference is held (`CHECK(f(x))`), one or two uses of it are
    /// written out, with the release. If there are more, or the macro has several definitions, the rest of
    /// the function becomes a helper, and the function holds the reference while it calls the helper.
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
    /// Safe. An error that is now raised is a change of behaviour, which each run mentions once. An exception
    /// may be pending before the lookup: after a failed call, a call whose result is not tested, or
    /// `PyErr_SetString`, and in a destructor or `bf_releasebuffer`. The new code keeps it, as the old
    /// function did:
    ///
    ///     exc = PyErr_GetRaisedException();
    ///     if (PyDict_GetItemRef(dict, key, &value) < 0) {
    ///         PyErr_WriteUnraisable(NULL);
    ///     }
    ///     PyErr_SetRaisedException(exc);
    ///
    /// One thing differs: for a key that cannot be hashed, the old function dropped the pending exception;
    /// now it stays. An argument that is a call of the C API is computed before the exception is saved.
    ///
    /// The fix is for review if another call among the arguments may meet the exception, or if the code found
    /// the key before and does not test the result of this lookup.
    ///
    /// ## When it declines
    /// - The object is returned or stored without a strong reference: the callers must change.
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
