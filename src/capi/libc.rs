//! The C library, as far as extension modules call it all the time.

/// Functions of C that touch no object.
#[must_use]
pub fn is_libc(name: &str) -> bool {
    matches!(
        name,
        "abs"
            | "assert"
            | "calloc"
            | "fprintf"
            | "free"
            | "malloc"
            | "memcmp"
            | "memcpy"
            | "memmove"
            | "memset"
            | "printf"
            | "puts"
            | "realloc"
            | "snprintf"
            | "sprintf"
            | "strcasecmp"
            | "strcat"
            | "strchr"
            | "strcmp"
            | "strcpy"
            | "strdup"
            | "strlen"
            | "strncmp"
            | "strncpy"
            | "strrchr"
            | "strstr"
    )
}

/// Whether a function of the C library (or of GLib) gives a pointer, but none into its arguments.
#[must_use]
pub fn gives_other_memory(name: &str) -> bool {
    matches!(
        name,
        "_strdup"
            | "calloc"
            | "dlopen"
            | "fdopen"
            | "fopen"
            | "g_memdup"
            | "g_memdup2"
            | "g_strdup"
            | "g_strndup"
            | "getenv"
            | "gmtime"
            | "localtime"
            | "malloc"
            | "opendir"
            | "popen"
            | "strdup"
            | "strndup"
            | "wcsdup"
    )
}
