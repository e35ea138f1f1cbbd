//! UG603: the thread waits while it is attached.

use std::collections::BTreeSet;

use crate::ast::ExprKind;
use crate::declare_rule;
use crate::rule::{Finding, ItemId, Outcome, PackageCx};

use super::calls::{LOCKS, needs_thread, turn};
use super::flow::Step;
use super::package::{Definition, Package};
use super::{finding, settle};

declare_rule! {
    /// ## What it does
    /// Finds calls that may wait for a long time while the thread is attached, in functions that
    /// Python calls: they are not between `Py_BEGIN_ALLOW_THREADS` and `Py_END_ALLOW_THREADS`. Such
    /// calls sleep, join a thread, wait for a process, a semaphore or a socket, or take a lock that
    /// other threads hold while they call Python or wait.
    ///
    /// ## Why
    /// On the free-threaded build, the garbage collector stops all attached threads and waits until
    /// each has stopped. A thread that sleeps while it is attached makes all others wait. If it waits
    /// for a lock that one of the stopped threads holds, the process hangs.
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
    /// There is no fix: what the call uses must not change while the thread is detached, and only the
    /// author knows whether that holds.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | The call is inside a C library, in functions that use neither the C API nor objects | not seen | `void lib_wait(int fd) { poll(…); }` | Detach the thread around the call of the library. |
    /// | The lock is held only for a few lines of C | no finding | `pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m);` | |
    ///
    /// ## References
    /// - <https://docs.python.org/3/howto/free-threading-extensions.html>
    /// - <https://docs.python.org/3/c-api/init.html#releasing-the-gil-from-extension-code>
    pub static ATTACHED_BLOCKING_CALL {
        code: "UG603",
        name: "attached-blocking-call",
        summary: "a call that may wait for a long time is made while the thread is attached",
        severity: Deadlock,
        since: "0.1.0",
        best: None,
        triggers: BLOCKING,
        check: check,
    }
}

/// Functions of C and of systems that wait for something else to happen.
pub const BLOCKING: &[&str] = &[
    "MsgWaitForMultipleObjects",
    "PyThread_acquire_lock",
    "SDL_CondWait",
    "SDL_CondWaitTimeout",
    "SDL_Delay",
    "SDL_SemWait",
    "SDL_SemWaitTimeout",
    "SDL_WaitEvent",
    "SDL_WaitEventTimeout",
    "SDL_WaitThread",
    "Sleep",
    "SleepConditionVariableCS",
    "SleepConditionVariableSRW",
    "SleepEx",
    "WaitForMultipleObjects",
    "WaitForMultipleObjectsEx",
    "WaitForSingleObject",
    "WaitForSingleObjectEx",
    "accept",
    "clock_nanosleep",
    "cnd_timedwait",
    "cnd_wait",
    "connect",
    "epoll_pwait",
    "epoll_wait",
    "fdatasync",
    "flock",
    "fsync",
    "g_cond_wait",
    "g_cond_wait_until",
    "g_thread_join",
    "getaddrinfo",
    "gethostbyaddr",
    "gethostbyaddr_r",
    "gethostbyname",
    "gethostbyname2",
    "gethostbyname_r",
    "getnameinfo",
    "kevent",
    "lockf",
    "mq_receive",
    "mq_send",
    "mq_timedreceive",
    "mq_timedsend",
    "msgrcv",
    "msgsnd",
    "mtx_lock",
    "nanosleep",
    "pause",
    "pclose",
    "poll",
    "ppoll",
    "pselect",
    "pthread_barrier_wait",
    "pthread_cond_timedwait",
    "pthread_cond_wait",
    "pthread_join",
    "pthread_mutex_lock",
    "pthread_mutex_timedlock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_timedjoin_np",
    "recv",
    "recvfrom",
    "recvmsg",
    "select",
    "sem_timedwait",
    "sem_wait",
    "semop",
    "semtimedop",
    "send",
    "sendfile",
    "sendmsg",
    "sendto",
    "sigsuspend",
    "sigtimedwait",
    "sigwait",
    "sigwaitinfo",
    "sleep",
    "system",
    "tcdrain",
    "thrd_join",
    "thrd_sleep",
    "usleep",
    "uv_barrier_wait",
    "uv_cond_timedwait",
    "uv_cond_wait",
    "uv_sem_wait",
    "uv_thread_join",
    "wait",
    "wait3",
    "wait4",
    "waitid",
    "waitpid",
];

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if BLOCKING.iter().all(|name| cx.calls_to(name).is_empty()) {
        return;
    }
    let package = Package::new(cx);
    let attached = package.run_attached();
    let slow = slow_locks(&package);
    let start = findings.len();
    for (function, definition) in package.definitions() {
        if !attached.contains(function) || !is_of_extension(cx, definition) {
            continue;
        }
        for step in &definition.steps {
            let is_short = || {
                step.waits_for
                    .as_deref()
                    .is_some_and(|l| !slow.contains(name_of(l)))
            };
            if !waits(&package, step)
                || !step.thread.is_attached()
                || is_short()
                || returns_at_once(cx, definition.item, step)
            {
                continue;
            }
            let message = format!(
                "`{}` may wait while the thread is attached; other threads that stop all threads \
                 then wait, too",
                step.name
            );
            let advice = "call it between `Py_BEGIN_ALLOW_THREADS` and `Py_END_ALLOW_THREADS`";
            let outcome = Outcome::Manual(advice.to_owned());
            let place = package.text(definition.item, step.call);
            let rule = &ATTACHED_BLOCKING_CALL;
            findings.extend(finding(rule, place, function, message, outcome));
        }
    }
    settle(findings, start);
}

