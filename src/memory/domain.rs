//! The allocators of C and of Python, and which memory belongs to which.

/// A heap whose memory only its own functions may resize and release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Domain {
    /// `PyObject_Malloc`: objects, and nothing else on the free-threaded build.
    Object,
    /// `PyMem_Malloc`.
    Mem,
    /// `PyMem_RawMalloc`.
    Raw,
    /// `malloc`.
    C,
}

impl Domain {
    /// The function that releases memory of this domain.
    pub fn release(self) -> &'static str {
        match self {
            Self::Object => "PyObject_Free",
            Self::Mem => "PyMem_Free",
            Self::Raw => "PyMem_RawFree",
            Self::C => "free",
        }
    }
}

/// What a function does with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Gives new memory.
    Allocate,
    /// Takes the memory of its first argument and gives it back in another size.
    Resize,
    /// Takes the memory of its first argument.
    Release,
}

/// A function that allocates or releases memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocator {
    /// Its name.
    pub name: &'static str,
    /// The heap that its memory comes from, or goes back to.
    pub domain: Domain,
    /// What it does.
    pub act: Act,
}

/// Names of the functions that give memory of the object domain without making an object of it.
pub const OBJECT_ALLOCATORS: &[&str] = &[
    "PyObject_Malloc",
    "PyObject_Calloc",
    "PyObject_Realloc",
    "PyObject_MALLOC",
    "PyObject_CALLOC",
    "PyObject_REALLOC",
];

/// Names of the functions that give memory of Python's domains.
pub const PYTHON_ALLOCATORS: &[&str] = &[
    "PyObject_Malloc",
    "PyObject_Calloc",
    "PyObject_Realloc",
    "PyObject_MALLOC",
    "PyObject_CALLOC",
    "PyObject_REALLOC",
    "PyMem_Malloc",
    "PyMem_MALLOC",
    "PyMem_Calloc",
    "PyMem_New",
    "PyMem_NEW",
    "PyMem_Realloc",
    "PyMem_REALLOC",
    "PyMem_Resize",
    "PyMem_RESIZE",
    "PyMem_RawMalloc",
    "PyMem_RawCalloc",
    "PyMem_RawRealloc",
    "PyUnicode_AsWideCharString",
    "PyUnicode_AsUCS4Copy",
    "PyOS_double_to_string",
    "Py_EncodeLocale",
    "Py_DecodeLocale",
];

/// The allocator called `name`. Functions that make or release Python objects as such
/// (`PyObject_New`, `PyObject_GC_Del`) are none.
pub(super) fn allocator(name: &str) -> Option<&'static Allocator> {
    ALLOCATORS.iter().find(|allocator| allocator.name == name)
}

/// Whether a function takes the memory of its first argument.
pub fn lets_go(name: &str) -> bool {
    allocator(name).is_some_and(|it| it.act != Act::Allocate)
}

/// The function of the `PyMem_` family that does what `name` does in the object domain.
pub fn in_mem_domain(name: &str) -> Option<&'static str> {
    Some(match name {
        "PyObject_Malloc" | "PyObject_MALLOC" => "PyMem_Malloc",
        "PyObject_Calloc" | "PyObject_CALLOC" => "PyMem_Calloc",
        "PyObject_Realloc" | "PyObject_REALLOC" => "PyMem_Realloc",
        "PyObject_Free" | "PyObject_FREE" | "PyObject_Del" | "PyObject_DEL" => "PyMem_Free",
        _ => return None,
    })
}

const fn row(name: &'static str, domain: Domain, act: Act) -> Allocator {
    Allocator { name, domain, act }
}

const ALLOCATORS: &[Allocator] = &[
    row("PyObject_Malloc", Domain::Object, Act::Allocate),
    row("PyObject_MALLOC", Domain::Object, Act::Allocate),
    row("PyObject_Calloc", Domain::Object, Act::Allocate),
    row("PyObject_CALLOC", Domain::Object, Act::Allocate),
    row("PyObject_Realloc", Domain::Object, Act::Resize),
    row("PyObject_REALLOC", Domain::Object, Act::Resize),
    row("PyObject_Free", Domain::Object, Act::Release),
    row("PyObject_FREE", Domain::Object, Act::Release),
    row("PyObject_Del", Domain::Object, Act::Release),
    row("PyObject_DEL", Domain::Object, Act::Release),
    row("PyMem_Malloc", Domain::Mem, Act::Allocate),
    row("PyMem_MALLOC", Domain::Mem, Act::Allocate),
    row("PyMem_Calloc", Domain::Mem, Act::Allocate),
    row("PyMem_New", Domain::Mem, Act::Allocate),
    row("PyMem_NEW", Domain::Mem, Act::Allocate),
    row("PyMem_Realloc", Domain::Mem, Act::Resize),
    row("PyMem_REALLOC", Domain::Mem, Act::Resize),
    row("PyMem_Resize", Domain::Mem, Act::Resize),
    row("PyMem_RESIZE", Domain::Mem, Act::Resize),
    row("PyMem_Free", Domain::Mem, Act::Release),
    row("PyMem_FREE", Domain::Mem, Act::Release),
    row("PyMem_Del", Domain::Mem, Act::Release),
    row("PyMem_DEL", Domain::Mem, Act::Release),
    // These hand over memory that the caller releases.
    row("PyUnicode_AsWideCharString", Domain::Mem, Act::Allocate),
    row("PyUnicode_AsUCS4Copy", Domain::Mem, Act::Allocate),
    row("PyOS_double_to_string", Domain::Mem, Act::Allocate),
    row("Py_EncodeLocale", Domain::Mem, Act::Allocate),
    row("Py_DecodeLocale", Domain::Raw, Act::Allocate),
    row("PyMem_RawMalloc", Domain::Raw, Act::Allocate),
    row("PyMem_RawCalloc", Domain::Raw, Act::Allocate),
    row("PyMem_RawRealloc", Domain::Raw, Act::Resize),
    row("PyMem_RawFree", Domain::Raw, Act::Release),
    row("malloc", Domain::C, Act::Allocate),
    row("calloc", Domain::C, Act::Allocate),
    row("strdup", Domain::C, Act::Allocate),
    row("strndup", Domain::C, Act::Allocate),
    row("realloc", Domain::C, Act::Resize),
    row("free", Domain::C, Act::Release),
];
