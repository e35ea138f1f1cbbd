//! File names in patch headers.

use std::path::Path;

/// The bytes of `path` with `/` between its parts on every system.
#[must_use]
pub fn slashed(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes();
    if cfg!(windows) {
        bytes
            .iter()
            .map(|&byte| if byte == b'\\' { b'/' } else { byte })
            .collect()
    } else {
        bytes.to_vec()
    }
}

/// `prefix` and `path`, in quotes with C escapes if the name needs them, as git writes it.
pub(super) fn quoted(prefix: &[u8], path: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    let name = [prefix, path].concat();
    if name.iter().all(plain) {
        return name;
    }
    let mut out = vec![b'"'];
    for byte in name {
        match byte {
            b'\t' => out.extend(b"\\t"),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'"' | b'\\' => out.extend([b'\\', byte]),
            _ if plain(&byte) => out.push(byte),
            _ => out.extend(format!("\\{byte:03o}").into_bytes()),
        }
    }
    out.push(b'"');
    out
}
