//! Reads a tree into a [`Package`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::kind::FileKind;
use super::metadata::python_range;
use super::walk::{Walked, excludes, files_under, left_out};
use super::{FileInfo, Package, Roots, SkipReason, Skipped};
use crate::build::BuildKind;
use crate::capi::PyVersion;
use crate::compat;
use crate::diff::FileMode;
use crate::source::{FileSet, MAX_FILE_BYTES, SourceFile};

/// Bytes at the beginning of a file in which a zero byte makes it binary; git's number.
const BINARY_PROBE: usize = 8000;

/// What to read.
#[derive(Debug, Clone)]
pub struct Request {
    /// Absolute paths of existing files and folders that the user asked for.
    pub paths: Vec<PathBuf>,
    /// The folders of the run.
    pub roots: Roots,
    /// Absolute folders whose headers are read as well, outside of the project too.
    pub include_dirs: Vec<PathBuf>,
    /// Globs of files and folders to leave out.
    pub exclude: Vec<String>,
    /// The oldest Python version, if the user sets it.
    pub min_python: Option<PyVersion>,
    /// Absolute paths of the files below the project that git tracks; empty without git.
    pub tracked: Vec<PathBuf>,
}

/// Why a tree could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A glob of `exclude` is none.
    #[error("bad `exclude` glob: {0}")]
    BadExclude(#[from] ignore::Error),
}

/// Reads all files that may hold C, in parallel. A file that cannot be read is recorded in
/// [`Package::skipped`] and stops nothing.
///
/// # Errors
/// [`LoadError::BadExclude`].
pub fn load(request: &Request) -> Result<Package, LoadError> {
    let base = request.roots.base();
    let excludes = excludes(base, &request.exclude)?;
    let mut found = BTreeMap::new();
    let mut foreign = BTreeSet::new();
    let mut skipped = Vec::new();
    let mut take = |walked: Walked, selected: bool| {
        foreign.extend(walked.foreign);
        for path in walked.files {
            *found.entry(path).or_insert(false) |= selected;
        }
        skipped.extend(walked.errors.into_iter().map(|(path, error)| Skipped {
            path: relative(base, &path),
            reason: SkipReason::Unreadable(error),
        }));
    };
    take(files_under(&request.roots.project, &excludes), false);
    take(workflows(base), false);
    for folder in request.include_dirs.iter().filter(|folder| folder.is_dir()) {
        take(files_under(folder, &excludes), false);
    }
    for path in &request.paths {
        // An explicitly given file is taken whatever its name and the excludes.
        let walked = if path.is_dir() {
            let mut walked = files_under(path, &excludes);
            if base.starts_with(path) {
                walked.files.extend(workflows(base).files);
            }
            walked
        } else {
            Walked {
                files: vec![path.clone()],
                ..Walked::default()
            }
        };
        take(walked, true);
    }
    let left = left_out(base, &request.tracked, &found, &excludes);
    let is_asked_for = |path: &PathBuf| request.paths.iter().any(|asked| path.starts_with(asked));
    let sources = left.sources.into_iter();
    found.extend(sources.map(|path| {
        let selected = is_asked_for(&path);
        (path, selected)
    }));
    skipped.extend(left.unread.into_iter().map(|(path, reason)| Skipped {
        path: relative(base, &path),
        reason,
    }));
    let found: Vec<_> = found.into_iter().collect();
    let read: Vec<_> = found
        .par_iter()
        .map(|(path, _)| read_file(base, path))
        .collect();
    let foreign = read_foreign(base, &foreign);
    let read = read.into_iter().zip(found.iter().map(|found| found.1));
    Ok(assemble(request, read, skipped, foreign))
}

/// The text of `paths`. One that cannot be read calls no function.
fn read_foreign(base: &Path, paths: &BTreeSet<PathBuf>) -> FileSet {
    let paths: Vec<&PathBuf> = paths.iter().collect();
    let read: Vec<Option<SourceFile>> = paths
        .par_iter()
        .map(|path| {
            let is_small = fs::metadata(path).is_ok_and(|it| it.len() <= MAX_FILE_BYTES as u64);
            let bytes = fs::read(path).ok().filter(|_| is_small)?;
            Some(SourceFile::new(relative(base, path), bytes))
        })
        .collect();
    let mut files = FileSet::default();
    for file in read.into_iter().flatten() {
        files.add(file);
    }
    files
}

