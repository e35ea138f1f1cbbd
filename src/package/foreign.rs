//! Text of other languages that may name the package's C functions.

use std::path::Path;

use memchr::memmem;

/// Endings of files whose code can call a C function by its name: Cython, SWIG, Rust, assembler,
/// and Python by way of [`BY_NAME`].
const ENDINGS: [&str; 9] = ["pyx", "pxd", "pxi", "i", "swg", "rs", "asm", "s", "py"];

/// What a Python file names that looks C functions up.
const BY_NAME: [&[u8]; 2] = [b"ctypes", b"cffi"];

/// Whether a file of this name may name C functions.
pub(super) fn may_name_functions(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

/// Whether the text does, or may.
pub(super) fn names_functions(path: &Path, bytes: &[u8]) -> bool {
    let is_python = path.extension().is_some_and(|ending| ending == "py");
    !is_python
        || BY_NAME
            .iter()
            .any(|word| memmem::find(bytes, word).is_some())
}
