//! What the C API does with the containers it is given or gives.
//!
//! Everything not listed here counts as sharing: a missing name costs a proof, never makes one.

/// What a call gives that is a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gives {
    /// A new list, dict or set that only the caller knows.
    Fresh,
    /// A tuple or another container that never changes.
    Immutable,
    /// The same object as this argument.
    Same(usize),
    /// This argument if it is a list or tuple, else a new list.
    SameOrFresh(usize),
    /// The dict of the module that is this argument.
    ModuleDict(usize),
    /// A dict of the interpreter.
    Interpreter,
    /// A dict of the thread that runs, which no other gets.
    Thread,
    /// An item of this argument.
    Item(usize),
}

pub(super) fn gives(name: &str) -> Option<Gives> {
    Some(match name {
        "PyList_New" | "PyList_GetSlice" | "PySequence_List" | "PyDict_New" | "PyDict_Copy"
        | "PyDict_Keys" | "PyDict_Values" | "PyDict_Items" | "PyObject_Dir"
        | "PyUnicode_Split" | "PyUnicode_RSplit" | "PyUnicode_Splitlines"
        // Before Python 3.7 whatever the method gave; no such Python is without a GIL.
        | "PyMapping_Keys" | "PyMapping_Values" | "PyMapping_Items" => Gives::Fresh,
        "PyTuple_New"
        | "PyTuple_Pack"
        | "PyTuple_GetSlice"
        | "PySequence_Tuple"
        | "PyList_AsTuple"
        | "PyStructSequence_New"
        | "PyUnicode_Partition"
        | "PyUnicode_RPartition" => Gives::Immutable,
        "Py_NewRef" | "Py_XNewRef" => Gives::Same(0),
        "PySequence_Fast" => Gives::SameOrFresh(0),
        "PyModule_GetDict" => Gives::ModuleDict(0),
        "PyEval_GetBuiltins"
        | "PyEval_GetGlobals"
        | "PyImport_GetModuleDict"
        | "PySys_GetObject"
        | "PyInterpreterState_GetDict" => Gives::Interpreter,
        "PyThreadState_GetDict" => Gives::Thread,
        "PyTuple_GET_ITEM" | "PyTuple_GetItem" => Gives::Item(0),
        _ => return None,
    })
}

/// Whether the call makes a new container that only the caller knows.
pub(crate) fn makes_container(name: &str) -> bool {
    matches!(gives(name), Some(Gives::Fresh | Gives::Immutable))
}

/// Whether the call gives a new list that has an item in every slot.
pub(super) fn is_full_list(name: &str) -> bool {
    gives(name) == Some(Gives::Fresh)
        && !matches!(
            name,
            "PyList_New" | "PyDict_New" | "PyDict_Copy" | "PySet_New"
        )
}

/// Whether the call makes a new object that only the caller knows.
pub(super) fn allocates(name: &str) -> bool {
    matches!(
        name,
        "PyObject_New"
            | "PyObject_GC_New"
            | "PyObject_NewVar"
            | "PyObject_GC_NewVar"
            | "_PyObject_New"
            | "_PyObject_GC_New"
            | "PyType_GenericAlloc"
            | "PyType_GenericNew"
            | "PyObject_NEW"
            | "PyObject_MALLOC"
    )
}

/// What a call does with an argument that is a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    /// Looks at it.
    Read,
    /// Changes it, or gives up a reference to it.
    Change,
    /// May keep it, show it to Python code, or do anything else.
    Share,
}

/// What the C API function `name` does with its argument `arg`.
pub(super) fn argument_use(name: &str, arg: usize) -> Use {
    if is_read_only(name) {
        return Use::Read;
    }
    match (name, arg) {
        // These take what is in the second container, and do not keep it.
        ("PyDict_Update" | "PyDict_Merge" | "PyList_SetSlice", 1 | 3) => Use::Read,
        ("PyArg_ParseTupleAndKeywords" | "PyArg_VaParseTupleAndKeywords", 0 | 1)
        | ("PyArg_ParseTuple" | "PyArg_UnpackTuple" | "PyArg_VaParse", 0)
        | ("PyDict_GetItemRef" | "PyDict_GetItemStringRef" | "PyUnicode_Join", 0..=1)
        | ("PyDict_Pop" | "PyDict_PopString", 1)
        | ("PySequence_Contains" | "PyDict_Contains", _) => Use::Read,
        (
            "PyList_Append"
            | "PyList_Insert"
            | "PyList_SetItem"
            | "PyList_SET_ITEM"
            | "PyList_Sort"
            | "PyList_Reverse"
            | "PyList_SetSlice"
            | "PyList_Clear"
            | "PyList_Extend"
            // A list or dict made by Python has no methods of Python code.
            | "PySequence_SetItem"
            | "PySequence_DelItem"
            | "PySequence_SetSlice"
            | "PySequence_DelSlice"
            | "PyObject_SetItem"
            | "PyObject_DelItem"
            | "PyDict_SetItem"
            | "PyDict_SetItemString"
            | "PyDict_DelItem"
            | "PyDict_DelItemString"
            | "PyDict_Clear"
            | "PyDict_SetDefault"
            | "PyDict_SetDefaultRef"
            | "PyDict_Update"
            | "PyDict_Merge"
            | "PyDict_MergeFromSeq2"
            | "PyDict_Pop"
            | "PyDict_PopString"
            | "_PyDict_SetItem_KnownHash"
            | "PySet_Add"
            | "PySet_Clear"
            | "PySet_Discard"
            | "PySet_Pop"
            | "PyTuple_SetItem"
            | "PyTuple_SET_ITEM"
            | "PyTuple_SetSlice",
            0,
        ) => Use::Change,
        // The reference may be the last one, or the container of another owner.
        ("Py_DECREF" | "Py_XDECREF" | "Py_CLEAR" | "Py_DecRef", 0) => Use::Change,
        ("Py_INCREF" | "Py_XINCREF" | "Py_IncRef" | "Py_NewRef" | "Py_XNewRef", 0) => Use::Read,
        _ => Use::Share,
    }
}

