//! UG501: static pointers that are filled on first use.

use super::{finding, guard};
use crate::declare_rule;
use crate::edit::Confidence;
use crate::rule::{Finding, Outcome, PackageCx};
use crate::state::{Kind, inventory};

declare_rule! {
    /// ## What it does
    /// Finds static pointers that a function fills where it finds them `NULL`: interned strings,
    /// imported modules and their attributes, tables.
    ///
    /// ## Why is this bad?
    /// Two threads may both find the pointer empty. Each makes a value; one of the two is lost,
    /// and callers that compare by identity see two different objects. On processors with weak
    /// ordering a thread may also see the pointer before what it points to.
    ///
    /// ## Example
    /// ```c
    /// static PyObject *name = NULL;
    /// if (name == NULL) {
    ///     name = PyUnicode_InternFromString("name");
    ///     if (name == NULL) {
    ///         return NULL;
    ///     }
    /// }
    /// ```
    /// becomes
    /// ```c
    /// static PyObject *name = NULL;
    /// static PyMutex name_mutex;
    /// PyMutex_Lock(&name_mutex);
    /// if (name == NULL) {
    ///     name = PyUnicode_InternFromString("name");
    /// }
    /// PyMutex_Unlock(&name_mutex);
    /// if (name == NULL) {
    ///     return NULL;
    /// }
    /// ```
    /// Below Python 3.13, which has no `PyMutex`, the compatibility header makes the calls empty:
    /// there the GIL does the same.
    ///
    /// A value that is tested where it is assigned, `if ((name = make()) == NULL) return NULL;`, is
    /// tested behind the mutex too; several values that one branch makes share one.
    ///
    /// ## When it declines
    /// - The branch does more than fill variables and leave if that failed: it imports a module and
    ///   takes the value from there.
    /// - Several places fill the variable, or the place is made by a macro.
    /// - The package uses the limited API, which has no `PyMutex`.
    ///
    /// Filling the variable while the module is made is often the better repair, at the price of a
    /// slower import.
    ///
    /// ## Confidence
    /// `safe` if the value is made without running Python code and only this function uses the
    /// variable. Otherwise `review`: code that runs while the mutex is held and comes back to this
    /// function would wait for itself.
    pub static LAZY_STATIC_CACHE {
        code: "UG501",
        name: "lazy-static-cache",
        summary: "a static pointer is filled on first use without a lock",
        since: "0.1.0",
        best: Some(Confidence::Safe),
        triggers: &[],
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    for variable in inventory(cx).iter().filter(|v| !v.late.is_empty()) {
        let Kind::Cache(lazies) = Kind::of(cx, variable) else {
            continue;
        };
        let message = format!(
            "`{}` is filled on first use: two threads may both fill it",
            variable.name
        );
        let outcome = match guard::fix(cx, variable, &lazies) {
            Ok(fix) => Outcome::Fix(fix),
            Err(why) => Outcome::Manual(format!(
                "{why}: fill it while the module is made, or make the value first and store it \
                 under a `PyMutex` if the variable is still empty"
            )),
        };
        findings.push(finding(cx, &LAZY_STATIC_CACHE, variable, message, outcome));
    }
}
