//! What functions of Python do with the exception that is pending.

/// Whether the call of `name` leaves an exception set.
#[must_use]
pub fn raises_exception(name: &str) -> bool {
    [
        "PyErr_Set",
        "PyErr_Format",
        "PyErr_NoMemory",
        "PyErr_Bad",
        "PyErr_Restore",
    ]
    .iter()
    .any(|start| name.starts_with(start))
        && !takes_exception(name)
}

/// Whether the call of `name` leaves one set only if its argument is one: it was saved before.
#[must_use]
pub fn restores_exception(name: &str) -> bool {
    matches!(name, "PyErr_Restore" | "PyErr_SetRaisedException")
}

/// Whether no exception is pending after the call of `name`.
#[must_use]
pub fn takes_exception(name: &str) -> bool {
    [
        "PyErr_Clear",
        "PyErr_Fetch",
        "PyErr_GetRaised",
        "PyErr_Print",
        "PyErr_WriteUnraisable",
    ]
    .iter()
    .any(|start| name.starts_with(start))
        || matches!(
            name,
            "PyErr_FormatUnraisable"
                | "PyErr_SetInterrupt"
                | "PyErr_SetExcInfo"
                | "PyErr_SetHandledException"
        )
}
