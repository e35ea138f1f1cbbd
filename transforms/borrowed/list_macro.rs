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
    /// its last use. The new call can fail. The fix uses the first of these that fits:
    ///
    /// 1. An exit of the function, or one made of its releases and its error value.
    /// 2. If the function cannot report an error: leave the loop, as if the list ended there.
    /// 3. If the item goes straight to `PyFloat_AsDouble` or a `PyLong_As…` function: that function gets the
    ///    `NULL` and raises.
    /// 4. A critical section around the loop, in which no other thread can change the list. The macro stays.
    ///
    /// ## Why
    /// Another thread can shorten the list after the test of the size. The macro then reads freed memory. The
    /// item itself can be freed right after the read.
    ///
    /// ## Example
    /// Before:
    ///
    ///     item = PyList_GET_ITEM(list, i);
    ///     n = PyObject_Size(item);
    ///
    /// After:
    ///
    ///     item = PyList_GetItemRef(list, i);
    ///     if (item == NULL) {
    ///         return -1;
    ///     }
    ///     n = PyObject_Size(item);
    ///     Py_DECREF(item);
    ///
    /// ## Confidence
    /// Safe. If another thread shortened the list, the new code raises `IndexError` or ends the loop.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | No exit and no section fits | manual | `void show(PyObject *l) { lock(); use(PyList_GET_ITEM(l, 0)); unlock(); }` | Let the function return an error. |
    /// | The object is returned or stored without a strong reference: the callers must change | manual | `return PyList_GET_ITEM(list, 0);` | Return a new reference, and release it in each caller. |
    /// | A pointer into the object (`PyUnicode_AsUTF8`, a struct field) outlives the function | manual | `self->text = PyUnicode_AsUTF8(PyList_GET_ITEM(list, 0));` | Store a reference to the object beside the pointer. |
    /// | The slot may be empty: the new call must not read it | manual | `list = PyList_New(4); if (PyList_GET_ITEM(list, 0) == NULL)` | Fill the list first, or use an array of C. |
    /// | The call is in the body of a macro, or in the middle of a condition | manual | `#define FIRST(l) PyList_GET_ITEM(l, 0)` | Call it in a statement of its own. |
    /// | In a C89 file, the test would stand between declarations | manual | `PyObject *a = PyList_GET_ITEM(l, 0); int n;` | Move the lookup below the declarations. |
    ///
    /// ## References
    /// - [Strong references](../topics/strong-references.md): how exits and sections are chosen
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
