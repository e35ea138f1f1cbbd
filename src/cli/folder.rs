//! Folders that are written in whole or not at all.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, bail};

/// One file to be written.
pub(super) struct NewFile {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// Refuses a folder with something in it, and says what to do.
pub(super) fn check_empty(folder: &Path, advice: &str) -> anyhow::Result<()> {
    // Patches of an earlier run between those of this one would not apply.
    match first_that(folder, |_| true)? {
        Some(_) => bail!("`{}` is not empty{advice}", folder.display()),
        None => Ok(()),
    }
}

/// Refuses a folder with a file, or folder, in it of which `is_own` does not know the name.
pub(super) fn check_own(folder: &Path, is_own: impl Fn(&OsStr) -> bool) -> anyhow::Result<()> {
    match first_that(folder, |name| !is_own(name))? {
        Some(name) => bail!(
            "`{}` in `{}` is not from an earlier run: choose another folder",
            name.display(),
            folder.display()
        ),
        None => Ok(()),
    }
}

/// The first name in `folder` that `is_it`; none if there is no such folder.
fn first_that(
    folder: &Path,
    is_it: impl Fn(&OsStr) -> bool,
) -> anyhow::Result<Option<std::ffi::OsString>> {
    let names = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries.and_then(|entries| {
            let names = entries.map(|entry| Ok(entry?.file_name()));
            names.collect::<io::Result<Vec<_>>>()
        }),
    };
    let names = names.with_context(|| format!("cannot read `{}`", folder.display()))?;
    Ok(names.into_iter().filter(|name| is_it(name)).min())
}

/// Writes all files into `folder`, in place of what is in it, or none.
pub(super) fn put_all(files: &[NewFile], folder: &Path) -> anyhow::Result<()> {
    put(files, folder).with_context(|| format!("cannot write to `{}`", folder.display()))
}

fn put(files: &[NewFile], folder: &Path) -> io::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let parent = match folder.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent)?;
    // The folder gets its name when all files are in it.
    let part = tempfile::Builder::new()
        .prefix(super::write::TEMPORARY)
        .tempdir_in(parent)?;
    let inside = part.path().join("series");
    fs::create_dir(&inside)?;
    for file in files {
        fs::write(inside.join(&file.name), &file.bytes)?;
    }
    let old = part.path().join("old");
    if folder.exists() {
        fs::rename(folder, &old)?;
    }
    fs::rename(inside, folder).inspect_err(|_| {
        // What was there stays there.
        let _ = fs::rename(old, folder);
    })
}
