//! What words stand for others.

use std::cell::RefCell;
use std::rc::Rc;

use memchr::memmem;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::package::{FileKind, Package};
use crate::preprocess::{Condition, Inclusion};
use crate::rule::PackageCx;
use crate::source::{ByteOffset, FileId};

/// The macros of a package, in any configuration.
pub(super) struct Macros<'a> {
    cx: &'a PackageCx<'a>,
    package: &'a Package,
    /// The words that stand for each.
    words: FxHashMap<&'a [u8], FxHashSet<&'a [u8]>>,
    /// Where each is defined.
    places: FxHashMap<&'a [u8], Vec<(FileId, ByteOffset)>>,
    /// Where the first item of each file begins.
    starts: FxHashMap<FileId, ByteOffset>,
    units: RefCell<FxHashMap<FileId, Rc<Unit<'a>>>>,
    always: RefCell<FxHashMap<(FileId, &'a [u8]), bool>>,
}

/// The files of a translation unit.
struct Unit<'a> {
    all: FxHashSet<FileId>,
    /// Those that each build includes, in front of the first item of the root.
    always: FxHashSet<FileId>,
    /// What one of them takes back.
    undefined: FxHashSet<&'a [u8]>,
}

impl<'a> Macros<'a> {
    pub(super) fn new(cx: &'a PackageCx<'_>, package: &'a Package) -> Self {
        let mut words = FxHashMap::<&[u8], FxHashSet<&[u8]>>::default();
        let mut places = FxHashMap::<&[u8], Vec<(FileId, ByteOffset)>>::default();
        for (id, file) in package.files.iter() {
            let index = &cx.program.index[id.index()];
            for (name, more) in index.replaced(file) {
                words.entry(name).or_default().extend(more);
            }
            for name in index.define_names() {
                let of = places.entry(file.slice(name)).or_default();
                of.push((id, name.start()));
            }
        }
        let mut starts = FxHashMap::<FileId, ByteOffset>::default();
        for (file, span) in cx.program.items.iter().map(|item| item.place) {
            let start = starts.entry(file).or_insert(span.start());
            *start = span.start().min(*start);
        }
        Self {
            cx,
            package,
            words,
            places,
            starts,
            units: RefCell::default(),
            always: RefCell::default(),
        }
    }

    /// Whether the word is one.
    pub(super) fn has(&self, word: &[u8]) -> bool {
        self.words.contains_key(word)
    }

    /// Adds the words that stand for those of `words`, and for these.
    pub(super) fn add_to(&self, words: &mut FxHashSet<&'a [u8]>) {
        let mut open: Vec<&[u8]> = words.iter().copied().collect();
        while let Some(word) = open.pop() {
            for &more in self.words.get(word).into_iter().flatten() {
                if words.insert(more) {
                    open.push(more);
                }
            }
        }
    }

    /// Whether the word is a macro in each build of the translation unit that begins with `root`, so
    /// that no item of `root` means a function by it.
    pub(super) fn is_always(&self, root: FileId, word: &[u8]) -> bool {
        let Some((&word, places)) = self.places.get_key_value(word) else {
            return false;
        };
        if let Some(known) = self.always.borrow().get(&(root, word)) {
            return *known;
        }
        let unit = self.unit(root);
        let is_there = |(file, at): &(FileId, ByteOffset)| {
            *file != root && unit.always.contains(file) && self.holds(*file, *at, &unit.all)
        };
        let is_always = !unit.undefined.contains(word) && places.iter().any(is_there);
        self.always.borrow_mut().insert((root, word), is_always);
        is_always
    }

    fn unit(&self, root: FileId) -> Rc<Unit<'a>> {
        if let Some(unit) = self.units.borrow().get(&root) {
            return Rc::clone(unit);
        }
        let includes = &self.cx.program.includes;
        let mut all = FxHashSet::default();
        includes.reach(root, &mut all);
        let undefined = all.iter().flat_map(|&file| {
            let index = &self.cx.program.index[file.index()];
            index.undefined(self.cx.file(file))
        });
        let undefined = undefined.collect();
        let mut always = FxHashSet::default();
        let mut open = vec![root];
        while let Some(file) = open.pop() {
            if always.insert(file) {
                let included = includes.targets(file).iter();
                let start = self.starts.get(&file).filter(|_| file == root);
                let is_before = |it: &&Inclusion| start.is_none_or(|start| it.at < *start);
                let included = included.filter(is_before);
                let included = included.filter(|it| self.holds(file, it.at, &all));
                open.extend(included.map(|it| it.file));
            }
        }
        let unit = Rc::new(Unit {
            all,
            always,
            undefined,
        });
        self.units.borrow_mut().insert(root, Rc::clone(&unit));
        unit
    }

    /// Whether each build reads what stands at `at`: all that is asked for is that words are not
    /// defined with which other sources of the package begin, and none of `files`, and no build.
    fn holds(&self, file: FileId, at: ByteOffset, files: &FxHashSet<FileId>) -> bool {
        let index = &self.cx.program.index[file.index()];
        let around = index.conditions_at(self.cx.file(file), at);
        around.iter().all(|condition| match condition {
            Condition::NotDefined(name) => {
                let places = self.places.get(name.as_bytes());
                places.is_some_and(|it| it.iter().all(|place| self.is_word_of_other(*place, files)))
                    && !is_of_compiler(name)
                    && !self.is_told(name)
            }
            Condition::Below(_) | Condition::Other => false,
        })
    }

    /// Whether a source, which is none of `files`, defines a word for itself, in every build. What a
    /// header finds out of a system, another one may find out as well.
    fn is_word_of_other(
        &self,
        (file, at): (FileId, ByteOffset),
        files: &FxHashSet<FileId>,
    ) -> bool {
        let info = self.package.info_of(file);
        let index = &self.cx.program.index[file.index()];
        info.is_some_and(|info| info.kind == FileKind::C)
            && !files.contains(&file)
            && index.conditions_at(self.cx.file(file), at).is_empty()
    }

    /// Whether a build may define the word.
    fn is_told(&self, word: &str) -> bool {
        let builds = self.package.build_files();
        let builds = builds.map(|(id, _)| self.package.files.get(id));
        let others = self.package.foreign.iter().map(|(_, file)| file);
        let mut texts = builds.chain(others);
        texts.any(|text| memmem::find(text.bytes(), word.as_bytes()).is_some())
    }
}

/// Whether the word may be defined where nothing of the package says so: by the compiler, by headers
/// of the system, or by the options that Python itself was built with.
fn is_of_compiler(word: &str) -> bool {
    word.starts_with('_') || word == "NDEBUG"
}
