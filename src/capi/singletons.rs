//! Objects of which there is one.

/// Whether `name` is one of Python's constants, as C spells it (`None`: <https://docs.python.org/3/c-api/none.html>).
#[must_use]
pub fn is_singleton(name: &str) -> bool {
    matches!(
        name,
        "Py_None"
            | "_Py_NoneStruct"
            | "Py_True"
            | "_Py_TrueStruct"
            | "Py_False"
            | "_Py_FalseStruct"
            | "Py_NotImplemented"
            | "_Py_NotImplementedStruct"
            | "Py_Ellipsis"
            | "_Py_EllipsisObject"
    )
}
