//! The files of a tree that may hold C.

use std::path::{Path, PathBuf};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};

use super::foreign::may_name_functions;
use super::kind::FileKind;

/// Folders that hold copies and products, not sources.
const SKIPPED_FOLDERS: [&str; 7] = [
    "build",
    "_build",
    "dist",
    "venv",
    "node_modules",
    "site-packages",
    "__pycache__",
];

/// Compiles `--exclude` globs; without `/` they match names at any depth, as in `.gitignore`.
///
/// # Errors
/// The first glob that is none.
pub(super) fn excludes(base: &Path, globs: &[String]) -> Result<Override, ignore::Error> {
    let mut builder = OverrideBuilder::new(base);
    for glob in globs {
        builder.add(&format!("!{glob}"))?;
    }
    builder.build()
}

/// Absolute paths of all files under `folder` that may hold C, and errors met on the way.
pub(super) fn files_under(folder: &Path, excludes: &Override) -> Walked {
    let mut walked = Walked::default();
    let walk = WalkBuilder::new(folder)
        // What is analysed must not depend on the user's own excludes.
        .git_global(false)
        .overrides(excludes.clone())
        .filter_entry(|entry| entry.depth() == 0 || !is_skipped_folder(entry))
        .build();
    for entry in walk {
        match entry {
            Ok(entry) => {
                let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                if is_file && FileKind::of_name(entry.path()).is_some() {
                    walked.files.push(entry.into_path());
                } else if is_file && may_name_functions(entry.path()) {
                    walked.foreign.push(entry.into_path());
                }
            }
            Err(error) => walked
                .errors
                .push((folder.to_path_buf(), error.to_string())),
        }
    }
    walked
}

/// What a walk found.
#[derive(Default)]
pub(super) struct Walked {
    /// Files that may hold C.
    pub(super) files: Vec<PathBuf>,
    /// Files of other languages that may name C functions.
    pub(super) foreign: Vec<PathBuf>,
    /// Folder walked and what went wrong.
    pub(super) errors: Vec<(PathBuf, String)>,
}

fn is_skipped_folder(entry: &DirEntry) -> bool {
    if !entry.file_type().is_some_and(|kind| kind.is_dir()) {
        return false;
    }
    let name = entry.file_name().to_str();
    name.is_some_and(|name| SKIPPED_FOLDERS.contains(&name) || name.ends_with(".egg-info"))
        || entry.path().join("pyvenv.cfg").exists()
}
