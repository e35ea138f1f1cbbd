//! The files of a run as the pipeline needs them: those of the package, the model of
//! `<Python.h>`, the `-D` options.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::Config;
use super::outside::Surroundings;
use crate::capi::MODEL_H;
use crate::facts::Functions;
use crate::package::{FileInfo, FileKind, Package};
use crate::preprocess::{FileIndex, Includes, VersionRange};
use crate::program::{self, Demand, Kept, Places, Program, Reading, Unread};
use crate::source::{FileId, FileSet, SourceFile};

/// The newest Python whose branches are looked at: 3.15.
const NEWEST: u32 = 0x030F_00F0;

/// Files, their indices, and how they include each other.
#[derive(Debug)]
pub(super) struct Workspace {
    pub(super) files: FileSet,
    pub(super) index: Vec<FileIndex>,
    pub(super) includes: Includes,
    pub(super) range: VersionRange,
    pub(super) around: Surroundings,
    pub(super) roots: Vec<FileId>,
    before: Vec<FileId>,
    facts: Functions,
    /// What each file is to those who ask what is read.
    readings: Vec<Reading>,
    unread: OnceLock<Arc<Unread>>,
    known: Option<Arc<Kept>>,
}

impl Workspace {
    /// The files of `package`, nearly all of which are those of `known`.
    pub(super) fn near(package: &Package, config: &Config, known: &Program<'_>) -> Self {
        Self {
            known: known.kept.clone(),
            unread: OnceLock::from(Arc::clone(&known.unread)),
            ..Self::new(package, config)
        }
    }

    pub(super) fn new(package: &Package, config: &Config) -> Self {
        let mut files = package.files.clone();
        let mut add = |name: &str, text: String| {
            files.add(SourceFile::new(PathBuf::from(name), text.into_bytes()))
        };
        let defines = config
            .defines
            .iter()
            .map(|(name, value)| format!("#define {name} {value}\n"));
        let before = vec![
            add("<Python.h>", MODEL_H.to_owned()),
            add("<command line>", defines.collect()),
        ];
        let ids: Vec<FileId> = files.iter().map(|(id, _)| id).collect();
        let index: Vec<FileIndex> = ids
            .par_iter()
            .map(|&id| index(package, id, files.get(id)))
            .collect();
        let search: Vec<PathBuf> = config
            .include_dirs
            .iter()
            .map(|folder| {
                let folder = PathBuf::from(folder);
                folder
                    .strip_prefix(&package.root)
                    .map(PathBuf::from)
                    .unwrap_or(folder)
            })
            .collect();
        let mut includes = Includes::new(&files, &index, &search);
        includes.add_texts(&package.foreign);
        let readings = ids.iter().map(|&id| reading(package.info_of(id))).collect();
        let roots = package.analysed().map(|(id, _)| id).collect();
        // Python 2 never counts, and a limit below 3.13 is one that the port will lift.
        let range = VersionRange {
            min: package.python.min.hex().min(NEWEST),
            max: NEWEST,
        };
        Self {
            files,
            index,
            includes,
            range,
            around: Surroundings::new(package),
            roots,
            before,
            facts: config.facts.clone(),
            readings,
            unread: OnceLock::new(),
            known: None,
        }
    }

    /// Words of the text that nobody analyses.
    fn unread(&self) -> Arc<Unread> {
        let find = || {
            let reading = |id: FileId| self.readings[id.index()];
            let mut unread = Unread::new(&self.files, &self.index, &self.includes, reading);
            let has_code = |id: FileId| {
                let mut reached = FxHashSet::default();
                self.includes.reach(id, &mut reached);
                reached.iter().any(|id| self.index[id.index()].has_code())
            };
            self.around.tell_foreign(&mut unread, &self.files, has_code);
            Arc::new(unread)
        };
        Arc::clone(self.unread.get_or_init(find))
    }

    /// Whether a file of the package holds one of `words` outside of comments and strings.
    pub(super) fn mentions(&self, words: &FxHashSet<&[u8]>) -> bool {
        let own = self
            .files
            .iter()
            .filter(|(id, _)| !self.before.contains(id));
        let own: Vec<_> = own.collect();
        own.par_iter().any(|(id, file)| {
            self.index[id.index()]
                .identifiers(file)
                .any(|word| words.contains(word))
        })
    }

    pub(super) fn load(&self, demand: Demand, headers: bool) -> Program<'_> {
        program::load(
            &self.files,
            &self.index,
            &self.includes,
            &self.options(demand, headers),
        )
    }

    fn options(&self, demand: Demand, headers: bool) -> program::Options {
        program::Options {
            range: self.range,
            roots: self.roots.clone(),
            before: self.before.clone(),
            demand,
            headers,
            facts: self.facts.clone(),
            unread: self.unread(),
            known: self.known.clone(),
        }
    }

    /// Runs the front end over `files`, in which those of `places` have other bytes, as far as
    /// translation units hold one of the places, parses the items that a place touches, and hands
    /// the result to `look`.
    pub(super) fn reload(
        &self,
        files: &FileSet,
        places: Places,
        look: &mut dyn FnMut(&Program<'_>),
    ) {
        let mut index = self.index.clone();
        for &id in places.keys() {
            index[id.index()] = FileIndex::new(id, files.get(id));
        }
        let looked_at = places.iter().filter(|(_, spans)| !spans.is_empty());
        let looked_at: Vec<FileId> = looked_at.map(|(&id, _)| id).collect();
        let mut options = self.options(Demand::Places(places), false);
        let includes = &self.includes;
        options.roots.retain(|root| {
            let mut reached = FxHashSet::default();
            includes.reach(*root, &mut reached);
            looked_at.iter().any(|id| reached.contains(id))
        });
        look(&program::load(files, &index, includes, &options));
    }
}

/// What a file is to those who ask what is read. The model of `<Python.h>` has no kind.
fn reading(info: Option<FileInfo>) -> Reading {
    match info.map(|info| info.kind) {
        Some(FileKind::Generated(generator)) if generator.is_stand_in() => Reading::Read,
        Some(FileKind::Template) => Reading::Template,
        Some(FileKind::Cpp | FileKind::ObjectiveC | FileKind::Generated(_)) => Reading::Unread,
        Some(FileKind::C | FileKind::Header | FileKind::Build(_)) | None => Reading::Read,
    }
}

/// What is learnt of a file once; of build files, which hold no C, nothing.
fn index(package: &Package, id: FileId, file: &SourceFile) -> FileIndex {
    let is_build = |info: FileInfo| matches!(info.kind, FileKind::Build(_));
    if package.info_of(id).is_some_and(is_build) {
        let empty = SourceFile::new(file.path().to_path_buf(), Vec::new());
        return FileIndex::new(id, &empty);
    }
    FileIndex::new(id, file)
}
