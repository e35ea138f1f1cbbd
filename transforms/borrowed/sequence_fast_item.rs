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
    /// path after the last use of the item. Where the new call fails, the function leaves as for
    /// `PyList_GET_ITEM` (UG106), or a critical section holds the list still, as there. If it has no way to
    /// fail, or keeps the items as long as the sequence, a list is copied into a tuple, which never
    /// changes; what is no list gives a tuple or a new list:
    ///
    ///     fast = PyList_CheckExact(arg)
    ///         ? PyList_AsTuple(arg)
    ///         : PySequence_Fast(arg, "not a sequence");
    ///
    /// Where Python code may run between two reads of a loop up to the size, the loop ends with the list
    /// instead, as for `PyList_GET_ITEM`.
    ///
    /// The same is done for `PySequence_Fast_ITEMS`: a change of the list may move what the pointer
    /// points at. It has to be read only, and not any more once the sequence is released. Where Python
    /// code may run between two reads, each item is taken from the sequence instead, and the pointer
    /// goes: `items[i]` turns into `PySequence_GetItem(fast, i)`.
    ///
    /// Where `PySequence_GetItem` may do otherwise than the macro, what the macro does is written out:
    ///
    ///     item = PyList_Check(seq)
    ///         ? PyList_GetItemRef(seq, i)
    ///         : Py_NewRef(PyTuple_GET_ITEM(seq, i));
    ///
    /// That is so where an exception may be pending, which a debug build of Python does not let
    /// `PySequence_GetItem` meet; where the function did not make the sequence by `PySequence_Fast`, for
    /// a subclass of list may give other items; and where `PySequence_GetItem` is a macro of the project.
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
    /// Safe. Where a list got shorter meanwhile the macro read what was no item of it; the new code raises
    /// `IndexError` there. Review where the macro gets the result of a call that the function did not make
    /// by `PySequence_Fast`: a subclass of list may give other items. A copy of a list is for review where
    /// the function changes the list before the last item is read, or Python code may run, and might:
    /// an item that is replaced meanwhile is not seen in the copy. What runs when other objects are
    /// released (`__del__`, which a garbage collection may run at any allocation) is taken not to
    /// change the list. Functions of the package are followed.
    ///
    /// ## Declines
    /// - No exit fits, and the sequence is not made by `PySequence_Fast` of a variable in the same function,
    ///   or is changed or kept there.
    /// - The reference is returned or stored without a reference of its own, and outlives the sequence.
    /// - The call is made by the body of a macro, or in the middle of a condition.
    /// - `PySequence_Fast_ITEMS` whose pointer or items leave the function, are used when the sequence is
    ///   released, or are read otherwise than by `items[i]` and `*(items + i)` where no copy is possible.
    /// - There is no copy where the function goes by a size of the list that it asked for before, other than
    ///   to see whether it is empty: the copy may have fewer items. Where the function does not ask the copy
    ///   for its size either, the fix is for review.
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/sequence.html#c.PySequence_Fast>
    /// - <https://docs.python.org/3/c-api/sequence.html#c.PySequence_GetItem>
    pub static BORROWED_SEQUENCE_FAST_ITEM {
        code: "UG107",
        name: "borrowed-sequence-fast-item",
        summary: "an item of a PySequence_Fast result is used without owning a reference",
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
