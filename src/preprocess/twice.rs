//! Names that a translation unit defines twice, where C lets it do so once.
//!
//! ```c
//! #define SELF IntMap
//! #include "map_template.h"     /* static int grow(void) { … } */
//! #define SELF StrMap
//! #include "map_template.h"     /* the same again */
//! ```

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::items::RawItem;
use crate::lex::TokenKind;
use crate::source::{ByteSpan, FileId, FileSet};

/// The files and spans of two definitions.
pub(super) type Places = [(FileId, ByteSpan); 2];

/// A name that a translation unit defines twice in its base configuration: a function, a variable
/// with an initialiser, or a macro with another text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twice {
    /// The name.
    pub name: Box<str>,
    /// The two definitions; one place if its text is read twice.
    pub places: [(FileId, ByteSpan); 2],
}

/// The definitions of a translation unit that were met so far.
#[derive(Default)]
pub(super) struct Definitions {
    known: FxHashMap<Box<[u8]>, (FileId, ByteSpan)>,
    twice: BTreeMap<Box<str>, Twice>,
}

impl Definitions {
    pub(super) fn add_item(&mut self, files: &FileSet, raw: &RawItem) {
        let names = match raw.function {
            Some(at) => has_type(files, raw, at).then_some(at).into_iter().collect(),
            None => initialised(files, raw),
        };
        for at in names {
            let name = raw.tokens.text(files, at);
            if let Some(first) = self.known.insert(name.into(), raw.place) {
                self.add(name, [first, raw.place]);
            }
        }
    }

    fn add(&mut self, name: &[u8], places: Places) {
        let name: Box<str> = String::from_utf8_lossy(name).into();
        let twice = Twice {
            name: name.clone(),
            places,
        };
        self.twice.entry(name).or_insert(twice);
    }

    /// All that is defined twice, with the macros `redefined`.
    pub(super) fn twice(mut self, redefined: Vec<(&[u8], Places)>) -> Vec<Twice> {
        for (name, places) in redefined {
            self.add(name, places);
        }
        self.twice.into_values().collect()
    }
}

/// Whether a type stands in front of the name: `TEST(name) { … }` is the use of a macro that was
/// not read.
fn has_type(files: &FileSet, raw: &RawItem, name: u32) -> bool {
    name.checked_sub(1).is_some_and(|before| {
        let word = raw.tokens.text(files, before);
        let is_word = raw.tokens.tokens[before as usize].kind == TokenKind::Ident;
        word == b"*" || is_word && !matches!(word, b"static" | b"inline" | b"extern")
    })
}

/// The names in front of an `=` outside of all brackets: `static int sizes[2][3] = {…}, used = 0;`
fn initialised(files: &FileSet, raw: &RawItem) -> Vec<u32> {
    let text = |at: u32| raw.tokens.text(files, at);
    let count = u32::try_from(raw.tokens.tokens.len()).expect("items fit");
    let (mut depth, mut name, mut found) = (0u32, None, Vec::new());
    for at in 0..count {
        match text(at) {
            b"[" => depth += 1,
            // `int (*hook)(int) = f;`
            b"(" | b"{" => {
                name = None;
                depth += 1;
            }
            b")" | b"]" | b"}" => depth = depth.saturating_sub(1),
            b"=" if depth == 0 => found.extend(name.take()),
            _ if depth == 0 => {
                let is_word = raw.tokens.tokens[at as usize].kind == TokenKind::Ident;
                name = is_word.then_some(at);
            }
            _ => {}
        }
    }
    found
}
