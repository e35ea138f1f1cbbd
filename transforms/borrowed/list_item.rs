//! Takes list items with a reference of their own.

use crate::declare_rule;
use crate::edit::Confidence;
use crate::rule::{Finding, PackageCx};
use crate::strong;

const NAMES: &[&str] = &["PyList_GetItem"];

declare_rule! {
    /// ## What it does
    /// Replaces `PyList_GetItem` with `PyList_GetItemRef`, and releases the reference on every path after
    /// the last use of the item and of every pointer into it.
    ///
    /// The fix also changes the counting around the lookup:
    ///
    /// - It removes a `Py_INCREF` that took the reference.
    /// - It removes a release after a failed `PyList_SetItem`, which has released the item itself. The title
    ///   of the fix says so.
    /// - It adds a release where the code took a reference and lost it on some path, if no other code can hold
    ///   that reference and another path releases or returns it. The title of the fix says so.
    /// - A field whose `Py_INCREF` comes right after the lookup gets the reference from the lookup. So does a
    ///   static variable that is only ever set by lookups.
    ///
    /// The new call fails if another thread made the list shorter after the code asked for its size. If
    /// nothing tests the item, or the function would return a result with the exception set, the fix adds an
    /// exit as `unchecked-list-item` does: one that the function has, or one made of the same parts. If none
    /// fits, the fix is for review.
    ///
    /// If a macro leaves the function while the reference is held (`CHECK(f(x))`), one or two uses of it are
    /// written out, with the release. If there are more, or the macro has several definitions, the rest of
    /// the function becomes a helper, and the function holds the reference while it calls the helper.
    ///
    /// ## Why
    /// Another thread can replace or remove the item between the call and its use. The list was then its
    /// last owner, and the pointer dangles.
    ///
    /// ## Example
    /// Before:
    ///
    ///     PyObject *item = PyList_GetItem(list, 0);
    ///     if (item == NULL)
    ///         return -1;
    ///     n = PyLong_AsLong(item);
    ///
    /// After:
    ///
    ///     PyObject *item = PyList_GetItemRef(list, 0);
    ///     if (item == NULL)
    ///         return -1;
    ///     n = PyLong_AsLong(item);
    ///     Py_DECREF(item);
    ///
    /// ## Confidence
    /// Safe. If the argument is not a list, the error is a `TypeError` instead of a `SystemError`. A slot of
    /// `PyList_New(n)` that was never filled must not be read.
    ///
    /// ## When it declines
    /// - The object is returned or stored without a strong reference: the callers must change.
    /// - A pointer into the object (`PyUnicode_AsUTF8`, a struct field) outlives the function.
    /// - Only some paths own the reference, or there is no statement at which to release it.
    /// - The call is made by the body of a macro.
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/list.html#c.PyList_GetItemRef>
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#borrowed-references>
    pub static BORROWED_LIST_ITEM {
        code: "UG101",
        name: "borrowed-list-item",
        summary: "a list item is used without owning a reference",
        severity: Memory,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    strong::check(cx, &BORROWED_LIST_ITEM, NAMES, findings);
}
