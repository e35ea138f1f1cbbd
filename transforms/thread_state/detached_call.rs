//! UG601: the C API is called where the thread is detached.

use crate::declare_rule;
use crate::rule::{Finding, Note, Outcome, PackageCx};

use super::calls::needs_thread;
use super::package::Package;
use super::{finding, settle};

/// Names without which the rule has nothing to say.
pub const TRIGGERS: &[&str] = &["PyEval_SaveThread", "PyEval_ReleaseThread"];

declare_rule! {
    /// ## What it does
    /// Finds calls that need an attached thread but are made while it is detached: between
    /// `Py_BEGIN_ALLOW_THREADS` and `Py_END_ALLOW_THREADS`, or after `PyEval_SaveThread`. These are calls
    /// of the C API, and of functions of the package that call it.
    ///
    /// ## Why
    /// A detached thread has no thread state. On the free-threaded build, a call that allocates, counts
    /// references or sets an exception crashes. The garbage collector may be running at the same time.
    ///
    /// ## Example
    /// ```c
    /// Py_BEGIN_ALLOW_THREADS
    /// n = read(self->fd, buffer, size);
    /// if (n < 0)
    ///     PyErr_SetFromErrno(PyExc_OSError);
    /// Py_END_ALLOW_THREADS
    /// ```
    /// Use instead:
    /// ```c
    /// Py_BEGIN_ALLOW_THREADS
    /// n = read(self->fd, buffer, size);
    /// Py_END_ALLOW_THREADS
    /// if (n < 0)
    ///     PyErr_SetFromErrno(PyExc_OSError);
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: the author must move the call after the block, or put it between
    /// `Py_BLOCK_THREADS` and `Py_UNBLOCK_THREADS`.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | A function is called through a pointer | assumed | `Py_BEGIN_ALLOW_THREADS self->run(self); Py_END_ALLOW_THREADS` | Read all functions that the pointer may lead to. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/init.html#releasing-the-gil-from-extension-code>
    pub static DETACHED_API_CALL {
        code: "UG601",
        name: "detached-api-call",
        summary: "the C API is called while the thread is detached",
        severity: Memory,
        since: "0.1.0",
        best: None,
        triggers: TRIGGERS,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if TRIGGERS.iter().all(|name| cx.calls_to(name).is_empty()) {
        return;
    }
    let package = Package::new(cx);
    let need = package.need_thread();
    let start = findings.len();
    for (function, definition) in package.definitions() {
        for step in definition
            .steps
            .iter()
            .filter(|step| step.thread.is_detached())
        {
            let inner = need.get(&*step.name);
            if inner.is_none()
                && (package.functions.contains_key(&*step.name) || !needs_thread(&step.name))
            {
                continue;
            }
            let message = format!(
                "`{}` is called while the thread is detached; it needs an attached thread",
                step.name
            );
            let advice = "call it after the block, or between `Py_BLOCK_THREADS` and \
                          `Py_UNBLOCK_THREADS`";
            let outcome = Outcome::Manual(advice.to_owned());
            let place = package.text(definition.item, step.call);
            let Some(mut found) = finding(&DETACHED_API_CALL, place, function, message, outcome)
            else {
                continue;
            };
            let inner = inner.and_then(|&(item, call)| package.text(item, call));
            found.notes.extend(inner.map(|(file, span)| Note {
                file,
                span,
                text: "called here".to_owned(),
            }));
            findings.push(found);
        }
    }
    settle(findings, start);
}
