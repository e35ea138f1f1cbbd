//! Functions outside of the package that call one which they get by its address.

/// When such a function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallsBack {
    /// Never with an exception that the package knows of: in a thread of its own, or by the
    /// interpreter between two instructions.
    Apart,
    /// Within the call, until it says that it has failed.
    UntilFailure,
    /// Within the call, again and again, whatever it says.
    Within,
}

/// When the function `name` calls what it gets; `None` if that may be at any time.
#[must_use]
pub fn calls_back(name: &str) -> Option<CallsBack> {
    Some(match name {
        "PyImport_AppendInittab"
        | "PyThread_start_new_thread"
        | "Py_AddPendingCall"
        | "Py_AtExit"
        | "pthread_create"
        | "thrd_create" => CallsBack::Apart,
        "bsearch" | "bsearch_s" | "heapsort" | "lfind" | "lsearch" | "mergesort" | "qsort"
        | "qsort_r" | "qsort_s" => CallsBack::Within,
        name if name.starts_with("PyArg_") => CallsBack::UntilFailure,
        _ => return None,
    })
}

/// The argument of a call of `name` that is a function which meets no other thread: it runs as the
/// process ends, or first of all in the new process of a `fork`, which has one thread.
#[must_use]
pub fn called_alone(name: &str) -> Option<usize> {
    match name {
        "atexit" | "Py_AtExit" => Some(0),
        // What runs before the fork, and afterwards in the old process, meets all threads of that.
        "pthread_atfork" => Some(2),
        _ => None,
    }
}

/// What a converter returns that `PyArg_ParseTuple` calls again where a later argument does not fit.
pub const CALLED_TO_CLEAN_UP: &str = "Py_CLEANUP_SUPPORTED";
