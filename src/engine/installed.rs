//! Which headers other packages may include.

use std::path::Path;

use super::workspace::Workspace;

/// What a `setup.py` says somewhere if it installs headers.
const SIGNS: [&[u8]; 5] = [
    b"headers",
    b".h\"",
    b".h'",
    b"copytree",
    b"include_package_data",
];

/// Whether other packages may include the file: a header below a folder `include`, unless that
/// stands beside a `setup.py` without a word about headers.
pub(super) fn is_installed(workspace: &Workspace, path: &Path) -> bool {
    let is_header = path.extension().is_some_and(|extension| extension == "h");
    let mut around = path.ancestors().skip(1);
    let include = around.find(|folder| folder.file_name().is_some_and(|name| name == "include"));
    let Some(include) = include.filter(|_| is_header) else {
        return false;
    };
    let setup = include.with_file_name("setup.py");
    let mut files = workspace.files.iter().map(|(_, file)| file);
    files
        .find(|file| *file.path() == *setup)
        .is_none_or(|file| {
            let holds = |sign: &&[u8]| memchr::memmem::find(file.bytes(), sign).is_some();
            SIGNS.iter().any(holds)
        })
}
