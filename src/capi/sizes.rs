//! What tells how much is in a container, and what makes a copy of it.

use super::LIST_SIZES;

/// Whether a function gives the size of its first argument, which another thread may change.
#[must_use]
pub fn asks_size(name: &str) -> bool {
    const OTHERS: [&str; 8] = [
        "PyByteArray_GET_SIZE",
        "PyByteArray_Size",
        "PyDict_GET_SIZE",
        "PyDict_Size",
        "PyMapping_Length",
        "PyMapping_Size",
        "PySet_GET_SIZE",
        "PySet_Size",
    ];
    LIST_SIZES.contains(&name) || OTHERS.contains(&name)
}

/// Whether a function gives what is in its first argument: a copy, or an iterator over it.
#[must_use]
pub fn copies(name: &str) -> bool {
    matches!(
        name,
        "PyDict_Copy"
            | "PyDict_Items"
            | "PyDict_Keys"
            | "PyDict_Values"
            | "PyFrozenSet_New"
            | "PyList_AsTuple"
            | "PyList_GetSlice"
            | "PyMapping_Items"
            | "PyMapping_Keys"
            | "PyMapping_Values"
            | "PyObject_GetIter"
            | "PySequence_GetSlice"
            | "PySequence_List"
            | "PySequence_Tuple"
            | "PySet_New"
    )
}
