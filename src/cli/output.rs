//! Results to the standard output or to a file.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use tempfile::NamedTempFile;

use super::talk::write_results;

/// Writes `bytes` to the standard output, or to the file at `path`: in whole or not at all.
///
/// # Errors
/// What the system says; `BrokenPipe` if the reader of the standard output has gone.
pub(super) fn deliver(bytes: &[u8], path: Option<&Path>) -> anyhow::Result<()> {
    match path {
        None => Ok(write_results(bytes)?),
        Some(path) => {
            put(bytes, path).with_context(|| format!("cannot write `{}`", path.display()))
        }
    }
}

fn put(bytes: &[u8], path: &Path) -> io::Result<()> {
    // A pipe or device cannot be put in the place of something.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return fs::write(path, bytes);
    }
    // Behind a symbolic link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(super::write::TEMPORARY);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As for any other new file: less what the user's mask takes away.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file: NamedTempFile = builder.tempfile_in(folder)?;
    if let Ok(found) = fs::metadata(&target) {
        file.as_file().set_permissions(found.permissions())?;
    }
    file.write_all(bytes)?;
    file.persist(&target)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::deliver;

    #[test]
    fn a_file_is_replaced_in_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.txt");
        for text in ["a longer text\n", "short\n"] {
            deliver(text.as_bytes(), Some(&path)).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/out.txt");
        let error = deliver(b"", Some(&path)).unwrap_err();
        assert!(error.to_string().contains("out.txt"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_stays_what_it_is() {
        deliver(b"x", Some("/dev/null".as_ref())).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
