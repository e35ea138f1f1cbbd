//! Who beside the C that was looked at may call a function that is not `static`.
//!
//! Nobody links with an extension module: Python loads it, and looks up `PyInit_name` only. So if a
//! package builds nothing else of its C, what calls a function stands in the package, or includes a
//! header of it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustc_hash::{FxHashMap, FxHashSet};

use super::imports::called_at_import;
use super::installed::is_installed;
use super::starts::starts_with_keywords;
use super::workspace::Workspace;
use crate::build::{BuildKind, Word, words};
use crate::package::{Package, is_word_of, may_include_c, names_function};
use crate::program::Unread;
use crate::rule::Outside;
use crate::source::{FileId, FileSet, SourceFile};

/// Words of build files that make extension modules.
const MODULES: [&str; 10] = [
    "Extension",
    "ext_modules",
    "ext-modules",
    // Meson
    "extension_module",
    // CMake
    "Python3_add_library",
    "Python_add_library",
    "python_add_library",
    "python_extension_module",
    "pybind11_add_module",
    "nanobind_add_module",
];

/// Words of Meson and CMake for what other programs link with, and for programs.
const LIBRARIES: [&str; 6] = [
    "library",
    "shared_library",
    "both_libraries",
    "executable",
    "add_library",
    "add_executable",
];

/// Words of build files that install headers, among other things.
fn installers(kind: BuildKind) -> &'static [&'static str] {
    match kind {
        BuildKind::Meson => &["install_headers", "install_sources", "install_data"],
        BuildKind::CMake => &["install"],
        _ => &["headers", "package_data", "package-data"],
    }
}

/// What a package has beside its C.
#[derive(Debug)]
pub(super) struct Surroundings {
    builds: Vec<Build>,
    /// Text of other languages.
    foreign: FileSet,
    /// Whether all of the package's files were read.
    is_whole: bool,
}

/// What a build file says of the folder it stands in.
#[derive(Debug)]
struct Build {
    id: FileId,
    folder: PathBuf,
    makes_modules: bool,
    makes_libraries: bool,
    installs: bool,
}

impl Surroundings {
    pub(super) fn new(package: &Package) -> Self {
        let builds = package.build_files();
        Self {
            builds: builds
                .filter(|(_, kind)| !matches!(kind, BuildKind::Workflow | BuildKind::Manifest))
                .map(|(id, kind)| Build::new(id, kind, package.files.get(id)))
                .collect(),
            foreign: package.foreign.clone(),
            is_whole: package.is_whole && package.skipped.is_empty(),
        }
    }

    /// Adds the words of text that may name what C has, of its structs as well. Python gets at
    /// functions by their names, which is asked for each. `has_code` says whether a file has some, or
    /// includes some.
    pub(super) fn tell_foreign(
        &self,
        unread: &mut Unread,
        files: &FileSet,
        has_code: impl Fn(FileId) -> bool,
    ) {
        let texts = self.foreign.iter().map(|(_, file)| file);
        let is_python = |file: &&SourceFile| file.path().extension().is_some_and(|it| it == "py");
        let mut named: FxHashMap<&[u8], Vec<FileId>> = FxHashMap::default();
        for (id, file) in files.iter() {
            let name = file.path().file_name().unwrap_or_default();
            named.entry(name.as_encoded_bytes()).or_default().push(id);
        }
        // cdef extern from "src/helpers.c":
        let takes_in = |text: &SourceFile| {
            let parts = text.bytes().split(|byte| b"\"'/\\<> \t\r\n".contains(byte));
            let mut files = parts.filter_map(|part| named.get(part)).flatten();
            may_include_c(text.path()) && files.any(|file| has_code(*file))
        };
        for file in texts.filter(|file| !is_python(file)) {
            unread.add_foreign(file, takes_in(file));
        }
        if starts_with_keywords(&self.foreign) {
            unread.note_keywords();
        }
        if self.is_whole {
            unread.add_called_at_import(called_at_import(&self.foreign));
        }
    }

