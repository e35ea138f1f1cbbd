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
    /// the last use of the item. Where the new call fails, the function leaves as it does elsewhere: by an
    /// exit of its own that releases just what it owns here, or by one made of the releases that it does
    /// on its way and the `NULL`, -1 or 0 that it returns after an error. In a function that cannot fail, a loop
    /// through all of the list, or one that goes on while the list has a first item, just ends; where it got the size from a variable or field that is read
    /// later, it sets that to the number of items it has seen, as if the list had been that short. Where no exit
    /// fits, but the item goes straight to `PyFloat_AsDouble` or a function of `PyLong_As…`, that gets the `NULL`: it
    /// raises, and the code does what it does about an item that is no number.
    ///
    /// Where no exit serves, the code may be left to read without a check, in a critical section that keeps
    /// the list as it is, from where its size is asked for to the last use of an item:
    ///
    ///     Py_BEGIN_CRITICAL_SECTION(list);
    ///     n = PyList_GET_SIZE(list);
    ///     for (i = 0; i < n && is_text; i++)
    ///         is_text = PyUnicode_Check(PyList_GET_ITEM(list, i));
    ///     Py_END_CRITICAL_SECTION();
    ///
    /// The list is a variable then that is not set or released meanwhile, a loop or `if` in the section
    /// compares the index with the size, and all that asks for the size lies in the section as well. Nothing
    /// lets other threads in between that comparison and the use of the item: no Python code, no lock, no
    /// function that is not of the C API. What does so may stand behind a reference that the code takes, if
    /// the size is asked for again before the next read. A `return` or `goto` out of the section is done
    /// behind it.
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
    /// Safe. A critical section does nothing where there is a GIL. Where a list got shorter meanwhile the macro read what was no item of it; the new code raises
    /// `IndexError` there, or ends a loop to which that is all. A `void` function tells
    /// `sys.unraisablehook` and returns; if it tells its callers by exceptions, it leaves that to them.
    ///
    /// ## Declines
    /// - No exit fits, and no section: nothing tells what the function returns after an error, or who owns what it holds;
    ///   a lock is taken; an array of the function, or memory that it allocated, holds references by then and no
    ///   label of another failure releases just as many.
    /// - The reference is returned or stored without a reference of its own: callers must change.
    /// - A pointer into the object (`PyUnicode_AsUTF8`, a struct field) outlives the function.
    /// - The code fills the slot where it is empty: the new call must not read an empty slot.
    /// - The call is made by the body of a macro, or in the middle of a condition.
    /// - The test of the result would stand between declarations whose values cannot be assigned later, in a
    ///   file of C89.
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/list.html#c.PyList_GetItemRef>
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#borrowed-references>
    pub static UNCHECKED_LIST_ITEM {
        code: "UG106",
        name: "unchecked-list-item",
        summary: "a list item is read without a check and without owning a reference",
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
