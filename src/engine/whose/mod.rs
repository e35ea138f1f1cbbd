//! Which files belong to which module: by what the build files say, and by what the module's code
//! names. Doubt means that a file belongs.

mod built;
mod linked;
mod symbols;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use self::built::{Build, Built};
use self::linked::Linker;
use crate::modules::find_modules;
use crate::package::Package;
use crate::rule::PackageCx;
use crate::source::FileId;

/// The files of each module, by the file of its `PyInit_` function.
pub(super) fn files_of_modules(
    cx: &PackageCx<'_>,
    package: &Package,
) -> BTreeMap<FileId, FxHashSet<FileId>> {
    let mut names: BTreeMap<FileId, BTreeSet<String>> = BTreeMap::new();
    for module in find_modules(cx) {
        names.entry(module.place.0).or_default().insert(module.name);
    }
    if names.is_empty() {
        return BTreeMap::new();
    }
    let linker = Linker::new(cx, package);
    let build = Build::new(cx, package);
    let units: BTreeMap<FileId, FxHashSet<FileId>> = names
        .keys()
        .map(|&file| (file, linker.unit(file)))
        .collect();
    let of_modules: FxHashSet<FileId> = units.values().flatten().copied().collect();
    let files = units.into_iter().map(|(file, own)| {
        let own = match build.of_module(file, &names) {
            Built::Of(sources, extent) => linker.of_sources(file, sources, extent),
            Built::Unsaid => linker.of_unit(file, own),
            // The name of a macro, or of another module: any file may be linked into it.
            Built::Strange => {
                let mut own = own;
                let all = package.analysed().map(|(id, _)| id);
                own.extend(all.filter(|id| !of_modules.contains(id)));
                linker.of_unit(file, own)
            }
        };
        (file, own)
    });
    files.collect()
}
