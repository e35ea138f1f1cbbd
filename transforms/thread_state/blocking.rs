//! UG603: the thread waits while it is attached.

use crate::ast::ExprKind;
use crate::declare_rule;
use crate::rule::{Finding, ItemId, Outcome, PackageCx};

use super::flow::Step;
use super::package::Package;
use super::{finding, settle};

declare_rule! {
    /// ## What it does
    /// Finds calls that may wait for long (sleeping, joining a thread, waiting for a process, a
    /// semaphore or a socket, taking a lock) in functions that Python calls, where the thread is
    /// attached: not between `Py_BEGIN_ALLOW_THREADS` and `Py_END_ALLOW_THREADS`.
    ///
    /// ## Why is this bad?
    /// On the free-threaded build the garbage collector stops all attached threads, and waits until
    /// each has stopped: a thread that sleeps attached makes all others wait. If it waits for a lock
    /// that one of those holds, none of them goes on.
    ///
    /// ## Example
    /// ```c
    /// rc = sem_wait(self->semaphore);
    /// ```
    /// Use instead:
    /// ```c
    /// Py_BEGIN_ALLOW_THREADS
    /// rc = sem_wait(self->semaphore);
    /// Py_END_ALLOW_THREADS
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: what the call uses must not change while the thread is detached. A lock
    /// around a few lines of C that never calls Python can stay, or become a `PyMutex`, which
    /// detaches by itself.
    ///
    /// ## References
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html>
    /// - <https://docs.python.org/3/c-api/init.html#releasing-the-gil-from-extension-code>
    pub static ATTACHED_BLOCKING_CALL {
        code: "UG603",
        name: "attached-blocking-call",
        summary: "a call that may wait for long is made while the thread is attached",
        since: "0.1.0",
        best: None,
        triggers: BLOCKING,
        check: check,
    }
}

/// Functions of C and of systems that wait for something else to happen.
pub const BLOCKING: &[&str] = &[
    "PyThread_acquire_lock",
    "WaitForMultipleObjects",
    "WaitForSingleObject",
    "accept",
    "clock_nanosleep",
    "connect",
    "epoll_wait",
    "flock",
    "fsync",
    "getaddrinfo",
    "gethostbyaddr",
    "gethostbyname",
    "getnameinfo",
    "mq_receive",
    "mq_send",
    "mq_timedreceive",
    "mq_timedsend",
    "mtx_lock",
    "nanosleep",
    "poll",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_join",
    "pthread_mutex_lock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "recv",
    "recvfrom",
    "recvmsg",
    "select",
    "sem_timedwait",
    "sem_wait",
    "sleep",
    "system",
    "tcdrain",
    "thrd_join",
    "usleep",
    "wait4",
    "waitpid",
];

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if BLOCKING.iter().all(|name| cx.calls_to(name).is_empty()) {
        return;
    }
    let package = Package::new(cx);
    let attached = package.run_attached();
    let start = findings.len();
    for (function, definition) in package.definitions() {
        if !attached.contains(function) {
            continue;
        }
        for step in &definition.steps {
            let name = &*step.name;
            if !BLOCKING.contains(&name)
                || package.functions.contains_key(name)
                || !step.thread.is_attached()
                || returns_at_once(cx, definition.item, step)
            {
                continue;
            }
            let message = format!("`{name}` may wait while the thread is attached");
            let advice = "call it between `Py_BEGIN_ALLOW_THREADS` and `Py_END_ALLOW_THREADS`";
            let outcome = Outcome::Manual(advice.to_owned());
            let place = package.text(definition.item, step.call);
            findings.extend(finding(
                &ATTACHED_BLOCKING_CALL,
                place,
                function,
                message,
                outcome,
            ));
        }
    }
    settle(findings, start);
}

/// `poll(fds, n, 0)`, `waitpid(pid, &status, WNOHANG)`, `PyThread_acquire_lock(lock, 0)`.
fn returns_at_once(cx: &PackageCx<'_>, item: ItemId, step: &Step) -> bool {
    let Some(tree) = cx.tree(item) else {
        return false;
    };
    let ExprKind::Call { args, .. } = &tree.expr(step.call).kind else {
        return false;
    };
    let Some(last) = args.last() else {
        return false;
    };
    let expr = tree.expr(*last);
    let tokens = &cx.item(item).tokens;
    let is_flag = (expr.range.start..expr.range.end).any(|at| {
        matches!(
            tokens.text(cx.program.files, at),
            b"WNOHANG" | b"MSG_DONTWAIT" | b"NOWAIT_LOCK" | b"LOCK_NB" | b"LOCK_UN"
        )
    });
    let takes_zero = matches!(
        &*step.name,
        "poll" | "epoll_wait" | "PyThread_acquire_lock" | "WaitForSingleObject"
    );
    is_flag || takes_zero && matches!(expr.kind, ExprKind::Int(Some(0)))
}
