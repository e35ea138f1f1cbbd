//! What calls do to the thread, and what they need of it.

use crate::capi::{self, Returns};

/// What a call does to the thread state of the thread that makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// The thread is attached afterwards.
    Attaches,
    /// The thread is detached afterwards: other threads need not wait for it.
    Detaches,
    /// The thread is as it was before an attaching call that may be far away: it cannot be told.
    GoesBack,
}

pub(super) fn turn(name: &str) -> Option<Turn> {
    Some(match name {
        _ if capi::ends_ensure(name) => Turn::GoesBack,
        _ if capi::detaches(name) => Turn::Detaches,
        _ if capi::attaches(name) => Turn::Attaches,
        // Whoever makes a thread state attaches it, maybe through a pointer.
        "PyThreadState_New" | "PyThreadState_Swap" => Turn::GoesBack,
        _ => return None,
    })
}

/// Whether a function of the C API must only be called by an attached thread. Macros that just
/// read memory are not meant.
pub(super) fn needs_thread(name: &str) -> bool {
    const COUNTS: [&str; 9] = [
        "Py_INCREF",
        "Py_XINCREF",
        "Py_DECREF",
        "Py_XDECREF",
        "Py_CLEAR",
        "Py_NewRef",
        "Py_XNewRef",
        "PyMem_Malloc",
        "PyObject_Malloc",
    ];
    const FREE: [&str; 12] = [
        "PyMem_Raw",
        "PyThread_",
        "PyThreadState_",
        "PyInterpreterState_",
        "PyGILState_",
        "PyEval_",
        "PyMutex_",
        "PyOS_",
        "Py_Initialize",
        "Py_Finalize",
        "Py_AddPendingCall",
        "Py_FatalError",
    ];
    if COUNTS.contains(&name) {
        return true;
    }
    if !name.starts_with("Py") || FREE.iter().any(|prefix| name.starts_with(prefix)) {
        return false;
    }
    capi::effects(name).is_some_and(|effects| {
        effects.runs_python || effects.returns == Returns::New || name.starts_with("PyErr_")
    })
}

/// Whether the call runs Python code of whatever kind: methods that classes define, imports.
pub(super) fn runs_any_code(name: &str) -> bool {
    const PREFIXES: [&str; 15] = [
        "PyObject_Call",
        "PyObject_Vectorcall",
        "PyEval_Call",
        "PyEval_Eval",
        "PyObject_GetAttr",
        "PyObject_SetAttr",
        "PyObject_GetItem",
        "PyObject_SetItem",
        "PyObject_RichCompare",
        "PyObject_Str",
        "PyObject_Repr",
        "PyObject_GetIter",
        "PyIter_Next",
        "PyImport_Import",
        "PyRun_",
    ];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && capi::effects(name).is_some()
}

/// A function that takes a lock and the one that gives it back; the lock is the first argument.
pub(super) const LOCKS: &[(&str, &str)] = &[
    ("pthread_mutex_lock", "pthread_mutex_unlock"),
    ("pthread_rwlock_rdlock", "pthread_rwlock_unlock"),
    ("pthread_rwlock_wrlock", "pthread_rwlock_unlock"),
    ("pthread_spin_lock", "pthread_spin_unlock"),
    ("mtx_lock", "mtx_unlock"),
    ("uv_mutex_lock", "uv_mutex_unlock"),
    ("EnterCriticalSection", "LeaveCriticalSection"),
    ("PyThread_acquire_lock", "PyThread_release_lock"),
    ("PyMutex_Lock", "PyMutex_Unlock"),
];
