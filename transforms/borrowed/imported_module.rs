//! Takes modules from `sys.modules` with a reference of their own.

use crate::declare_rule;
use crate::edit::Confidence;
use crate::rule::{Finding, PackageCx};
use crate::strong;

const NAMES: &[&str] = &["PyImport_AddModule", "PyImport_AddModuleObject"];

declare_rule! {
    /// ## What it does
    /// Replaces `PyImport_AddModule` with `PyImport_AddModuleRef`, and releases the module after the last use
    /// of it and of its dict. A call stays as it is if the code ignores the result or only compares it with
    /// `NULL`.
    ///
    /// ## Why
    /// Another thread can remove the module from `sys.modules` between the call and its use.
    ///
    /// ## Example
    /// Before:
    ///
    ///     module = PyImport_AddModule("__main__");
    ///     if (module == NULL)
    ///         return NULL;
    ///     dict = PyModule_GetDict(module);
    ///     run(dict);
    ///
    /// After:
    ///
    ///     module = PyImport_AddModuleRef("__main__");
    ///     if (module == NULL)
    ///         return NULL;
    ///     dict = PyModule_GetDict(module);
    ///     run(dict);
    ///     Py_DECREF(module);
    ///
    /// ## Confidence
    /// Safe.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The object is returned or stored without a strong reference: the callers must change | manual | `return PyImport_AddModule("m");` | Return a new reference, and release it in each caller. |
    /// | A pointer into the object (`PyUnicode_AsUTF8`, a struct field) outlives the function | manual | `self->text = PyUnicode_AsUTF8(item);` | Store a reference to the object beside the pointer. |
    /// | Only some paths own the reference, or there is no statement after which to release it | manual | `if (keep) Py_INCREF(item);` | Take the reference on every path. |
    /// | The call is in the body of a macro | manual | `#define MAIN() PyImport_AddModule("__main__")` | Write the call out where the macro is used. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/import.html#c.PyImport_AddModuleRef>
    pub static BORROWED_IMPORTED_MODULE {
        code: "UG105",
        name: "borrowed-imported-module",
        summary: "a module from sys.modules is used without owning a reference",
        severity: Memory,
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: NAMES,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    strong::check(cx, &BORROWED_IMPORTED_MODULE, NAMES, findings);
}
