//! Which identifiers are type names.

use rustc_hash::FxHashSet;

use super::clean::clean;
use super::words::Kind;
use crate::preprocess::ItemTokens;
use crate::source::FileSet;

/// One or more names a line; `#` begins a comment line.
const BUILTIN: &str = include_str!("builtin_types.txt");

/// The type names of a package: those it defines itself, on top of the built-in list.
#[derive(Debug, Clone)]
pub struct TypeNames {
    names: FxHashSet<Box<str>>,
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
        let lines = BUILTIN.lines().filter(|line| !line.starts_with('#'));
        Self {
            names: lines
                .flat_map(str::split_whitespace)
                .map(Into::into)
                .collect(),
        }
    }

    /// Adds a name that a `typedef` of the package declares.
    pub fn add(&mut self, name: &str) {
        self.names.insert(name.into());
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

#[cfg(test)]
mod tests {
    use super::TypeNames;
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
}
