//! Takes the content of cells with a reference of its own.

use crate::declare_rule;
use crate::edit::Confidence;
use crate::rule::{Finding, PackageCx};
use crate::strong;

const NAMES: &[&str] = &["PyCell_GET"];

declare_rule! {
    /// ## What it does
    /// Replaces `PyCell_GET` with `PyCell_Get`, and releases the content on every path after its last use.
    ///
    /// ## Why
    /// Another thread can assign to the cell between the call and the use of its content.
    ///
    /// ## Example
    /// Before:
    ///
    ///     value = PyCell_GET(cell);
    ///     use(value);
    ///
    /// After:
    ///
    ///     value = PyCell_Get(cell);
    ///     use(value);
    ///     Py_XDECREF(value);
    ///
    /// ## Confidence
    /// Safe.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The object is returned or stored without a strong reference: the callers must change | manual | `return PyCell_GET(cell);` | Return a new reference, and release it in each caller. |
    /// | A pointer into the object (`PyUnicode_AsUTF8`, a struct field) outlives the function | manual | `self->text = PyUnicode_AsUTF8(item);` | Store a reference to the object beside the pointer. |
    /// | Only some paths own the reference, or there is no statement after which to release it | manual | `if (keep) Py_INCREF(item);` | Take the reference on every path. |
    /// | The call is in the body of a macro | manual | `#define CONTENT(c) PyCell_GET(c)` | Write the call out where the macro is used. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/cell.html#c.PyCell_Get>
    pub static BORROWED_CELL_CONTENT {
        code: "UG108",
        name: "borrowed-cell-content",
        summary: "the content of a cell is used without owning a reference",
        severity: Memory,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    strong::check(cx, &BORROWED_CELL_CONTENT, NAMES, findings);
}
