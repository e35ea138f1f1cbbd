//! Words of the package's text that nobody analyses: C++, Objective-C, templates, what tools made
//! from other files, other languages. Whatever such text names, it may call, set or hand on.

use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::preprocess::{FileIndex, Includes};
use crate::source::{FileId, FileSet, SourceFile};

/// The words, each with where it stands.
#[derive(Debug, Default)]
pub struct Unread {
    /// Those of them that are C, or look like it.
    files: Vec<FileId>,
    texts: Vec<PathBuf>,
    words: FxHashMap<Box<[u8]>, Named>,
    called_at_import: FxHashSet<Box<[u8]>>,
    passes_keywords: bool,
}

/// Where a word stands.
#[derive(Debug, Clone, Copy)]
struct Named {
    /// The index of the first text.
    text: u32,
    place: Where,
}

/// What texts hold a word.
#[derive(Debug, Clone, Copy)]
struct Where {
    /// Whether one of the texts is compiled together with text that is analysed, so that the word
    /// may be the name of something `static` there.
    inside: bool,
    /// Whether one of the texts is in another language than C.
    foreign: bool,
}

impl Where {
    fn add(&mut self, other: Self) {
        self.inside |= other.inside;
        self.foreign |= other.foreign;
    }
}

/// What a file is to those who ask what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Its C is analysed, or what it does is known.
    Read,
    /// Nobody looks into it.
    Unread,
    /// The same, and what is made of it may be included by any file: `loops.c.src`.
    Template,
}

impl Unread {
    /// The words of the files that are not read, other than what C that is read includes, and of
    /// the headers that only they include.
    #[must_use]
    pub fn new(
        files: &FileSet,
        index: &[FileIndex],
        includes: &Includes,
        reading: impl Fn(FileId) -> Reading,
    ) -> Self {
        let ids = || files.iter().map(|(id, _)| id);
        let is_code = |id: &FileId| reading(*id) == Reading::Read && index[id.index()].has_code();
        let mut read = FxHashSet::default();
        for root in ids().filter(is_code) {
            includes.reach(root, &mut read);
        }
        let mut unread = Self::default();
        let mut seen = FxHashSet::default();
        let open = ids().filter(|id| !read.contains(id) && reading(*id) != Reading::Read);
        for root in open {
            let mut reached = FxHashSet::default();
            includes.reach(root, &mut reached);
            let inside = reading(root) == Reading::Template || reached.iter().any(is_code);
            let mut reached: Vec<FileId> = reached.into_iter().collect();
            reached.sort_unstable();
            for id in reached.into_iter().filter(|id| !read.contains(id)) {
                if seen.insert((id, inside)) {
                    let file = files.get(id);
                    if !seen.contains(&(id, !inside)) {
                        unread.files.push(id);
                    }
                    let words = index[id.index()].identifiers(file);
                    unread.add(
                        file.path(),
                        Where {
                            inside,
                            foreign: false,
                        },
                        words,
                    );
                }
            }
        }
        unread
    }

    /// Adds the words of another language. `takes_in` says whether it includes C of the package.
    pub fn add_foreign(&mut self, file: &SourceFile, takes_in: bool) {
        let is_word = |byte: &u8| *byte == b'_' || byte.is_ascii_alphanumeric();
        let words = file.bytes().split(|byte| !is_word(byte));
        let place = Where {
            inside: takes_in,
            foreign: true,
        };
        self.add(file.path(), place, words.filter(|word| !word.is_empty()));
    }

    /// Notes the names of methods that Python code of the package calls where it is imported, once,
    /// and that no text of the package names otherwise.
    pub fn add_called_at_import(&mut self, names: impl IntoIterator<Item = Box<[u8]>>) {
        self.called_at_import.extend(names);
    }

    /// Notes that Python code of the package has a dict that others have passed on as keywords.
    pub fn note_keywords(&mut self) {
        self.passes_keywords = true;
    }

    /// Whether it does.
    #[must_use]
    pub fn passes_keywords(&self) -> bool {
        self.passes_keywords
    }

    /// The names of [`Self::add_called_at_import`].
    #[must_use]
    pub fn called_at_import(&self) -> &FxHashSet<Box<[u8]>> {
        &self.called_at_import
    }

    fn add<'w>(&mut self, path: &Path, place: Where, words: impl Iterator<Item = &'w [u8]>) {
        let text = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(path.to_path_buf());
        for word in words {
            match self.words.get_mut(word) {
                Some(named) => named.place.add(place),
                None => drop(self.words.insert(word.into(), Named { text, place })),
            }
        }
    }

    /// The first text that holds the word.
    #[must_use]
    pub fn by(&self, word: &str) -> Option<&Path> {
        let named = self.words.get(word.as_bytes())?;
        self.texts.get(named.text as usize).map(PathBuf::as_path)
    }

    /// Whether some text holds the word.
    #[must_use]
    pub fn names(&self, word: &str) -> bool {
        self.words.contains_key(word.as_bytes())
    }

    /// Whether text holds the word that may mean something `static` by it.
    #[must_use]
    pub fn names_static(&self, word: &str) -> bool {
        let named = self.words.get(word.as_bytes());
        named.is_some_and(|named| named.place.inside)
    }

    /// Whether text in another language than C holds the word.
    #[must_use]
    pub fn names_foreign(&self, word: &str) -> bool {
        let named = self.words.get(word.as_bytes());
        named.is_some_and(|named| named.place.foreign)
    }

    /// The files that nobody analyses, but for those in other languages than C.
    #[must_use]
    pub fn files(&self) -> &[FileId] {
        &self.files
    }
}
