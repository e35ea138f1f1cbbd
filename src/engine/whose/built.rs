//! The sources of modules, as build files name them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rustc_hash::FxHashSet;

use crate::build::{Extent, Target, is_match, targets};
use crate::engine::build;
use crate::package::{FileKind, Package};
use crate::rule::PackageCx;
use crate::source::FileId;

/// What build files say of a module.
pub(super) enum Built {
    /// Its sources, and how much of it they are.
    Of(BTreeSet<FileId>, Extent),
    /// Nothing.
    Unsaid,
    /// Its file is a source only of modules with other names.
    Strange,
}

/// The targets of a package with their files.
pub(super) struct Build(Vec<Sources>);

struct Sources {
    name: String,
    files: BTreeSet<FileId>,
    /// Those, and what they include.
    reached: FxHashSet<FileId>,
    extent: Extent,
}

impl Build {
    pub(super) fn new(cx: &PackageCx<'_>, package: &Package) -> Self {
        let all = targets(&build::files(package));
        Self(
            all.into_iter()
                .map(|it| Sources::new(cx, package, it))
                .collect(),
        )
    }

    /// Whether some target has the file.
    pub(super) fn names(&self, file: FileId) -> bool {
        self.0.iter().any(|it| it.reached.contains(&file))
    }

    /// What is said of the modules in `file`, given the names of all modules by the files of their
    /// `PyInit_` functions.
    pub(super) fn of_module(
        &self,
        file: FileId,
        modules: &BTreeMap<FileId, BTreeSet<String>>,
    ) -> Built {
        let names = &modules[&file];
        // A module may be compiled into another one that has a file of its own.
        let is_other = |it: &Sources| {
            let is_of = |(file, names): (&FileId, &BTreeSet<String>)| {
                it.reached.contains(file) && names.contains(&it.name)
            };
            !names.contains(&it.name) && modules.iter().any(is_of)
        };
        let about = self.0.iter().filter(|it| it.reached.contains(&file));
        let about: Vec<&Sources> = about.filter(|it| !is_other(it)).collect();
        let known = |name: &String| about.iter().any(|it| it.name == *name);
        if about.is_empty() {
            return Built::Unsaid;
        }
        if !names.iter().all(known) {
            return Built::Strange;
        }
        let all = about.iter().flat_map(|it| &it.files).copied().collect();
        let extent = about.iter().map(|it| it.extent).min();
        // Of several, each may be compiled without the sources of the others.
        let extent = extent.unwrap_or(Extent::Open).min(match about.len() {
            1 => Extent::Exact,
            _ => Extent::AtMost,
        });
        Built::Of(all, extent)
    }
}

impl Sources {
    fn new(cx: &PackageCx<'_>, package: &Package, target: Target) -> Self {
        let mut extent = target.extent;
        let mut files = BTreeSet::new();
        for source in &target.sources {
            let before = files.len();
            files.extend(found(package, source));
            let is_moved = files.len() == before && target.is_moved;
            if is_moved {
                files.extend(found_above(package, source));
            }
            // It is made by the build, or not of C.
            if files.len() == before && found(package, source).next().is_none() {
                extent = Extent::Open;
            }
        }
        let mut reached = FxHashSet::default();
        for &file in &files {
            cx.program.includes.reach(file, &mut reached);
        }
        Self {
            name: target.name,
            files,
            reached,
            extent,
        }
    }
}

/// The files that `source` means.
fn found<'p>(package: &'p Package, source: &'p str) -> impl Iterator<Item = FileId> + 'p {
    let has_signs = source.contains(['*', '?', '[']);
    let files = package.files.iter().filter(move |(id, file)| {
        let is_code = !matches!(package.info(*id).kind, FileKind::Build(_));
        let path = file.path();
        is_code
            && match has_signs {
                true => path.to_str().is_some_and(|path| is_match(source, path)),
                false => path == Path::new(source),
            }
    });
    files.map(|(id, _)| id)
}

/// The file that `source` means from the nearest folder above its own.
fn found_above(package: &Package, source: &str) -> Option<FileId> {
    let path = Path::new(source);
    let parts: Vec<_> = path.components().collect();
    (0..parts.len()).rev().find_map(|kept| {
        (kept + 1..parts.len()).find_map(|after| {
            let path = parts[..kept].iter().chain(&parts[after..]);
            let path: std::path::PathBuf = path.collect();
            found(package, path.to_str()?).next()
        })
    })
}
