//! Names of file contents as git computes them; they enable `git apply --3way`.

use std::fmt::Write;

use sha1::{Digest, Sha1};

/// Hex digits shown, enough to be unique in any repository.
const DIGITS: usize = 12;

/// Stands for the missing side of a new file.
pub(super) const NO_ID: &str = "000000000000";

/// The first digits of the SHA-1 of `blob LENGTH\0CONTENT`.
pub(super) fn short_id(content: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    let mut id = String::with_capacity(DIGITS);
    for byte in &hash.finalize()[..DIGITS / 2] {
        write!(id, "{byte:02x}").expect("writing to a string cannot fail");
    }
    id
}

#[cfg(test)]
mod tests {
    #[test]
    fn ids_are_those_of_git_hash_object() {
        assert_eq!(super::short_id(b""), "e69de29bb2d1");
        assert_eq!(super::short_id(b"hello\n"), "ce013625030b");
    }
}