/// The workflows of GitHub Actions, which stand in a folder that walks leave out.
fn workflows(base: &Path) -> Walked {
    let entries = fs::read_dir(base.join(".github/workflows"));
    let paths = entries.into_iter().flatten().filter_map(Result::ok);
    let is_ours = |path: &PathBuf| BuildKind::of_name(path).is_some();
    Walked {
        files: paths.map(|entry| entry.path()).filter(is_ours).collect(),
        ..Walked::default()
    }
}

fn assemble(
    request: &Request,
    read: impl Iterator<Item = (Result<ReadFile, Skipped>, bool)>,
    mut skipped: Vec<Skipped>,
    foreign: FileSet,
) -> Package {
    let mut files = FileSet::default();
    let mut infos = Vec::new();
    let mut compat_headers = Vec::new();
    for (result, selected) in read {
        match result {
            Ok(ReadFile { file, kind, mode }) => {
                let is_compat = file.path().ends_with(compat::FULL_HEADER_NAME);
                let id = files.add(file);
                infos.push(FileInfo {
                    kind,
                    selected,
                    mode,
                });
                if is_compat {
                    compat_headers.push(id);
                }
            }
            Err(skip) => skipped.push(skip),
        }
    }
    skipped.sort_by(|a, b| a.path.cmp(&b.path));
    skipped.dedup();
    let python = python_range(&request.roots.project, request.min_python);
    let root = request.roots.base().to_path_buf();
    Package {
        root,
        files,
        infos,
        skipped,
        python,
        compat_headers,
        foreign,
        is_whole: request.exclude.is_empty(),
    }
}

struct ReadFile {
    file: SourceFile,
    kind: FileKind,
    mode: FileMode,
}

