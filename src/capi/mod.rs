//! What the CPython C API does to references, which strong function stands for which borrowed one,
//! and since which Python it exists.

mod acts;
mod arg_format;
mod build_format;
mod callbacks;
mod dying;
mod effects;
mod exceptions;
mod libc;
mod lists;
mod locks;
mod reentrant;
mod replacements;
mod singletons;
mod sizes;
mod slots;
mod stable;
mod version;
mod words;
mod writes;

pub use acts::{Acts, acts};
pub use arg_format::{
    Piece, Stored, arguments, builds_plainly, fills_given_buffer, lends_to_read, overwrites,
    pieces, reads_unit, stored,
};
pub use build_format::{Built, built, takes_null_for_value};
pub use callbacks::{CALLED_TO_CLEAN_UP, CallsBack, called_alone, calls_back};
pub use dying::{CLEARS_WEAK_LIST, counts_nothing, fills, leaves_count};
pub use effects::{
    Calls, Counts, Effects, OnNull, Out, OutKind, Returns, Steal, StealWhen, converts, counts,
    dies_of_null, effects, ends_program, is_jumped_to, jumps, keeps_pointer, looks_at_count,
    never_returns, on_null, reads_first, settles_key,
};
pub use exceptions::{raises_exception, restores_exception, takes_exception};
pub use libc::{Copied, copies_memory, gives_other_memory, is_libc, sets_bytes, written};
pub use lists::{LIST_SIZES, PLAIN_LIST_SIZES, UNCHECKED_ITEMS};
pub use locks::{Had, LockAct, LockCall, lock_call};
pub use reentrant::{
    KeepsState, Lends, Sibling, is_absent_on_windows, keeping_state, keeps_state, sibling_of,
    tells_windows, writes_static_time,
};
pub use replacements::{
    Absent, Form, OldErrors, REPLACEMENTS, Replacement, reads_list, replacement, replacement_by,
};
pub use singletons::is_singleton;
pub use sizes::{FINDERS, asks_size, copies, finds_attributes, measures, tells_of_items};
pub use slots::slot_gives_new;
pub use stable::{FIRST_ABI3T, OutsideAbi3t};
pub use version::{BadVersion, PyVersion};
pub use words::{is_for_threads_by_name, is_un, looks_by_name, words_of};
pub use writes::{
    Gives, Writes, compares_atomically, field, is_atomic, is_atomic_type, lives_in,
    releases_buffer, sets_atomically, stores_atomically, writes,
};

/// Whether nothing is known of what a function of this name does: neither the C API has it, nor C.
#[must_use]
pub fn is_unknown(name: &str) -> bool {
    effects(name).is_none() && !is_libc(name)
}

/// Preprocessor definitions that stand for `<Python.h>`: only the macros that change syntax or
/// control flow. Everything else in the C API stays a call, which [`effects`] knows.
pub const MODEL_H: &str = include_str!("model.h");

/// How a header begins that is generated for Pythons that lack newer parts of the API, whatever its
/// name is. What it defines has the names of the API and does the same, so it is never read in
/// place of the model.
pub const COMPAT_MARK: &str = "/* Functions of newer Pythons for older ones";

/// Whether `bytes` are those of such a header.
#[must_use]
pub fn stands_in(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, COMPAT_MARK.as_bytes()).is_some()
}

/// Whether a function makes an object or text of its arguments, and does nothing else with those
/// that are numbers.
#[must_use]
pub fn shows_number(name: &str) -> bool {
    const OTHERS: [&str; 10] = [
        "PyBool_FromLong",
        "PyErr_Format",
        "PyFloat_FromDouble",
        "PySys_FormatStderr",
        "PySys_FormatStdout",
        "PySys_WriteStderr",
        "PySys_WriteStdout",
        "PyUnicode_FromFormat",
        "fprintf",
        "printf",
    ];
    let families = ["PyInt_From", "PyLong_From"];
    effects(name).is_some_and(|it| it.format.is_some())
        || families.iter().any(|it| name.starts_with(it))
        || OTHERS.contains(&name)
}

/// Whether the function gives the lock of the interpreter up: from there on other threads run.
#[must_use]
pub fn detaches(name: &str) -> bool {
    DETACH_THREAD.contains(&name)
}

/// The functions for which [`detaches`] holds.
pub const DETACH_THREAD: &[&str] = &[
    "PyEval_ReleaseThread",
    "PyEval_SaveThread",
    "PyGILState_Release",
    "PyThreadState_Release",
];

/// Whether the thread may have no thread state behind the call, or another one than before.
#[must_use]
pub fn gives_up_thread(name: &str) -> bool {
    GIVE_UP_THREAD.contains(&name)
}

