//! Takes list items that are read by the unchecked macro with a reference of their own.

use crate::declare_rule;
use crate::edit::Confidence;
use crate::rule::{Finding, PackageCx};
use crate::strong;
use crate::transforms::critical_section::dict_next::hold_lists;

const NAMES: &[&str] = &["PyList_GET_ITEM"];

declare_rule! {
    /// ## What it does
    /// Replaces `PyList_GET_ITEM` with `PyList_GetItemRef`, and releases the reference on every path after
    /// the last use of the item. The new call can fail. The fix takes the first of these that fits:
    ///
    /// 1. An exit of the function that releases just what it owns here, or one made of its releases and the
    ///    `NULL`, -1 or 0 that it returns after an error.
    /// 2. In a function that cannot fail: the end of a loop over the whole list, or of one that goes on while
    ///    the list has a first item. If the size came from a variable or field that is read later, the loop
    ///    sets it to the number of items that it has seen.
    /// 3. If the item goes straight to `PyFloat_AsDouble` or a function of `PyLong_As…`: that function gets
    ///    the `NULL` and raises, and the code does what it does about an item that is not a number.
    /// 4. A critical section that keeps the list as it is, from the call that asks for the size to the last
    ///    use of an item. The macro then stays:
    ///
    ///     Py_BEGIN_CRITICAL_SECTION(list);
    ///     n = PyList_GET_SIZE(list);
    ///     for (i = 0; i < n && is_text; i++)
    ///         is_text = PyUnicode_Check(PyList_GET_ITEM(list, i));
    ///     Py_END_CRITICAL_SECTION();
    ///
    /// The section needs all of this:
    ///
    /// - The list is a variable that is not set or released in the section.
    /// - A loop or `if` in the section compares the index with the size, and each call that asks for the size
    ///   is in the section.
    /// - Between that comparison and the use of the item nothing lets other threads run: no Python code, no
    ///   lock, no function outside the C API. Such a call is allowed after the code took a reference to the
    ///   item, if the size is asked for again before the next read.
    ///
    /// A `return` or `goto` out of the section moves after its end.
    ///
    /// ## Why
    /// Between the test of the size and the read another thread can shorten the list: the macro then reads
    /// freed memory. The item itself can be freed right after.
    ///
    /// ## Example
    /// Before:
    ///
    ///     item = PyList_GET_ITEM(list, i);
    ///     if (PyList_Append(other, item) < 0)
    ///         return -1;
    ///
    /// After:
    ///
    ///     item = PyList_GetItemRef(list, i);
    ///     if (item == NULL) {
    ///         return -1;
    ///     }
    ///     if (PyList_Append(other, item) < 0) {
    ///         Py_DECREF(item);
    ///         return -1;
    ///     }
    ///     Py_DECREF(item);
    ///
    /// ## Confidence
    /// Safe. A critical section does nothing in a build with the GIL. If the list got shorter, the macro read
    /// past the end of the list; the new code raises `IndexError` there, or ends the loop. A `void` function
    /// reports the error to `sys.unraisablehook` and returns. If its callers expect exceptions from it, it
    /// leaves the exception to them.
    ///
    /// ## When it declines
    /// - No exit and no section fits. The error value of the function is not known, or who owns what it
    ///   holds; a lock is held; or an array of the function, or memory that it allocated, already holds
    ///   references, and no label for another failure releases just as many.
    /// - The object is returned or stored without a strong reference: the callers must change.
    /// - A pointer into the object (`PyUnicode_AsUTF8`, a struct field) outlives the function.
    /// - The code fills the slot where it is empty: the new call must not read an empty slot.
    /// - The call is made by the body of a macro, or in the middle of a condition.
    /// - In a C89 file, the test of the result would stand between declarations whose values cannot be
    ///   assigned later.
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/list.html#c.PyList_GetItemRef>
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#borrowed-references>
    pub static UNCHECKED_LIST_ITEM {
        code: "UG106",
        name: "unchecked-list-item",
        summary: "a list item is read without a check and without owning a reference",
        severity: Memory,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let first = findings.len();
    strong::check(cx, &UNCHECKED_LIST_ITEM, NAMES, findings);
    hold_lists(cx, &mut findings[first..]);
}
