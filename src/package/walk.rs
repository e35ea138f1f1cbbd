//! The files of a tree that may hold C.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};

use super::SkipReason;
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
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    is_folder && holds_products(entry.path())
}

/// Whether `folder` holds copies and products, not sources.
fn holds_products(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| SKIPPED_FOLDERS.contains(&name) || name.ends_with(".egg-info"))
        || folder.join("pyvenv.cfg").exists()
}

/// What a walk left out although git tracks it: what is tracked is a source, whatever `.gitignore`
/// says of its name.
pub(super) fn left_out(
    base: &Path,
    tracked: &[PathBuf],
    found: &BTreeMap<PathBuf, bool>,
    excludes: &Override,
) -> LeftOut {
    let mut left = LeftOut::default();
    for path in tracked {
        let is_code =
            FileKind::of_name(path).is_some_and(|kind| !matches!(kind, FileKind::Build(_)));
        if !is_code || found.contains_key(path) || is_excluded(base, path, excludes) {
            continue;
        }
        // What is tracked may have been deleted.
        let Ok(metadata) = fs::symlink_metadata(path) else {
            continue;
        };
        if metadata.is_symlink() {
            let target = fs::canonicalize(path).ok();
            if target.is_some_and(|target| !found.contains_key(&target)) {
                left.unread.push((path.clone(), SkipReason::Link));
            }
        } else if folders(base, path).any(holds_products) {
            left.unread.push((path.clone(), SkipReason::Products));
        } else if metadata.is_file() {
            left.sources.push(path.clone());
        }
    }
    left
}

/// Tracked files that a walk did not find.
#[derive(Default)]
pub(super) struct LeftOut {
    /// Those to be read all the same.
    pub(super) sources: Vec<PathBuf>,
    /// Those that are not read, and why.
    pub(super) unread: Vec<(PathBuf, SkipReason)>,
}

/// The folders around `path` below `base`.
fn folders<'p>(base: &'p Path, path: &'p Path) -> impl Iterator<Item = &'p Path> {
    let above = path.ancestors().skip(1);
    above.take_while(move |folder| *folder != base && folder.starts_with(base))
}

fn is_excluded(base: &Path, path: &Path, excludes: &Override) -> bool {
    excludes.matched(path, false).is_ignore()
        || folders(base, path).any(|folder| excludes.matched(folder, true).is_ignore())
}
