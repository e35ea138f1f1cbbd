//! What a call may be given while an object is taken down: nothing may count it any more.

use super::{Returns, acts, effects, is_libc};

/// What clears the list of weak references to an object whose count is 0, and asks itself whether
/// there are any: so in 3.6 to 3.15. For an object that lives, or whose type has no list, it raises
/// a SystemError.
pub const CLEARS_WEAK_LIST: &[&str] = &["PyObject_ClearWeakRefs"];

/// Whether a call of `name` takes and releases no references, and runs no code of others; an object
/// that it is given may still be kept or handed back by it: [`leaves_count`].
#[must_use]
pub fn counts_nothing(name: &str) -> bool {
    let is_plain = effects(name)
        .is_some_and(|it| !it.runs_python && it.counts.is_none() && it.steals.is_empty());
    is_plain || is_libc(name)
}

/// Whether a function just puts objects into its argument `at`.
#[must_use]
pub fn fills(name: &str, at: usize) -> bool {
    let is_plain = effects(name).is_some_and(|it| !it.runs_python && it.returns != Returns::New);
    is_plain && acts(name).is_some_and(|acts| acts.changes_only(at) && !acts.frees)
}

/// Whether, over and above that, a call of `name` that is given an object as argument `arg` leaves
/// the count of that object as it is.
#[must_use]
pub fn leaves_count(name: &str, arg: usize) -> bool {
    let Some(known) = effects(name) else {
        return false;
    };
    // What leaves nothing behind can keep the object in nothing but its result.
    let keeps = acts(name).is_some() || known.returns == Returns::New;
    counts_nothing(name) && (!keeps || known.uncounted.map(usize::from) == Some(arg))
}

#[cfg(test)]
mod tests {
    use super::{counts_nothing, leaves_count};

    #[test]
    fn what_may_be_done_with_a_dying_object() {
        for name in ["PyObject_GC_UnTrack", "_PyObject_GC_UNTRACK", "Py_TYPE"] {
            assert!(leaves_count(name, 0), "{name}");
        }
        for name in [
            "Py_INCREF",
            "Py_SET_REFCNT",
            "PyList_Append",
            "PyTuple_SET_ITEM",
            "PyCFunction_New",
            "PyObject_CallFinalizerFromDealloc",
            "helper",
        ] {
            let counts = (0..3).any(|arg| !leaves_count(name, arg));
            assert!(counts, "{name}");
        }
        assert!(leaves_count("_PyTrash_begin", 1));
        assert!(counts_nothing("PyMem_Free") && counts_nothing("free"));
        assert!(!counts_nothing("Py_CLEAR") && !counts_nothing("helper"));
    }
}
