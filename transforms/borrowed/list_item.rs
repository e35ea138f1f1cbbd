//! Takes list items with a reference of their own.

use crate::declare_rule;
use crate::edit::Confidence;
use crate::rule::{Finding, PackageCx};
use crate::strong;

const NAMES: &[&str] = &["PyList_GetItem"];

declare_rule! {
    /// ## What it does
    /// Replaces `PyList_GetItem` with `PyList_GetItemRef`, and releases the reference on every path after
    /// the last use of the item and of every pointer into it. A `Py_INCREF` that took the reference goes.
    /// So does a release of what a failed `PyList_SetItem` has released itself: the fix says so. A reference
    /// that the code took and forgot on some path is released there, if no other code can have it and another
    /// path releases or returns it: the fix says that, too. A field that takes its reference right behind the
    /// lookup, and a static variable that holds nothing but what lookups gave, have it from the lookup.
    ///
    /// The new call fails where another thread has made the list shorter since the code asked for its size.
    /// Where nothing tests the item before it is read, or the function would go on with the exception and
    /// return a result, the function leaves as `unchecked-list-item` makes it leave: by an exit of its own,
    /// or by one made of its parts. Where none fits, the fix is for a review.
    ///
    /// Where macros leave the function while the reference is held (`CHECK(f(x))`), one or two uses are
    /// written out with the release. Where there are more, or the macro has several definitions, the rest
    /// of the function becomes one of its own, which is lent the object.
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
    /// Safe. For an argument that is no list the error is a `TypeError` in place of a `SystemError`; a slot
    /// that was never filled (`PyList_New(n)`) must not be read.
    ///
    /// ## Declines
    /// - The reference is returned or stored without a reference of its own: callers must change.
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
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    strong::check(cx, &BORROWED_LIST_ITEM, NAMES, findings);
}
