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
    /// `PyList_GET_ITEM` (UG106), or a critical section holds the list still, as there. If the function cannot
    /// fail, or keeps the items as long as the sequence, it reads from a tuple, which never changes. A list
    /// is copied; any other argument gives a tuple or a new list anyway:
    ///
    ///     fast = PyList_CheckExact(arg)
    ///         ? PyList_AsTuple(arg)
    ///         : PySequence_Fast(arg, "not a sequence");
    ///
    /// If Python code may run between two reads of a loop up to the size, there is no copy: the loop ends
    /// where the list ends, as for `PyList_GET_ITEM`.
    ///
    /// The copy also serves for `PySequence_Fast_ITEMS`, whose pointer dangles once the list is resized. The
    /// code may only read through the pointer, and not after it has released the sequence. If Python code may
    /// run between two reads, the pointer is removed, and `items[i]` becomes `PySequence_GetItem(fast, i)`.
    ///
    /// If `PySequence_GetItem` may behave differently from the macro, the fix writes out what the macro does:
    ///
    ///     item = PyList_Check(seq)
    ///         ? PyList_GetItemRef(seq, i)
    ///         : Py_NewRef(PyTuple_GET_ITEM(seq, i));
    ///
    /// There are three such cases: an exception may be pending, for which `PySequence_GetItem` aborts in a
    /// debug build of Python; the function did not make the sequence by `PySequence_Fast`, so it may be a
    /// subclass of list that gives other items; or `PySequence_GetItem` is a macro of the project.
    ///
    /// ## Why
    /// `PySequence_Fast` gives a list back as it is, not a copy: another thread can change it meanwhile.
    ///
    /// ## Example
    /// Before:
    ///
    ///     PyObject *fast = PySequence_Fast(arg, "not a sequence");
    ///     if (fast == NULL)
    ///         return -1;
    ///     item = PySequence_Fast_GET_ITEM(fast, 0);
    ///     n = PyObject_Size(item);
    ///     Py_DECREF(fast);
    ///
    /// After:
    ///
    ///     PyObject *fast = PySequence_Fast(arg, "not a sequence");
    ///     if (fast == NULL)
    ///         return -1;
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
    /// Safe. If the list got shorter, the macro read past the end of the list; the new code raises
    /// `IndexError` there.
    ///
    /// Review if the sequence does not come from `PySequence_Fast` in the same function: a subclass of list
    /// may give other items. Review also for a copy of a list that the function, or Python code that may run,
    /// may change before the last item is read: the copy does not show an item that is replaced. Functions of
    /// the package are followed. Code that runs when other objects are released (`__del__`, also in a garbage
    /// collection) is assumed not to change the list.
    ///
    /// ## When it declines
    /// - No exit fits, and no copy is possible: the function does not make the sequence by `PySequence_Fast` of
    ///   a variable, or it changes or keeps the sequence.
    /// - The object is returned or stored without a strong reference, and outlives the sequence.
    /// - The call is made by the body of a macro, or in the middle of a condition.
    /// - The pointer of `PySequence_Fast_ITEMS`, or an item read through it, leaves the function, or is used
    ///   after the sequence is released. Or no copy is possible, and the items are read otherwise than by
    ///   `items[i]` and `*(items + i)`.
    /// - The function asked for the size of the list before, and uses it for more than to see whether the list
    ///   is empty: a copy may have fewer items. If it does not ask the copy for its size either, the fix is
    ///   for review.
    ///
    /// ## References
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