/// Whether the function has to do with Python itself. The insides of C libraries that come with a
/// package are not told of: whoever calls them knows whether they take long.
fn is_of_extension(cx: &PackageCx<'_>, definition: &Definition) -> bool {
    let Some(function) = cx.function(definition.item) else {
        return false;
    };
    let params = function.params.iter();
    let mut types = params.map(|param| &function.tree.local(*param).ty);
    let uses_api = |step: &Step| {
        let name = step.name.trim_start_matches('_');
        name.starts_with("Py")
            && !LOCKS
                .iter()
                .any(|(lock, free)| name == *lock || name == *free)
    };
    function.ret.is_py_object_pointer()
        || types.any(crate::ast::Type::is_py_object_pointer)
        || definition.steps.iter().any(uses_api)
}

fn waits(package: &Package<'_>, step: &Step) -> bool {
    BLOCKING.contains(&&*step.name) && !package.functions.contains_key(&*step.name)
}

/// Names of locks that somebody holds while something else is waited for, the thread state
/// changes, or the C API is called. Others are held for a few lines of C: who waits for one of
/// those waits for nobody who may be stopped.
fn slow_locks(package: &Package<'_>) -> BTreeSet<String> {
    let mut slow = BTreeSet::new();
    for (_, definition) in package.definitions() {
        for step in &definition.steps {
            if step.held.is_empty() {
                continue;
            }
            let is_slow = turn(&step.name).is_some()
                || needs_thread(&step.name)
                || step.waits_for.is_none() && waits(package, step);
            if is_slow {
                slow.extend(step.held.keys().map(|lock| name_of(lock).to_owned()));
            }
        }
    }
    slow
}

/// The last name in the text of a lock: that of `&self->lock` is `lock`.
fn name_of(lock: &str) -> &str {
    let mut names = lock.rsplit(|c: char| c != '_' && !c.is_ascii_alphanumeric());
    names.find(|name| !name.is_empty()).unwrap_or(lock)
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
        "poll"
            | "epoll_wait"
            | "PyThread_acquire_lock"
            | "WaitForSingleObject"
            | "SDL_CondWaitTimeout"
            | "SDL_SemWaitTimeout"
            | "SDL_WaitEventTimeout"
            | "Sleep"
    );
    is_flag || takes_zero && matches!(expr.kind, ExprKind::Int(Some(0)))
}
