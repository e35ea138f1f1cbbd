//! Which files belong to which module: by what the build files say, and by what the module's code
//! names. Doubt means that a file belongs.

mod built;
mod linked;
mod macros;
mod programs;
mod symbols;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use self::built::{Build, Built};
use self::linked::Linker;
use crate::modules::find_modules;
use crate::package::Package;
use crate::rule::PackageCx;
use crate::source::FileId;

/// The files of each module, by the file that tells it apart; of several that are made of one text
/// also those of all, by the file with that text.
pub(super) fn files_of_modules(
    cx: &PackageCx<'_>,
    package: &Package,
) -> BTreeMap<FileId, FxHashSet<FileId>> {
    let mut names: BTreeMap<FileId, BTreeSet<String>> = BTreeMap::new();
    let modules = find_modules(cx);
    for made in modules.iter().flat_map(|module| &module.made) {
        let of = names.entry(made.file).or_default();
        of.insert(made.name.clone());
    }
    if names.is_empty() {
        return BTreeMap::new();
    }
    let linker = Linker::new(cx, package, &names.keys().copied().collect());
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
                let all = linker.all(|file| build.names(file)).into_iter();
                own.extend(all.filter(|id| !of_modules.contains(id)));
                linker.of_unit(file, own)
            }
        };
        (file, own)
    });
    let mut files: BTreeMap<FileId, FxHashSet<FileId>> = files.collect();
    for module in &modules {
        let all = module.made.iter().filter_map(|made| files.get(&made.file));
        let all: FxHashSet<FileId> = all.flatten().copied().collect();
        files.entry(module.place.0).or_default().extend(all);
    }
    files
}
