//! The part of the program that a patch is about, as the subject of a commit begins.

use std::collections::BTreeSet;
use std::path::Path;

use crate::engine::ModuleStatus;
use crate::package::Package;
use crate::source::FileId;

/// The file that makes a module, and the files of one module by the name of the module, another file by its own, others by their folder.
pub(super) fn part(
    package: &Package,
    modules: &[ModuleStatus],
    files: &BTreeSet<FileId>,
) -> String {
    let paths: Vec<&Path> = files
        .iter()
        .map(|id| package.files.get(*id).path())
        .collect();
    if let [path] = paths[..] {
        let made = |module: &&ModuleStatus| files.contains(&module.file);
        let mut made = modules.iter().filter(made);
        return match (made.next(), made.next()) {
            (Some(module), None) => module.name.clone(),
            _ => file(path),
        };
    }
    let holds = |module: &&ModuleStatus| files.is_subset(&module.files);
    let mut holding = modules.iter().filter(holds);
    if let (Some(module), None) = (holding.next(), holding.next()) {
        return module.name.clone();
    }
    let folder = paths.iter().map(|path| path.parent()).reduce(|a, b| {
        let (a, b) = (a?, b?);
        a.ancestors().find(|folder| b.starts_with(folder))
    });
    match folder.flatten().and_then(Path::file_name) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => "extensions".to_owned(),
    }
}

/// C by its stem, build files in full.
fn file(path: &Path) -> String {
    let is_c = path
        .extension()
        .is_some_and(|it| !matches!(it.to_str(), Some("py" | "toml" | "cfg" | "in")));
    let name = match is_c {
        true => path.file_stem(),
        false => path.file_name(),
    };
    name.unwrap_or_default().to_string_lossy().into_owned()
}
