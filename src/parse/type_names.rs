//! Which identifiers are type names.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::clean::clean;
use super::words::Kind;
use crate::preprocess::{ItemTokens, Typedef};
use crate::source::FileSet;

/// One or more names a line; `#` begins a comment line.
const BUILTIN: &str = include_str!("builtin_types.txt");

/// Those of numbers, in the same form.
const NUMBERS: &str = include_str!("number_types.txt");

/// The type names of a package: those it defines itself, on top of the built-in list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeNames {
    names: FxHashSet<Box<str>>,
    numbers: FxHashSet<Box<str>>,
}

impl Default for TypeNames {
    fn default() -> Self {
        Self::new()
    }
}

impl TypeNames {
    /// Only the built-in names: C, POSIX, Windows, CPython.
    #[must_use]
    pub fn new() -> Self {
        Self {
            names: names_of(BUILTIN).chain(names_of(NUMBERS)).collect(),
            numbers: names_of(NUMBERS).collect(),
        }
    }

    /// Adds a name that a `typedef` of the package declares.
    pub fn add(&mut self, name: &str) {
        self.names.insert(name.into());
    }

    /// Adds all names that the `typedef`s of the package declare. One stands for a number if it
    /// does in every configuration; what a build fills in is taken to be of the kind of the others.
    pub fn add_all<'t>(&mut self, typedefs: impl IntoIterator<Item = &'t Typedef>) {
        let mut by_name: BTreeMap<&str, Vec<&Typedef>> = BTreeMap::new();
        for typedef in typedefs {
            by_name.entry(&typedef.name).or_default().push(typedef);
        }
        for name in by_name.keys() {
            self.add(name);
            self.numbers.remove(*name);
        }
        loop {
            let before = self.numbers.len();
            let found = by_name.iter().filter(|(_, typedefs)| {
                let mut known = typedefs.iter().filter(|it| !it.is_template()).peekable();
                known.peek().is_some() && known.all(|typedef| self.are_number(&typedef.words))
            });
            let found: Vec<Box<str>> = found.map(|(&name, _)| name.into()).collect();
            self.numbers.extend(found);
            if self.numbers.len() == before {
                return;
            }
        }
    }

    /// Whether the words of a type stand for a number.
    fn are_number(&self, words: &[Box<str>]) -> bool {
        const WORDS: [&str; 15] = [
            "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool",
            "_Complex", "__int8", "__int16", "__int32", "__int64", "__int128",
        ];
        match words {
            [] => false,
            [word, ..] if &**word == "enum" => true,
            [name] if self.is_number(name) => true,
            _ => words.iter().all(|word| WORDS.contains(&&**word)),
        }
    }

    /// Whether `name` is known to name a type of numbers.
    #[must_use]
    pub fn is_number(&self, name: &str) -> bool {
        self.numbers.contains(name)
    }

    /// Adds the names that `item` declares if it is a `typedef`; it need not be C that can be
    /// parsed.
    pub fn add_declared(&mut self, item: &ItemTokens, files: &FileSet) {
        // Without `__attribute__((…))` the declared name is the last one before `,`, `;` or a
        // parameter list.
        let Ok(toks) = clean(item, files) else { return };
        if !toks
            .iter()
            .take(2)
            .any(|tok| tok.kind == Kind::Storage("typedef"))
        {
            return;
        }
        let mut name = None;
        let mut at = 0;
        while let Some(tok) = toks.get(at) {
            let after = tok.mate.max(at) + 1;
            match (tok.kind, tok.text) {
                (Kind::Name, text) => name = Some(text),
                // `typedef int (CALL *name)(void);`
                (Kind::Punct, b"(") if toks[after].text == b"(" || toks[after].text == b"[" => {
                    let star = toks[at..after].iter().rposition(|tok| tok.text == b"*");
                    name = star.map(|star| toks[at + star + 1].text);
                    at = toks[after].mate;
                }
                (Kind::Punct, b"," | b";") => self.add_found(name.take()),
                _ => {}
            }
            at = toks[at].mate.max(at) + 1;
        }
        self.add_found(name);
    }

    fn add_found(&mut self, name: Option<&[u8]>) {
        if let Some(name) = name.and_then(|name| std::str::from_utf8(name).ok()) {
            self.add(name);
        }
    }

    /// Whether `name` names a type where nothing shadows it.
    #[must_use]
    pub fn is_type(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

fn names_of(list: &'static str) -> impl Iterator<Item = Box<str>> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::{TypeNames, Typedef};
    use crate::parse::testing::item;

    #[test]
    fn names_come_from_the_list_and_from_typedefs() {
        let mut types = TypeNames::new();
        for text in [
            "typedef struct s { int in; } a, *b, c[3];",
            "__extension__ typedef int (*d)(foo *x, void (*y)(int)), (WINAPI *e)(bar);",
            "typedef unsigned long f __attribute__((aligned(8)));",
            "int g;",
        ] {
            let (files, tokens) = item(text);
            types.add_declared(&tokens, &files);
        }
        let known = |name: &&str| types.is_type(name);
        let names = ["PyObject", "uint8_t", "a", "b", "c", "d", "e", "f"];
        assert_eq!(
            names.iter().copied().filter(known).collect::<Vec<_>>(),
            names
        );
        let others = ["#", "in", "s", "x", "y", "g", "foo", "bar"];
        assert_eq!(
            others.iter().copied().filter(known).collect::<Vec<_>>(),
            [""; 0]
        );
    }
    #[test]
    fn numbers_are_followed_through_typedefs() {
        let typedef = |name: &str, words: &str| Typedef {
            name: name.into(),
            words: words.split_whitespace().map(Into::into).collect(),
        };
        let mut types = TypeNames::new();
        types.add_all(&[
            typedef("real", "base"),
            typedef("base", "unsigned long"),
            typedef("count", "Py_ssize_t"),
            typedef("color", "enum"),
            typedef("uint64_t", "unsigned __int64"),
            typedef("both", "int"),
            typedef("both", ""),
            typedef("point", "struct point"),
            typedef("index", "int"),
            typedef("index", "@INDEX@"),
            typedef("filled", "@INDEX@"),
            typedef("time_t", ""),
            typedef("loop", "loop"),
        ]);
        let numbers = [
            "real", "base", "count", "color", "uint64_t", "npy_intp", "index",
        ];
        assert!(numbers.iter().all(|name| types.is_number(name)));
        let others = [
            "both",
            "point",
            "time_t",
            "loop",
            "unknown_t",
            "PyObject",
            "filled",
        ];
        assert!(!others.iter().any(|name| types.is_number(name)));
    }
}
