//! What C code asks lists for without a check, or a reference.

/// Functions that give the size of a list, their first argument.
pub const LIST_SIZES: [&str; 8] = [
    "PyList_GET_SIZE",
    "PyList_Size",
    "PyObject_Length",
    "PyObject_Size",
    "PySequence_Fast_GET_SIZE",
    "PySequence_Length",
    "PySequence_Size",
    "Py_SIZE",
];

/// Those that run nothing else, whatever they get.
pub const PLAIN_LIST_SIZES: [&str; 4] = [
    "PyList_GET_SIZE",
    "PyList_Size",
    "PySequence_Fast_GET_SIZE",
    "Py_SIZE",
];

/// Macros that read an item of a list, their first argument, and compare no index with its size.
pub const UNCHECKED_ITEMS: [&str; 2] = ["PyList_GET_ITEM", "PySequence_Fast_GET_ITEM"];
