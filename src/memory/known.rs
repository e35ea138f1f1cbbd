//! What calls outside of the package do with pointers they are given.

use crate::capi::{self, Copied, Gives};

/// What a function that the package does not define does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    /// Gives back its first argument, or a place behind it.
    First,
    /// The same, after copying what the second argument points at to where the first does.
    Copies,
    /// Looks at them, or fills in what they point at; of Python's API see `keeps_pointer`.
    Looks,
    /// The first argument is a Python object.
    Object,
    /// Anything else.
    Unknown,
}

pub(super) fn outside(name: &str) -> Outside {
    match name {
        "PyObject_Init"
        | "PyObject_INIT"
        | "PyObject_InitVar"
        | "PyObject_INIT_VAR"
        | "Py_INCREF"
        | "Py_XINCREF"
        | "Py_DECREF"
        | "Py_XDECREF"
        | "Py_CLEAR"
        | "Py_TYPE"
        | "Py_REFCNT"
        | "Py_SIZE"
        | "Py_SET_TYPE"
        | "Py_SET_SIZE"
        | "Py_SET_REFCNT"
        | "PyObject_GC_Track"
        | "PyObject_GC_UnTrack"
        | "_Py_NewReference" => return Outside::Object,
        _ if capi::effects(name).is_some() => return Outside::Looks,
        _ => {}
    }
    let Some(row) = capi::writes(name) else {
        return Outside::Unknown;
    };
    match row.gives {
        _ if row.keeps.is_some() || row.deep.is_some() => Outside::Unknown,
        _ if capi::copies_memory(name) == Some(Copied { to: 0, from: 1 }) => Outside::Copies,
        Gives::Argument(0) => Outside::First,
        Gives::Number => Outside::Looks,
        _ => Outside::Unknown,
    }
}

/// Functions that make a Python object of memory that was allocated before.
pub const INITIALISERS: &[&str] = &[
    "PyObject_Init",
    "PyObject_INIT",
    "PyObject_InitVar",
    "PyObject_INIT_VAR",
    "_Py_NewReference",
];