/// Whether a function puts something in the place of an item without a release: the reference of
/// the container is from then on the code's that called it.
pub(super) fn hands_over(name: &str) -> bool {
    matches!(name, "PyList_SET_ITEM" | "PyTuple_SET_ITEM")
}

/// Whether a function that changes a container leaves in it what is there.
pub(crate) fn only_adds(name: &str) -> bool {
    matches!(
        name,
        "PyList_Append"
            | "PyList_Insert"
            | "PyList_Extend"
            | "PyList_Sort"
            | "PyList_Reverse"
            | "PyDict_SetDefault"
            | "PyDict_SetDefaultRef"
            | "PySet_Add"
    )
}

/// Whether a function may take an item out of the container that is its first argument.
pub(crate) fn may_remove(name: &str) -> bool {
    let counts = ["Py_DECREF", "Py_XDECREF", "Py_CLEAR", "Py_DecRef"].contains(&name);
    argument_use(name, 0) == Use::Change && !only_adds(name) && !counts
}

fn is_read_only(name: &str) -> bool {
    READ_ONLY.binary_search(&name).is_ok()
}

/// Calls that only look at what they are given, sorted.
const READ_ONLY: &[&str] = &[
    "PyArg_ValidateKeywordArguments",
    "PyCriticalSection2_Begin",
    "PyCriticalSection_Begin",
    "PyDict_Check",
    "PyDict_CheckExact",
    "PyDict_ContainsString",
    "PyDict_Copy",
    "PyDict_GET_SIZE",
    "PyDict_GetItem",
    "PyDict_GetItemString",
    "PyDict_GetItemWithError",
    "PyDict_Items",
    "PyDict_Keys",
    "PyDict_Next",
    "PyDict_Size",
    "PyDict_Values",
    "PyList_AsTuple",
    "PyList_Check",
    "PyList_CheckExact",
    "PyList_GET_ITEM",
    "PyList_GET_SIZE",
    "PyList_GetItem",
    "PyList_GetItemRef",
    "PyList_GetSlice",
    "PyList_Size",
    "PyMapping_Check",
    "PyMapping_GetItemString",
    "PyMapping_Length",
    "PyMapping_Size",
    "PyObject_GetItem",
    "PyObject_IsTrue",
    "PyObject_Length",
    "PyObject_Size",
    "PyObject_TypeCheck",
    "PySequence_Check",
    "PySequence_Fast",
    "PySequence_Fast_GET_ITEM",
    "PySequence_Fast_GET_SIZE",
    "PySequence_Fast_ITEMS",
    "PySequence_GetItem",
    "PySequence_ITEM",
    "PySequence_Length",
    "PySequence_List",
    "PySequence_Size",
    "PySequence_Tuple",
    "PyTuple_Check",
    "PyTuple_CheckExact",
    "PyTuple_GET_ITEM",
    "PyTuple_GET_SIZE",
    "PyTuple_GetItem",
    "PyTuple_Size",
    "PyType_IsSubtype",
    "PyUnicode_Check",
    "Py_IS_TYPE",
    "Py_IsNone",
    "Py_REFCNT",
    "Py_SIZE",
    "Py_TYPE",
    "_PyDict_GetItem_KnownHash",
    "assert",
];

#[cfg(test)]
mod tests {
    use super::{READ_ONLY, Use, argument_use};

    #[test]
    fn the_table_is_sorted_for_the_search() {
        assert!(READ_ONLY.is_sorted());
    }

    #[test]
    fn what_is_put_into_a_container_is_shared_and_the_container_is_changed() {
        assert_eq!(argument_use("PyDict_SetItem", 0), Use::Change);
        assert_eq!(argument_use("PyDict_SetItem", 2), Use::Share);
        assert_eq!(argument_use("PyDict_Next", 0), Use::Read);
        assert_eq!(argument_use("a_function_of_the_package", 0), Use::Share);
    }
}
