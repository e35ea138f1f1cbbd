//! Takes items of `PySequence_Fast` with a reference of their own, or from a snapshot.

use crate::declare_rule;
use crate::edit::Confidence;
use crate::rule::{Finding, PackageCx};
use crate::strong;
use crate::transforms::critical_section::dict_next::hold_lists;

const NAMES: &[&str] = &["PySequence_Fast_GET_ITEM"];

declare_rule! {
    /// ## What it does
    /// Replaces `PySequence_Fast_GET_ITEM` with `PySequence_GetItem`, and releases the reference on every
    /// path after the last use of the item. If the new call fails, the function leaves as for
    /// `PyList_GET_ITEM` (UG106).
    ///
    /// If the function cannot fail, or uses the pointer of `PySequence_Fast_ITEMS`, it reads from a tuple
    /// instead, because a tuple never changes:
    ///
    ///     fast = PyList_CheckExact(arg)
    ///         ? PyList_AsTuple(arg)
    ///         : PySequence_Fast(arg, "not a sequence");
    ///
    /// ## Why
    /// `PySequence_Fast` returns a list as it is, not a copy. Another thread can change that list at any time.
    ///
    /// ## Example
    /// Before:
    ///
    ///     item = PySequence_Fast_GET_ITEM(fast, 0);
    ///     n = PyObject_Size(item);
    ///     Py_DECREF(fast);
    ///
    /// After:
    ///
    ///     item = PySequence_GetItem(fast, 0);
    ///     if (item == NULL) {
    ///         Py_DECREF(fast);
    ///         return -1;
    ///     }
    ///     n = PyObject_Size(item);
    ///     Py_DECREF(item);
    ///     Py_DECREF(fast);
    ///
    /// ## Confidence
    /// Safe. If another thread shortened the list, the macro read past its end. The new code raises
    /// `IndexError` there.
    ///
    /// Review if the sequence does not come from `PySequence_Fast` in the same function, or if this thread
    /// may change the list while the copy is in use.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | No exit fits, and no copy is possible: the function gets the sequence from its caller, changes it, or keeps it | manual | `void show(PyObject *fast) { use(PySequence_Fast_GET_ITEM(fast, 0)); }` | Let the function return an error, or copy the list to a tuple in the caller. |
    /// | The object is returned or stored without a strong reference, and outlives the sequence | manual | `self->first = PySequence_Fast_GET_ITEM(fast, 0); Py_DECREF(fast);` | Store a new reference: `Py_NewRef(…)`. |
    /// | The call is in the body of a macro, or in the middle of a condition | manual | `if (ready && use(PySequence_Fast_GET_ITEM(fast, 0)))` | Call it in a statement of its own. |
    /// | The pointer of `PySequence_Fast_ITEMS`, or an item read through it, leaves the function or is used after the sequence is released | manual | `items = PySequence_Fast_ITEMS(fast); Py_DECREF(fast); use(items[0]);` | Release the sequence after the last use. |
    /// | The function uses an earlier size of the list: a copy may have fewer items | manual | `n = PyList_GET_SIZE(list); fast = PySequence_Fast(list, "");` | Ask `fast` for its size. |
    ///
    /// ## References
    /// - [Strong references](../topics/strong-references.md): copies of a sequence
    /// - <https://docs.python.org/3/c-api/sequence.html#c.PySequence_Fast>
    /// - <https://docs.python.org/3/c-api/sequence.html#c.PySequence_GetItem>
    pub static BORROWED_SEQUENCE_FAST_ITEM {
        code: "UG107",
        name: "borrowed-sequence-fast-item",
        summary: "an item of a PySequence_Fast result is used without owning a reference",
        severity: Memory,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: &["PySequence_Fast_GET_ITEM", "PySequence_Fast_ITEMS"],
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let first = findings.len();
    strong::check(cx, &BORROWED_SEQUENCE_FAST_ITEM, NAMES, findings);
    hold_lists(cx, &mut findings[first..]);
    strong::check_items(cx, &BORROWED_SEQUENCE_FAST_ITEM, findings);
}
