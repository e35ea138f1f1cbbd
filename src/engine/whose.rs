//! Which files belong to which module.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use crate::modules::find_modules;
use crate::package::Package;
use crate::rule::PackageCx;
use crate::source::FileId;

/// The files of each module, by the file of its `PyInit_` function: what its own translation unit
/// includes, and files that belong to no module's unit, since nothing says which modules they are
/// linked into.
pub(super) fn files_of_modules(
    cx: &PackageCx<'_>,
    package: &Package,
) -> BTreeMap<FileId, FxHashSet<FileId>> {
    let mut files: BTreeMap<FileId, FxHashSet<FileId>> = BTreeMap::new();
    for module in find_modules(cx) {
        let own = files.entry(module.place.0).or_default();
        own.insert(module.place.0);
        let here = cx
            .program
            .items
            .iter()
            .filter(|item| item.place.0 == module.place.0);
        let units: BTreeSet<FileId> = here.map(|item| item.unit).collect();
        for unit in units {
            cx.program.includes.reach(unit, own);
        }
    }
    let owned: FxHashSet<FileId> = files.values().flatten().copied().collect();
    let shared = package.analysed().map(|(id, _)| id);
    let shared: Vec<FileId> = shared.filter(|id| !owned.contains(id)).collect();
    for own in files.values_mut() {
        own.extend(&shared);
    }
    files
}
