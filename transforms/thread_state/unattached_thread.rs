//! UG602: threads of C that call the C API without attaching first.

use crate::ast::{ExprId, ExprKind, Name, UnaryOp};
use crate::declare_rule;
use crate::rule::{CallSite, Finding, Note, Outcome, PackageCx};

use super::package::Package;
use super::{finding, settle};

/// Functions that start a thread, with the argument that is its function.
const STARTERS: &[(&str, usize)] = &[
    ("pthread_create", 2),
    ("thrd_create", 1),
    ("CreateThread", 2),
    ("_beginthread", 0),
    ("_beginthreadex", 2),
    ("uv_thread_create", 1),
    ("PyThread_start_new_thread", 0),
    ("PyThread_start_joinable_thread", 0),
];

/// Names without which the rule has nothing to say.
pub const TRIGGERS: &[&str] = &[
    "pthread_create",
    "thrd_create",
    "CreateThread",
    "_beginthread",
    "_beginthreadex",
    "uv_thread_create",
    "PyThread_start_new_thread",
    "PyThread_start_joinable_thread",
];

declare_rule! {
    /// ## What it does
    /// Finds functions that are started as threads (`pthread_create`, `CreateThread`,
    /// `PyThread_start_new_thread`, …) and call the C API, or a function of the package that does,
    /// before they attach with `PyGILState_Ensure`.
    ///
    /// ## Why is this bad?
    /// A thread that C started has no thread state. "Nobody holds the GIL anyway" is no reason to
    /// drop `PyGILState_Ensure` on the free-threaded build: without it every call that needs a
    /// thread state crashes, and the garbage collector does not wait for the thread.
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
    /// There is no fix: where the thread may wait for others it must be detached, which is for the
    /// author to say.
    ///
    /// ## References
    /// - <https://docs.python.org/3/c-api/init.html#non-python-created-threads>
    pub static UNATTACHED_THREAD {
        code: "UG602",
        name: "unattached-thread",
        summary: "a thread calls the C API without attaching first",
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
        .filter_map(|(site, arg)| Some((site, entry(cx, site, arg)?)))
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
            "attach with `PyGILState_Ensure()` before, and call `PyGILState_Release()` after"
                .to_owned(),
        );
        let message = format!("the thread `{entry}` needs to be attached for this");
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

/// The function that the call starts, if it is named there.
fn entry<'a>(cx: &PackageCx<'a>, site: CallSite, arg: usize) -> Option<&'a str> {
    let tree = cx.tree(site.item)?;
    let mut expr: ExprId = *cx.call(site).1.get(arg)?;
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
