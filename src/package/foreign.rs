//! Text of other languages that may name the package's C functions.

use std::path::Path;

use memchr::memmem;

/// Endings of files whose code can call a C function by its name: Cython, SWIG, Rust, assembler,
/// and Python by way of [`BY_NAME`].
const ENDINGS: [&str; 9] = ["pyx", "pxd", "pxi", "i", "swg", "rs", "asm", "s", "py"];

/// What a Python file names that looks C functions up.
const BY_NAME: [&[u8]; 2] = [b"ctypes", b"cffi"];

/// Whether a file is Python.
fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "py")
}

/// Whether a file of this name may name C functions.
pub(super) fn may_name_functions(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.to_ascii_lowercase().as_str()))
}

/// Whether text of a file of this name may take in C: Rust and assembler only link with it.
pub(crate) fn may_include_c(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    let ending = ending.map(str::to_ascii_lowercase);
    ending.is_none_or(|ending| !matches!(&*ending, "rs" | "asm" | "s"))
}

/// Whether the text names the function in code. Python does so where it looks C functions up, and
/// where the whole of a string is the name, for C that it writes: `c_function="list_item"`.
pub(crate) fn names_function(path: &Path, bytes: &[u8], name: &str) -> bool {
    let has = |word: &[u8]| memmem::find(bytes, word).is_some();
    let is_quoted = || {
        let quotes = ['"', '\''].iter();
        let mut quoted = quotes.map(|quote| format!("{quote}{name}{quote}"));
        quoted.any(|quoted| has(quoted.as_bytes()))
    };
    let is_word = || is_word_of(bytes, name);
    match is_python(path) {
        true => is_quoted() || BY_NAME.iter().any(|word| has(word)) && is_word(),
        false => is_word(),
    }
}

/// Whether the word `name` stands in the text.
pub(crate) fn is_word_of(bytes: &[u8], name: &str) -> bool {
    let is_part = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    memmem::find_iter(bytes, name).any(|at| {
        let before = at.checked_sub(1).map(|at| bytes[at]);
        let after = bytes.get(at + name.len()).copied();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}