    /// Those that speak for the file at `path`: from folders above it.
    fn builds_of<'s>(&'s self, path: &'s Path) -> impl Iterator<Item = &'s Build> {
        let is_above = |build: &&Build| path.starts_with(&build.folder);
        self.builds.iter().filter(is_above)
    }

    /// Whether the C file at `path` goes into extension modules only.
    fn is_of_module(&self, path: &Path) -> bool {
        self.is_whole
            && self.builds_of(path).any(|build| build.makes_modules)
            && !self.builds_of(path).any(|build| build.makes_libraries)
    }
}

impl Build {
    fn new(id: FileId, kind: BuildKind, file: &SourceFile) -> Self {
        let words = words(file.bytes());
        let has = |signs: &[&str]| words.iter().any(|word| signs.contains(&word.text));
        // add_library(_speedups MODULE speedups.c)
        let is_library =
            |word: &Word<'_>| LIBRARIES.contains(&word.text) && !word.rest.contains("MODULE");
        Self {
            id,
            folder: file.path().parent().map(PathBuf::from).unwrap_or_default(),
            makes_modules: has(&MODULES),
            makes_libraries: kind != BuildKind::SetupPy && words.iter().any(is_library),
            installs: has(installers(kind)),
        }
    }
}

/// Looks for the callers of functions.
#[derive(Debug)]
pub(super) struct Others<'w> {
    workspace: &'w Workspace,
    /// The files whose C is looked at.
    reached: OnceLock<FxHashSet<FileId>>,
}

impl<'w> Others<'w> {
    pub(super) fn new(workspace: &'w Workspace) -> Self {
        Self {
            workspace,
            reached: OnceLock::new(),
        }
    }

    fn path(&self, file: FileId) -> &'w Path {
        self.workspace.files.get(file).path()
    }

    fn is_header(&self, file: FileId) -> bool {
        let path = self.path(file);
        path.extension().is_some_and(|ending| ending == "h")
    }

    /// Headers on their own are looked at as little as files of other languages.
    fn reached(&self) -> &FxHashSet<FileId> {
        self.reached.get_or_init(|| {
            let roots = self.workspace.roots.iter().copied();
            let mut reached = FxHashSet::default();
            for root in roots.filter(|&root| !self.is_header(root)) {
                self.workspace.includes.reach(root, &mut reached);
            }
            reached
        })
    }

    /// The files that name the function in code, and those of builds that name it at all.
    fn files_with(&self, name: &str) -> impl Iterator<Item = FileId> {
        let workspace = self.workspace;
        let is_build = |id| workspace.around.builds.iter().any(|build| build.id == id);
        workspace.files.iter().filter_map(move |(id, file)| {
            let is_named = self.is_named_in(id, name);
            (is_named || is_build(id) && is_word_of(file.bytes(), name)).then_some(id)
        })
    }

    /// Whether the file names the function in code.
    fn is_named_in(&self, id: FileId, name: &str) -> bool {
        let file = self.workspace.files.get(id);
        let mut words = self.workspace.index[id.index()].identifiers(file);
        words.any(|word| word == name.as_bytes())
    }

    /// The files of other languages that name the function in code.
    fn foreign_with(&self, name: &str) -> impl Iterator<Item = &'w SourceFile> {
        let files = self.workspace.around.foreign.iter().map(|(_, file)| file);
        files.filter(move |file| names_function(file.path(), file.bytes(), name))
    }

    /// The file and what it includes.
    fn reach(&self, file: FileId) -> BTreeSet<FileId> {
        let mut reached = FxHashSet::default();
        self.workspace.includes.reach(file, &mut reached);
        reached.into_iter().collect()
    }

    /// Whether text of another language names C that includes one of `files`:
    /// `cdef extern from "helpers.c":`.
    fn is_taken_by(&self, text: &SourceFile, files: &BTreeSet<FileId>) -> bool {
        self.workspace
            .files
            .iter()
            .any(|(id, file)| names_file(text, file.path()) && !self.reach(id).is_disjoint(files))
    }

    /// Whether a build of the package installs the header.
    fn installs(&self, header: FileId) -> bool {
        let path = self.path(header);
        let file_name = path.file_name().and_then(|name| name.to_str());
        let files = &self.workspace.files;
        let mut builds = self.workspace.around.builds_of(path);
        is_installed(self.workspace, path)
            || file_name.is_some_and(|name| {
                let text = |build: &Build| files.get(build.id).bytes();
                let is_named = |build| memchr::memmem::find(text(build), name.as_bytes());
                builds.any(|build| build.installs && is_named(build).is_some())
            })
            || self.goes_with_package(path)
    }

    /// Whether a header stands beside an `__init__.py`, and a build installs what there is in
    /// packages: all headers, or what `MANIFEST.in` names.
    fn goes_with_package(&self, header: &Path) -> bool {
        const SIGNS: [&str; 4] = [
            "*.h",
            "include_package_data",
            "include-package-data",
            "[tool.setuptools",
        ];
        let around = &self.workspace.around;
        let package = header.with_file_name("__init__.py");
        let mut others = around.foreign.iter();
        let text = |build: &Build| self.workspace.files.get(build.id).bytes();
        let says = |build: &Build| {
            let mut signs = SIGNS.iter();
            signs.any(|sign| memchr::memmem::find(text(build), sign.as_bytes()).is_some())
        };
        others.any(|(_, file)| *file.path() == *package) && around.builds_of(header).any(says)
    }
}

