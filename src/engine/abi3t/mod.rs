//! What keeps the modules of a package from `abi3t`, the stable ABI of Python 3.15 that builds with
//! and without the GIL share.

mod scan;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;

use super::whose::files_of_modules;
use super::workspace::Workspace;
use super::{Config, build, limited};
use crate::capi::{FIRST_ABI3T, PyVersion};
use crate::modules::{Made, find_modules};
use crate::package::Package;
use crate::program::Demand;
use crate::rule::PackageCx;
use crate::source::{ByteSpan, FileId};

/// The Python that `abi3t` begins with.
const PYTHON: PyVersion = PyVersion::new(3, 15);

/// In what way a place stands against the ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObstacleKind {
    /// An older version of the limited API is asked for.
    OlderVersion,
    /// A `PyModuleDef` that the compiler lays out.
    ModuleDefinition,
    /// A `PyTypeObject` that the compiler lays out.
    StaticType,
    /// A `struct` that begins with the fields of an object.
    InstanceLayout,
    /// A field of an object of Python is used.
    Field,
    /// A function, macro or type that the ABI does not have.
    Name,
}

impl ObstacleKind {
    /// What such places are called, in the plural.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::OlderVersion => "older versions of the limited API",
            Self::ModuleDefinition => "static module definitions",
            Self::StaticType => "static types",
            Self::InstanceLayout => "instance layouts",
            Self::Field => "fields of objects",
            Self::Name => "names outside the ABI",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::OlderVersion => {
                "set `Py_TARGET_ABI3T` to `0x030f0000` or more in the build for `abi3t`"
            }
            Self::ModuleDefinition => {
                "export `PyModExport_NAME`, which returns an array of `PySlot`; the definition may \
                 stay under `#ifndef Py_TARGET_ABI3T`"
            }
            Self::StaticType => {
                "create the type from a `PyType_Spec` with `PyType_FromModuleAndSpec`"
            }
            Self::InstanceLayout => {
                "remove the head, give the spec a negative `basicsize`, and get the data with \
                 `PyObject_GetTypeData`"
            }
            Self::Field => "use the function that reads or sets it (`Py_TYPE`, `PyType_GetSlot`)",
            Self::Name => "use the replacement in the limited API of 3.15",
        }
    }
}

/// One obstacle to the ABI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// In what way.
    pub kind: ObstacleKind,
    /// Its name: the type, `struct`, function, or `TYPE.FIELD`.
    pub name: String,
    /// Its places, by file and position.
    pub places: Vec<(FileId, ByteSpan)>,
}

/// One module and what it has to leave behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleAbi {
    /// Its name, from `PyInit_name`.
    pub name: String,
    /// The file with its `PyInit_` function.
    pub file: FileId,
    /// By kind and name, in the files that may be linked into the module.
    pub obstacles: Vec<Obstacle>,
}

/// What a run found for all modules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Abi3t {
    /// By file and place.
    pub modules: Vec<ModuleAbi>,
    /// Functions that were not understood, in whose text only names were looked for in vain.
    pub not_understood: usize,
}

/// Places by kind and name.
type Found = BTreeMap<(ObstacleKind, String), BTreeSet<(FileId, ByteSpan)>>;

/// Looks at `package` as a compiler for `abi3t` would: what stands under `#ifndef Py_TARGET_ABI3T`,
/// `#ifndef Py_LIMITED_API` or a test for older Pythons is not there.
///
/// Needs threads with 64 MiB of stack, as [`super::analyze`].
#[must_use]
pub fn abi3t(package: &Package, config: &Config) -> Abi3t {
    let (target, settings) = as_target(package, config);
    let workspace = Workspace::new(&target, &settings);
    let program = workspace.load(Demand::Everything, true);
    let mut found = Found::new();
    scan::scan(&program, &target, &mut found);
    let builds = build::files(package);
    for request in limited::requests(&workspace.files, &workspace.index, &builds) {
        if let Some(version) = request.version.filter(|version| *version < PYTHON) {
            let key = (ObstacleKind::OlderVersion, version.to_string());
            found.entry(key).or_default().insert(request.place);
        }
    }
    let modules = modules(package, config);
    let modules = modules.into_iter().map(|(module, files)| ModuleAbi {
        obstacles: obstacles(&found, package, &files),
        file: module.file,
        name: module.name,
    });
    Abi3t {
        modules: modules.collect(),
        not_understood: program.functions_total - program.functions_understood,
    }
}

fn as_target(package: &Package, config: &Config) -> (Package, Config) {
    let mut target = package.clone();
    target.python.min = PYTHON;
    let mut settings = config.clone();
    let version = format!("{FIRST_ABI3T:#010x}");
    for name in ["Py_TARGET_ABI3T", "Py_LIMITED_API"] {
        settings.defines.push((name.to_owned(), version.clone()));
    }
    (target, settings)
}

/// The modules with their files, as the package is compiled today.
fn modules(package: &Package, config: &Config) -> Vec<(Made, FxHashSet<FileId>)> {
    let workspace = Workspace::new(package, config);
    let program = workspace.load(Demand::Everything, true);
    let cx = PackageCx::new(&program, workspace.range);
    let mut files = files_of_modules(&cx, package);
    let modules = find_modules(&cx).into_iter();
    modules
        .filter(|module| {
            let info = package.info_of(module.place.0);
            info.is_some_and(|info| info.kind.is_analysed() && info.selected)
        })
        .flat_map(|module| module.made)
        .map(|made| {
            let files = files.entry(made.file).or_default().clone();
            (made, files)
        })
        .collect()
}

/// What of `found` stands in the files of a module, or in build files, which are for all.
fn obstacles(found: &Found, package: &Package, files: &FxHashSet<FileId>) -> Vec<Obstacle> {
    let is_build = |file| package.build_files().any(|(id, _)| id == file);
    let each = found.iter().map(|((kind, name), places)| Obstacle {
        kind: *kind,
        name: name.clone(),
        places: places
            .iter()
            .filter(|(file, _)| files.contains(file) || is_build(*file))
            .copied()
            .collect(),
    });
    each.filter(|obstacle| !obstacle.places.is_empty())
        .collect()
}