fn read_file(base: &Path, path: &Path) -> Result<ReadFile, Skipped> {
    let skip = |reason| Skipped {
        path: relative(base, path),
        reason,
    };
    if relative(base, path).to_str().is_none() {
        return Err(skip(SkipReason::Name));
    }
    let unreadable = |error: io::Error| skip(SkipReason::Unreadable(error.to_string()));
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.len() > MAX_FILE_BYTES as u64 {
        return Err(skip(SkipReason::TooLarge(metadata.len())));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    if memchr::memchr(0, &bytes[..bytes.len().min(BINARY_PROBE)]).is_some() {
        return Err(skip(SkipReason::Binary));
    }
    let relative = relative(base, path);
    // A file of another name was given explicitly; the user says that it is C.
    let kind = FileKind::of_name(path)
        .unwrap_or(FileKind::C)
        .refine(&relative, &bytes);
    let mode = mode_of(&metadata);
    Ok(ReadFile {
        file: SourceFile::new(relative, bytes),
        kind,
        mode,
    })
}

/// `path` below `base` with `/` between its parts; whole if it does not lie there.
fn relative(base: &Path, path: &Path) -> PathBuf {
    let relative = path.strip_prefix(base).unwrap_or(path);
    if cfg!(windows) {
        PathBuf::from(relative.to_string_lossy().replace('\\', "/"))
    } else {
        relative.to_path_buf()
    }
}

#[cfg(unix)]
fn mode_of(metadata: &fs::Metadata) -> FileMode {
    use std::os::unix::fs::PermissionsExt;
    if metadata.permissions().mode() & 0o100 != 0 {
        FileMode::Executable
    } else {
        FileMode::Regular
    }
}

#[cfg(not(unix))]
fn mode_of(_: &fs::Metadata) -> FileMode {
    FileMode::Regular
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Request, load};
    use crate::package::{FileKind, Package, SkipReason, find_roots};

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn read(folder: &Path, paths: &[&str], exclude: &[&str]) -> Package {
        read_tracked(folder, paths, exclude, &[])
    }

    fn read_tracked(folder: &Path, paths: &[&str], exclude: &[&str], tracked: &[&str]) -> Package {
        let paths: Vec<_> = paths.iter().map(|path| folder.join(path)).collect();
        let roots = find_roots(&paths);
        let exclude = exclude.iter().map(ToString::to_string).collect();
        load(&Request {
            paths,
            roots,
            include_dirs: Vec::new(),
            exclude,
            min_python: None,
            tracked: tracked.iter().map(|path| folder.join(path)).collect(),
        })
        .unwrap()
    }

    fn names(package: &Package, selected: bool) -> Vec<String> {
        let chosen = package
            .files
            .iter()
            .filter(|(id, _)| package.info(*id).selected == selected);
        chosen
            .map(|(_, file)| file.path().display().to_string())
            .collect()
    }

    #[test]
    fn folders_of_products_and_ignored_files_are_left_out() {
        let tree = tree(&[
            (".git/config", ""),
            (".gitignore", "ignored.c\n"),
            ("setup.py", ""),
            ("src/b.c", ""),
            ("src/a.h", ""),
            ("src/ignored.c", ""),
            ("src/vendored/x.c", ""),
            ("build/x.c", ""),
            ("env/pyvenv.cfg", ""),
            ("env/x.c", ""),
            (".hidden/x.c", ""),
        ]);
        let package = read(tree.path(), &["."], &["vendored"]);
        assert_eq!(names(&package, true), ["setup.py", "src/a.h", "src/b.c"]);
    }

    #[test]
    fn what_git_tracks_is_read_or_named() {
        let tree = tree(&[
            (".git/config", ""),
            (".gitignore", "*.c\n"),
            ("setup.py", ""),
            ("src/tracked.c", ""),
            ("src/made.c", ""),
            ("build/x.c", ""),
            ("vendored/x.c", ""),
        ]);
        let tracked = [
            "src/tracked.c",
            "build/x.c",
            "vendored/x.c",
            "src/deleted.c",
            "setup.py",
        ];
        let package = read_tracked(tree.path(), &["."], &["vendored"], &tracked);
        assert_eq!(names(&package, true), ["setup.py", "src/tracked.c"]);
        let skipped: Vec<_> = package
            .skipped
            .iter()
            .map(|it| (&*it.path, &it.reason))
            .collect();
        assert_eq!(skipped, [(Path::new("build/x.c"), &SkipReason::Products)]);
        let package = read_tracked(tree.path(), &["setup.py"], &[], &tracked[..1]);
        assert_eq!(names(&package, false), ["src/tracked.c"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_name_that_is_not_utf8_is_recorded() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;

        let tree = tree(&[("setup.py", ""), ("a.c", "")]);
        let name = OsStr::from_bytes(b"\xe9.c");
        // Not every file system has such names.
        if fs::write(tree.path().join(name), "").is_err() {
            return;
        }
        let package = read(tree.path(), &["."], &[]);
        assert_eq!(names(&package, true), ["a.c", "setup.py"]);
        assert_eq!(package.skipped[0].path, Path::new(name));
        assert_eq!(package.skipped[0].reason, SkipReason::Name);
    }

    #[test]
    fn the_rest_of_the_project_is_context() {
        let tree = tree(&[("setup.py", ""), ("include/x.h", ""), ("src/m.c", "")]);
        let package = read(tree.path(), &["src"], &[]);
        assert_eq!(names(&package, true), ["src/m.c"]);
        assert_eq!(names(&package, false), ["include/x.h", "setup.py"]);
    }

    #[test]
    fn a_file_given_by_name_is_taken_in_any_case() {
        let tree = tree(&[("setup.py", ""), ("build/m.c", ""), ("odd.txt", "int x;")]);
        let package = read(tree.path(), &["build/m.c", "odd.txt"], &["build"]);
        assert_eq!(names(&package, true), ["build/m.c", "odd.txt"]);
        let given = package.infos.iter().filter(|info| info.selected);
        assert!(given.map(|info| info.kind).all(|kind| kind == FileKind::C));
    }

    #[test]
    fn binary_files_are_recorded() {
        let tree = tree(&[("m.c", "int x;\n"), ("junk.c", "\0\0\0")]);
        let package = read(tree.path(), &["."], &[]);
        assert_eq!(package.files.len(), 1);
        assert_eq!(package.skipped[0].path, Path::new("junk.c"));
    }

    #[test]
    fn the_compatibility_header_is_found() {
        let tree = tree(&[
            ("setup.py", ""),
            ("src/pythoncapi_compat.h", ""),
            ("src/m.c", ""),
        ]);
        let package = read(tree.path(), &["src/m.c"], &[]);
        let paths = package.compat_headers.iter();
        let paths: Vec<&Path> = paths.map(|id| package.files.get(*id).path()).collect();
        assert_eq!(paths, [Path::new("src/pythoncapi_compat.h")]);
    }
}
