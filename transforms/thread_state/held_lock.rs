//! UG604: Python code runs while a lock of C is held.

use std::collections::BTreeSet;

use crate::declare_rule;
use crate::rule::{Finding, Note, Outcome, PackageCx};

use super::calls::{LOCKS, runs_any_code};
use super::package::Package;
use super::{finding, settle};

const TRIGGERS: &[&str] = &[
    "pthread_mutex_lock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_spin_lock",
    "mtx_lock",
    "uv_mutex_lock",
    "EnterCriticalSection",
    "PyThread_acquire_lock",
    "PyMutex_Lock",
];

declare_rule! {
    /// ## What it does
    /// Finds calls that run arbitrary Python code (calls, attributes, comparisons, iteration,
    /// imports) while a C lock is held.
    ///
    /// ## Why
    /// Python code may detach the thread, and the garbage collector may stop it at that point, with the
    /// lock held. Another thread that waits for the lock while it is attached cannot be stopped. The
    /// collector then waits for that thread, and that thread waits for the lock: a deadlock. Python code
    /// may also try to take the same lock again.
    ///
    /// ## Example
    /// ```c
    /// pthread_mutex_lock(&self->lock);
    /// result = PyObject_CallNoArgs(self->callback);
    /// pthread_mutex_unlock(&self->lock);
    /// ```
    /// Use instead:
    /// ```c
    /// pthread_mutex_lock(&self->lock);
    /// callback = Py_NewRef(self->callback);
    /// pthread_mutex_unlock(&self->lock);
    /// result = PyObject_CallNoArgs(callback);
    /// Py_DECREF(callback);
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: it is not known what the lock protects. A critical section on the object may
    /// replace the lock, because the section is suspended while the thread waits.
    ///
    /// ## References
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html#critical-sections>
    pub static LOCK_HELD_OVER_PYTHON {
        code: "UG604",
        name: "lock-held-over-python",
        summary: "Python code runs while a C lock is held",
        severity: Deadlock,
        since: "0.1.0",
        best: None,
        triggers: TRIGGERS,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if LOCKS.iter().all(|(lock, _)| cx.calls_to(lock).is_empty()) {
        return;
    }
    let package = Package::new(cx);
    let start = findings.len();
    for (function, definition) in package.definitions() {
        let mut told = BTreeSet::new();
        for step in definition
            .steps
            .iter()
            .filter(|step| runs_any_code(&step.name))
        {
            for (lock, &taken) in &step.held {
                // One finding a lock: the first call stands for those that follow.
                if !told.insert(taken) {
                    continue;
                }
                let message = format!(
                    "`{}` runs Python code while `{lock}` is locked; that code may wait for the \
                     same lock (deadlock)",
                    step.name
                );
                let advice = "take a strong reference to the objects in use and release the lock \
                              first, or use a critical section";
                let outcome = Outcome::Manual(advice.to_owned());
                let place = package.text(definition.item, step.call);
                let Some(mut found) =
                    finding(&LOCK_HELD_OVER_PYTHON, place, function, message, outcome)
                else {
                    continue;
                };
                let taken = package.text(definition.item, taken);
                found.notes.extend(taken.map(|(file, span)| Note {
                    file,
                    span,
                    text: "it is locked here".to_owned(),
                }));
                findings.push(found);
            }
        }
    }
    settle(findings, start);
}