/// The functions for which [`gives_up_thread`] holds.
pub const GIVE_UP_THREAD: &[&str] = &[
    "PyEval_ReleaseLock",
    "PyEval_ReleaseThread",
    "PyEval_SaveThread",
    "PyGILState_Release",
    "PyThreadState_DeleteCurrent",
    "PyThreadState_Release",
    "PyThreadState_Swap",
    "Py_EndInterpreter",
    "Py_Finalize",
    "Py_FinalizeEx",
    "Py_NewInterpreter",
    "Py_NewInterpreterFromConfig",
    "_PyThreadState_DeleteCurrent",
];

/// Whether the function attaches a thread that may have no thread state, until the function of
/// [`ends_ensure`] is called for it: calls of both nest.
#[must_use]
pub fn ensures_thread(name: &str) -> bool {
    ENSURE_THREAD.contains(&name)
}

/// The functions for which [`ensures_thread`] holds. Source: `c-api/threads` of 3.15.
pub const ENSURE_THREAD: &[&str] = &[
    "PyGILState_Ensure",
    "PyThreadState_Ensure",
    "PyThreadState_EnsureFromView",
];

/// Whether the function undoes what one of [`ENSURE_THREAD`] did: the outermost call detaches.
#[must_use]
pub fn ends_ensure(name: &str) -> bool {
    END_ENSURE.contains(&name)
}

/// The functions for which [`ends_ensure`] holds.
pub const END_ENSURE: &[&str] = &["PyGILState_Release", "PyThreadState_Release"];

/// Whether the function takes the lock of the interpreter.
#[must_use]
pub fn attaches(name: &str) -> bool {
    ATTACH_THREAD.contains(&name)
}

/// The functions for which [`attaches`] holds.
pub const ATTACH_THREAD: &[&str] = &[
    "PyEval_AcquireThread",
    "PyEval_RestoreThread",
    "PyGILState_Ensure",
    "PyThreadState_Ensure",
    "PyThreadState_EnsureFromView",
];

/// Which argument of the function is a dict of keywords that what is called gets as it is, a
/// function with `METH_KEYWORDS`, a type, an object with `tp_call`. One with `vectorcall` gets the
/// names and values instead.
#[must_use]
pub fn passes_keywords(name: &str) -> Option<usize> {
    let mut calls = KEYWORD_CALLS.iter();
    calls.find(|(call, _)| *call == name).map(|(_, at)| *at)
}

/// The functions of [`passes_keywords`]. Source: `Objects/call.c` of 3.13, tried out.
pub const KEYWORD_CALLS: &[(&str, usize)] = &[
    ("PyCFunction_Call", 2),
    ("PyEval_CallObjectWithKeywords", 2),
    ("PyObject_Call", 2),
    ("PyObject_VectorcallDict", 3),
    ("_PyObject_Call", 3),
    ("_PyObject_FastCallDict", 3),
];

/// Whether a pointer of this type, or in this slot, calls with `(self, args, keywords)`.
#[must_use]
pub fn is_keyword_call(name: &str) -> bool {
    [
        "PyCFunctionWithKeywords",
        "ml_meth",
        "ternaryfunc",
        "tp_call",
    ]
    .contains(&name)
}

/// The functions of Python that pass a dict on as [`passes_keywords`]: `(f, args, d)`.
pub const KEYWORD_STARTERS: &[&str] = &["start_new", "start_new_thread"];

#[cfg(test)]
mod tests {
    use super::*;

    /// The model's macros as (name, body).
    fn macros() -> Vec<(&'static str, &'static str)> {
        let definitions = MODEL_H.split("#define ").skip(1);
        definitions
            .map(|text| {
                let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                text.split_at(end.expect("a definition ends with a line break"))
            })
            .collect()
    }

    #[test]
    fn what_the_model_expands_is_a_call_only_if_it_names_itself() {
        for (name, body) in macros() {
            let stays = body.contains(&format!("){name}("));
            assert!(
                effects(name).is_none() || stays,
                "{name} would hide its effects"
            );
        }
    }

    #[test]
    fn calls_inside_the_model_are_known() {
        let bodies: String = macros().into_iter().map(|(_, body)| body).collect();
        for name in [
            "Py_NewRef",
            "PyEval_SaveThread",
            "PyEval_RestoreThread",
            "PyCriticalSection_Begin",
            "PyCriticalSection2_End",
            "Py_UNREACHABLE",
        ] {
            assert!(bodies.contains(&format!("{name}(")), "{name}");
            assert!(effects(name).is_some(), "{name}");
        }
    }

    #[test]
    fn each_macro_of_the_model_is_defined_once() {
        let mut names: Vec<&str> = macros().into_iter().map(|(name, _)| name).collect();
        assert!(names.len() > 100);
        names.sort_unstable();
        for pair in names.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }
}
