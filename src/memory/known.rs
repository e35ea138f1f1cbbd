//! What calls outside of the package do with pointers they are given.

use crate::capi;

/// What a function that the package does not define does with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    /// Gives back its first argument, or a place behind it.
    First,
    /// The same, after copying what the second argument points at to where the first does.
    Copies,
    /// Looks at them, or fills in what they point at, and keeps none.
    Looks,
    /// The first argument is a Python object.
    Object,
    /// Anything else.
    Unknown,
}

pub(super) fn outside(name: &str) -> Outside {
    match name {
        "memcpy" | "memmove" => Outside::Copies,
        "memset" | "memchr" | "strcpy" | "strncpy" | "strcat" | "strncat" | "strchr"
        | "strrchr" | "strstr" | "strpbrk" | "strtok" => Outside::First,
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
        | "_Py_NewReference" => Outside::Object,
        _ if LOOKS.contains(&name) => Outside::Looks,
        _ if KEEPS.contains(&name) => Outside::Unknown,
        _ if capi::effects(name).is_some() => Outside::Looks,
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

/// Functions of the C API that keep a pointer they are given.
const KEEPS: &[&str] = &[
    "PyBuffer_FillInfo",
    "PyCapsule_New",
    "PyCapsule_SetContext",
    "PyCapsule_SetPointer",
    "PyMemoryView_FromBuffer",
    "PyMemoryView_FromMemory",
    "PyThread_set_key_value",
    "PyThread_tss_set",
    "Py_AddPendingCall",
    "Py_AtExit",
    "Py_SetProgramName",
    "Py_SetPythonHome",
];

/// Functions of C that keep no pointer.
const LOOKS: &[&str] = &[
    "assert",
    "atof",
    "atoi",
    "atol",
    "bsearch",
    "fgets",
    "fprintf",
    "fputs",
    "fread",
    "fwrite",
    "memcmp",
    "pread",
    "printf",
    "puts",
    "pwrite",
    "qsort",
    "read",
    "readlink",
    "recv",
    "send",
    "snprintf",
    "sprintf",
    "sscanf",
    "strcasecmp",
    "strcmp",
    "strcspn",
    "strftime",
    "strlen",
    "strncasecmp",
    "strncmp",
    "strnlen",
    "strspn",
    "strtod",
    "strtol",
    "strtoul",
    "strtoull",
    "vsnprintf",
    "vsprintf",
    "wcslen",
    "write",
];
