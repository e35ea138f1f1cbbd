//! UG503: static variables that are written while other threads may use them.

use super::finding;
use crate::declare_rule;
use crate::rule::{Finding, Outcome, PackageCx};
use crate::state::{Kind, Variable, inventory};

declare_rule! {
    /// ## What it does
    /// Finds static variables (of files and of functions) that are written without a lock by
    /// functions that run after import: counters, options, hooks, free lists, tables, static
    /// types, references that are replaced. One finding names the variable and the places that
    /// write it.
    ///
    /// Variables that are only written while the module is made or taken down, `const` and
    /// thread-local data, atomics and locks are fine and not named. Neither is a variable whose
    /// writes all hold a lock, nor what only builds with the GIL have.
    ///
    /// ## Why is this bad?
    /// Without the GIL two threads may write at the same time, and one may read what another has
    /// half written. A count gets lost, an entry of a free list is handed out twice, a reference
    /// is released while another thread uses it.
    ///
    /// ## Example
    /// ```c
    /// static PyObject *handler;
    ///
    /// static PyObject *
    /// set_handler(PyObject *module, PyObject *value)
    /// {
    ///     Py_XSETREF(handler, Py_NewRef(value));
    ///     Py_RETURN_NONE;
    /// }
    /// ```
    ///
    /// ## Confidence
    /// There is no fix, since the repairs differ in what they mean: state of the module, with a
    /// lock; a variable for each thread; an atomic one; or none at all, if the value can be set
    /// while the module is made. The finding names those that fit the variable.
    pub static SHARED_STATIC_VARIABLE {
        code: "UG503",
        name: "shared-static-variable",
        summary: "a static variable is written while other threads may use it",
        since: "0.1.0",
        best: None,
        triggers: &[],
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    for variable in inventory(cx).iter().filter(|v| !v.late.is_empty()) {
        if let Some((message, advice)) = describe(&Kind::of(cx, variable), variable) {
            let outcome = Outcome::Manual(advice.to_owned());
            let rule = &SHARED_STATIC_VARIABLE;
            findings.push(finding(cx, rule, variable, message, outcome));
        }
    }
}

/// What is wrong with a variable of this kind, and what can be done; `None` if another rule says.
fn describe(kind: &Kind, variable: &Variable) -> Option<(String, &'static str)> {
    let name = &variable.name;
    Some(match kind {
        Kind::Cache(_) | Kind::Buffer => return None,
        Kind::Once => (
            format!(
                "`{name}` says that something was set up on first use: two threads may set it up, \
                 or one may use it half done"
            ),
            "set it up while the module is made, or hold a `PyMutex` from the test to the end of \
             the setup",
        ),
        Kind::Counter => (
            format!("`{name}` is counted by all threads without a lock: counts get lost"),
            "make it atomic, keep one for each thread, or hold a `PyMutex` around each use",
        ),
        Kind::Type => (
            format!("the static type `{name}` is changed after import"),
            "call `PyType_Ready` and fill the slots while the module is made",
        ),
        Kind::Pointer => (
            format!("`{name}` is replaced while other threads may use what it points to"),
            "keep it in the state of the module and hold a `PyMutex` around each exchange and \
             around each read that takes a reference, or set it while the module is made",
        ),
        Kind::Hook => (
            format!("the function in `{name}` is replaced while other threads may call it"),
            "set it while the module is made, or make it atomic",
        ),
        Kind::Option => (
            format!("`{name}` is set by one thread while others may read it"),
            "make it atomic, keep one for each thread, or set it while the module is made",
        ),
        Kind::Table => (
            format!("entries of `{name}` are changed by all threads without a lock"),
            "hold a `PyMutex` around each use; a free list can be left out where \
             `Py_GIL_DISABLED` is defined, or kept for each thread",
        ),
        Kind::Struct => (
            format!("`{name}` is changed by all threads without a lock"),
            "keep it in the state of the module and hold a `PyMutex` around each use, or keep one \
             for each thread",
        ),
    })
}
