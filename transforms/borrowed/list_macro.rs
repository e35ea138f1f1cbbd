//! Points at list items that are read by the unchecked macro.

use crate::declare_rule;
use crate::rule::{Finding, PackageCx};
use crate::strong;

const NAMES: &[&str] = &["PyList_GET_ITEM"];

declare_rule! {
    /// ## What it does
    /// Reports `PyList_GET_ITEM` on lists that other threads may change; `PyList_GetItemRef` replaces it.
    ///
    /// ## Why
    /// Between the test of the size and the read another thread can shorten the list: the macro then reads
    /// freed memory. The item itself can be freed right after.
    ///
    /// ## Example
    /// Before:
    ///
    ///     item = PyList_GET_ITEM(list, i);
    ///     n += check(item);
    ///
    /// After:
    ///
    ///     item = PyList_GetItemRef(list, i);
    ///     if (item == NULL)
    ///         return -1;
    ///     n += check(item);
    ///     Py_DECREF(item);
    ///
    /// ## Confidence
    /// No fix yet: the checked call can fail where the macro could not, and the function must do something
    /// about it.
    ///
    /// ## Declines
    /// - Always, for now.
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/list.html#c.PyList_GetItemRef>
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#borrowed-references>
    pub static UNCHECKED_LIST_ITEM {
        code: "UG106",
        name: "unchecked-list-item",
        summary: "a list item is read without a check and without owning a reference",
        since: "0.1.0",
        best: None,
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    strong::check(cx, &UNCHECKED_LIST_ITEM, NAMES, findings);
}
