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
    /// The new call fails if another thread shortened the list after the code asked for its size. If nothing
    /// tests the item, the fix adds an exit, as `unchecked-list-item` (UG106) does. It does the same if the
    /// function would return a result with the exception set.
    ///
    /// The fix also corrects the reference counting around the lookup: a `Py_INCREF` of the item that is now
    /// redundant is removed, for example.
    ///
    /// ## Why
    /// Another thread can replace or remove the item between the call and its use. If the list held the last
    /// reference, the pointer dangles.
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
    /// Safe. If the argument is not a list, the error is a `TypeError` instead of a `SystemError`. The code
    /// must not read a slot of `PyList_New(n)` that was never filled.
    ///
    /// Review if no exit fits.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The object is returned or stored without a strong reference: the callers must change | manual | `return PyList_GetItem(list, 0);` | Return a new reference, and release it in each caller. |
    /// | A pointer into the object (`PyUnicode_AsUTF8`, a struct field) outlives the function | manual | `self->text = PyUnicode_AsUTF8(item);` | Store a reference to the object beside the pointer. |
    /// | Only some paths own the reference, or there is no statement after which to release it | manual | `if (keep) Py_INCREF(item);` | Take the reference on every path. |
    /// | The call is in the body of a macro | manual | `#define FIRST(l) PyList_GetItem(l, 0)` | Write the call out where the macro is used. |
    ///
    /// ## References
    /// - [Strong references](../topics/strong-references.md): what else a fix changes, and how exits are chosen
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
