//! UG602: threads of C that call the C API without attaching first.

use crate::ast::{ExprId, ExprKind, Name, UnaryOp};
use crate::declare_rule;
use crate::rule::{CallSite, Finding, ItemId, Note, Outcome, PackageCx};

use super::package::Package;
use super::{finding, settle};

/// Functions that run another one on a thread of its own, or of a library, with the argument that
/// is that function.
const STARTERS: &[(&str, usize)] = &[
    ("pthread_create", 2),
    ("pthread_key_create", 1),
    ("thrd_create", 1),
    ("CreateThread", 2),
    ("_beginthread", 0),
    ("_beginthreadex", 2),
    ("QueueUserWorkItem", 0),
    ("RegisterWaitForSingleObject", 2),
    ("CreateTimerQueueTimer", 2),
    ("CreateThreadpoolWork", 0),
    ("dispatch_async_f", 2),
    ("g_thread_new", 1),
    ("g_thread_try_new", 1),
    ("apr_thread_create", 2),
    ("uv_thread_create", 1),
    ("uv_thread_create_ex", 2),
    ("uv_queue_work", 2),
    ("SDL_CreateThread", 0),
    ("SDL_AddTimer", 1),
    ("Mix_ChannelFinished", 0),
    ("Mix_HookMusicFinished", 0),
    ("Pa_OpenStream", 6),
    ("Pa_OpenDefaultStream", 6),
    ("jack_set_process_callback", 1),
    ("rd_kafka_conf_set_background_event_cb", 1),
    ("PyThread_start_new_thread", 0),
    ("PyThread_start_joinable_thread", 0),
];

/// The field of a `struct sigevent` that names the function a timer or queue runs on a new thread.
const NOTIFY: &str = "sigev_notify_function";

/// Names without which the rule has nothing to say.
pub const TRIGGERS: &[&str] = &[
    "pthread_create",
    "pthread_key_create",
    "thrd_create",
    "CreateThread",
    "_beginthread",
    "_beginthreadex",
    "QueueUserWorkItem",
    "RegisterWaitForSingleObject",
    "CreateTimerQueueTimer",
    "CreateThreadpoolWork",
    "dispatch_async_f",
    "g_thread_new",
    "g_thread_try_new",
    "apr_thread_create",
    "uv_thread_create",
    "uv_thread_create_ex",
    "uv_queue_work",
    "SDL_CreateThread",
    "SDL_AddTimer",
    "Mix_ChannelFinished",
    "Mix_HookMusicFinished",
    "Pa_OpenStream",
    "Pa_OpenDefaultStream",
    "jack_set_process_callback",
    "rd_kafka_conf_set_background_event_cb",
    "PyThread_start_new_thread",
    "PyThread_start_joinable_thread",
    NOTIFY,
];

declare_rule! {
    /// ## What it does
    /// Finds functions that run on a thread of C and call the C API before they attach with
    /// `PyGILState_Ensure`. Such functions are started as threads (`pthread_create`, `CreateThread`,
    /// `PyThread_start_new_thread`, …), or passed to a library that runs them on a thread of its own
    /// (`uv_queue_work`, `SDL_AddTimer`, `Pa_OpenStream`, `sigev_notify_function`, …). The call of the C
    /// API may also be in a function of the package that they call.
    ///
    /// ## Why
    /// A thread that C started has no thread state. `PyGILState_Ensure` is necessary on the free-threaded
    /// build, too, although there is no GIL: without it, every call that needs a thread state crashes, and
    /// the garbage collector does not wait for the thread.
    ///
    /// ## Example
    /// ```c
    /// static void *worker(void *arg)
    /// {
    ///     PyObject_CallNoArgs((PyObject *)arg);
    ///     ...
    /// ```
    /// Use instead:
    /// ```c
    /// static void *worker(void *arg)
    /// {
    ///     PyGILState_STATE state = PyGILState_Ensure();
    ///     PyObject_CallNoArgs((PyObject *)arg);
    ///     ...
    ///     PyGILState_Release(state);
    /// ```
    ///
    /// ## Confidence
    /// There is no fix: the thread must be detached wherever it waits for other threads, and only the
    /// author knows where that is.
    ///
    /// ## Limits
    /// | limit | what happens then | sample | what to do |
    /// |---|---|---|---|
    /// | A library that no table names starts the thread | not seen | `lib_start(run, self);` | Attach with `PyGILState_Ensure` at the beginning of `run`. |
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/init.html#non-python-created-threads>
    pub static UNATTACHED_THREAD {
        code: "UG602",
        name: "unattached-thread",
        summary: "a thread calls the C API without attaching first",
        severity: Memory,
        since: "0.1.0",
        best: None,
        triggers: TRIGGERS,
        check: check,
    }
}

fn check(cx: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let starts: Vec<(CallSite, &str)> = STARTERS
        .iter()
        .flat_map(|&(name, arg)| cx.calls_to(name).iter().map(move |site| (*site, arg)))
        .filter_map(|(site, arg)| {
            let function = *cx.call(site).1.get(arg)?;
            Some((site, entry(cx, site.item, function)?))
        })
        .chain(notified(cx))
        .collect();
    if starts.is_empty() {
        return;
    }
    let package = Package::new(cx);
    let need = package.need_thread();
    let start = findings.len();
    for (site, entry) in starts {
        let Some(&(item, call)) = need.get(entry) else {
            continue;
        };
        let outcome = Outcome::Manual(
            "call `PyGILState_Ensure()` before this, and `PyGILState_Release()` afterwards"
                .to_owned(),
        );
        let message = format!(
            "the thread function `{entry}` uses the C API here without attaching first; that is \
             undefined without the GIL as well"
        );
        let place = package.text(item, call);
        let Some(mut found) = finding(&UNATTACHED_THREAD, place, entry, message, outcome) else {
            continue;
        };
        let started = package.text(site.item, site.expr);
        found.notes.extend(started.map(|(file, span)| Note {
            file,
            span,
            text: "the thread is started here".to_owned(),
        }));
        findings.push(found);
    }
    settle(findings, start);
}

/// `event.sigev_notify_function = f;`, with the assignment in place of a call.
fn notified<'a>(cx: &PackageCx<'a>) -> Vec<(CallSite, &'a str)> {
    let mut found = Vec::new();
    for (at, _) in (0u32..).zip(&cx.program.items) {
        let item = ItemId(at);
        let Some(function) = cx.function(item) else {
            continue;
        };
        let tree = &function.tree;
        for (at, expr) in (0u32..).zip(&tree.exprs) {
            if let ExprKind::Assign { op: None, lhs, rhs } = expr.kind
                && let ExprKind::Member { field, .. } = &tree.expr(lhs).kind
                && &**field == NOTIFY
            {
                let expr = ExprId(at);
                found.extend(entry(cx, item, rhs).map(|name| (CallSite { item, expr }, name)));
            }
        }
    }
    found
}

/// The function that `expr` names, if it does.
fn entry<'a>(cx: &PackageCx<'a>, item: ItemId, mut expr: ExprId) -> Option<&'a str> {
    let tree = cx.tree(item)?;
    loop {
        match &tree.expr(expr).kind {
            ExprKind::Cast { operand, .. }
            | ExprKind::Unary {
                op: UnaryOp::AddressOf,
                operand,
            } => expr = *operand,
            ExprKind::Name(Name::Global(name)) => return Some(name),
            _ => return None,
        }
    }
}
