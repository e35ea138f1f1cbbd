//! Programs beside the modules, such as those that test a library: nothing of them is linked into a
//! module.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::symbols::Symbols;
use crate::source::FileId;

/// Where programs begin.
const ENTRIES: [&str; 3] = ["main", "wmain", "WinMain"];

/// What belongs to programs.
pub(super) struct Programs {
    /// The files with the functions that begin programs, and those that include these.
    roots: FxHashSet<FileId>,
    /// The files of which all translation units are those of programs.
    files: FxHashSet<FileId>,
}

impl Programs {
    pub(super) fn new(
        symbols: &Symbols<'_>,
        units: &[(FileId, FxHashSet<FileId>)],
        modules: &BTreeSet<FileId>,
    ) -> Self {
        let begins = |file: &FileId| {
            let defined = symbols.solid_for_others.get(file);
            defined.is_some_and(|names| ENTRIES.iter().any(|name| names.contains(name)))
        };
        // PyImport_AppendInittab("fast", PyInit_fast);    it is linked with the module
        let has_module = |file: &FileId| {
            let mut named = symbols.named.get(file).into_iter().flatten();
            modules.contains(file) || named.any(|name| name.starts_with("PyInit_"))
        };
        let is_program =
            |unit: &FxHashSet<FileId>| unit.iter().any(begins) && !unit.iter().any(has_module);
        let (programs, others): (Vec<_>, Vec<_>) =
            units.iter().partition(|(_, unit)| is_program(unit));
        let others: FxHashSet<FileId> = others
            .into_iter()
            .flat_map(|(_, unit)| unit)
            .copied()
            .collect();
        let files = programs.iter().flat_map(|(_, unit)| unit);
        Self {
            files: files
                .filter(|file| !others.contains(file))
                .copied()
                .collect(),
            roots: programs.into_iter().map(|(root, _)| *root).collect(),
        }
    }

    /// Whether `file` is part of nothing but programs.
    pub(super) fn contains(&self, file: FileId) -> bool {
        self.files.contains(&file)
    }

    /// Whether a program's translation unit begins with `root`.
    pub(super) fn begins(&self, root: FileId) -> bool {
        self.roots.contains(&root)
    }

    /// The files, and those of which all that they define is named by programs, and by nothing else,
    /// but for those that are of use otherwise by what they define.
    pub(super) fn with_used(
        &self,
        symbols: &Symbols<'_>,
        is_free: &dyn Fn(FileId, &[&str]) -> bool,
    ) -> FxHashSet<FileId> {
        let mut users: BTreeMap<&str, Vec<FileId>> = BTreeMap::new();
        for (&file, names) in &symbols.named {
            for name in names
                .iter()
                .filter(|name| symbols.defined.contains_key(*name))
            {
                users.entry(name).or_default().push(file);
            }
        }
        let mut defined: BTreeMap<FileId, Vec<&str>> = BTreeMap::new();
        for (name, files) in &symbols.defined {
            for &file in files {
                defined.entry(file).or_default().push(name);
            }
        }
        defined.retain(|&file, names| !is_free(file, names));
        let mut found = self.files.clone();
        loop {
            let is_used = |file: FileId, names: &[&str]| {
                let of = names.iter().filter_map(|name| users.get(name)).flatten();
                let others: Vec<&FileId> = of.filter(|&&user| user != file).collect();
                !others.is_empty() && others.iter().all(|user| found.contains(user))
            };
            let more = defined
                .iter()
                .filter(|(file, names)| !found.contains(file) && is_used(**file, names));
            let more: Vec<FileId> = more.map(|(file, _)| *file).collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    }
}
