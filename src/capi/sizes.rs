//! What tells how much is in a container, what makes a copy of it, and what looks something up in
//! an object.

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
            | "PySequence_Fast"
            | "PySequence_GetSlice"
            | "PySequence_List"
            | "PySequence_Tuple"
            | "PySet_New"
    )
}

/// Whether a function gives the size of what does not change as well: `PyTuple_GET_SIZE`.
#[must_use]
pub fn measures(name: &str) -> bool {
    asks_size(name) || matches!(name, "PyTuple_GET_SIZE" | "PyTuple_Size")
}

/// Whether the answer of a function, or what it gives, says that there is something in its first
/// argument.
#[must_use]
pub fn tells_of_items(name: &str) -> bool {
    asks_size(name) || copies(name) || matches!(name, "PyObject_IsTrue" | "PyObject_Not")
}

/// Functions that give a new reference to what they find in their first argument, or `NULL`.
pub const FINDERS: [&str; 8] = [
    "PyIter_Next",
    "PyMapping_GetItemString",
    "PyObject_GetAttr",
    "PyObject_GetAttrString",
    "PyObject_GetItem",
    "PySequence_GetItem",
    "PySequence_ITEM",
    "PySet_Pop",
];

/// Whether a function looks for attributes: the size of an object says nothing of them.
#[must_use]
pub fn finds_attributes(name: &str) -> bool {
    name.contains("Object_") && name.contains("Attr")
}
