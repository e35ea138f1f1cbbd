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
            | "fputc"
            | "fputs"
            | "free"
            | "malloc"
            | "memchr"
            | "memcmp"
            | "memcpy"
            | "memmove"
            | "memset"
            | "printf"
            | "putc"
            | "putchar"
            | "puts"
            | "realloc"
            | "snprintf"
            | "sprintf"
            | "stpcpy"
            | "strcasecmp"
            | "strcat"
            | "strchr"
            | "strcmp"
            | "strcpy"
            | "strcspn"
            | "strdup"
            | "strerror"
            | "strlcat"
            | "strlcpy"
            | "strlen"
            | "strncasecmp"
            | "strncat"
            | "strncmp"
            | "strncpy"
            | "strndup"
            | "strnlen"
            | "strpbrk"
            | "strrchr"
            | "strspn"
            | "strstr"
            | "strtod"
            | "strtok"
            | "strtol"
            | "strtoul"
            | "va_copy"
            | "va_end"
            | "va_start"
            | "vfprintf"
            | "vsnprintf"
    )
}

/// The arguments of a function that copies memory as it is, pointers in it included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Position of the memory that is written.
    pub to: usize,
    /// Position of the memory that is read.
    pub from: usize,
}

/// What a function of the C library copies; `None` for all that only copy text.
#[must_use]
pub fn copies_memory(name: &str) -> Option<Copied> {
    match name.strip_prefix("__builtin_").unwrap_or(name) {
        "memcpy" | "memmove" | "mempcpy" => Some(Copied { to: 0, from: 1 }),
        "bcopy" => Some(Copied { to: 1, from: 0 }),
        _ => None,
    }
}

/// Whether a function sets all bytes of memory to one value.
#[must_use]
pub fn sets_bytes(name: &str) -> bool {
    let name = name.strip_prefix("__builtin_").unwrap_or(name);
    matches!(name, "bzero" | "explicit_bzero" | "memset" | "wmemset")
}

/// Position of the argument whose memory a function of the C library writes.
#[must_use]
pub fn written(name: &str) -> Option<usize> {
    let copies_text = matches!(
        name,
        "memset" | "stpcpy" | "strcat" | "strcpy" | "strlcat" | "strlcpy" | "strncat" | "strncpy"
    );
    let prints = name.ends_with("sprintf") || name.ends_with("snprintf");
    match copies_text || prints {
        true => Some(0),
        false => copies_memory(name).map(|copied| copied.to),
    }
}

/// Whether a function of the C library uses the memory of its argument after it has returned.
///
/// Source: the pages of POSIX.1-2017; `putenv` makes the string itself part of the environment,
/// `setvbuf` and `setbuf` use the array until the stream is closed.
pub(super) fn kept_by_libc(name: &str, arg: usize) -> bool {
    matches!(
        (name, arg),
        ("putenv" | "_putenv", 0)
            | ("setbuf" | "setvbuf" | "pthread_setspecific", 1)
            | ("pthread_create", 3)
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