impl Outside for Others<'_> {
    fn callers(&self, name: &str, files: &BTreeSet<FileId>) -> Option<String> {
        let around = &self.workspace.around;
        if !files
            .iter()
            .all(|file| around.is_of_module(self.path(*file)))
        {
            return Some(format!("only analysed C code calls `{name}`"));
        }
        let unread = self
            .files_with(name)
            .find(|id| !self.reached().contains(id));
        let unread = unread.map(|id| self.path(id));
        let foreign = || self.foreign_with(name).next().map(SourceFile::path);
        if let Some(path) = unread.or_else(foreign) {
            return Some(not_looked_at(path, name));
        }
        let mut headers = self.files_with(name).filter(|id| self.is_header(*id));
        let header = headers.find(|id| self.installs(*id))?;
        Some(format!(
            "no code that includes `{}` calls `{name}`",
            self.path(header).display()
        ))
    }

    fn includers(&self, name: &str, files: &BTreeSet<FileId>) -> Option<String> {
        let ids = self.workspace.files.iter().map(|(id, _)| id);
        let mut unread = ids.filter(|id| !files.contains(id) && !self.reached().contains(id));
        let unread =
            unread.find(|&id| !self.reach(id).is_disjoint(files) && self.is_named_in(id, name));
        let unread = unread.map(|id| self.path(id));
        let foreign = || {
            let mut foreign = self.foreign_with(name);
            let file = foreign.find(|file| self.is_taken_by(file, files))?;
            Some(file.path())
        };
        if let Some(path) = unread.or_else(foreign) {
            return Some(not_looked_at(path, name));
        }
        let mut headers = files.iter().filter(|&&file| self.is_header(file));
        let header = headers.find(|&&file| self.installs(file))?;
        let header = self.path(*header).display();
        Some(format!("no code that includes `{header}` calls `{name}`"))
    }
}

/// Whether the name of the file at `path` stands in `text`.
fn names_file(text: &SourceFile, path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let named = name.map(|name| memchr::memmem::find(text.bytes(), name.as_bytes()));
    named.flatten().is_some()
}

/// What must hold where a file names a function that nobody has looked into.
fn not_looked_at(path: &Path, name: &str) -> String {
    let path = path.display();
    format!("`{path}`, which was not analysed, does not call `{name}`")
}
