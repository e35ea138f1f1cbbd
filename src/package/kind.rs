//! What a file is, told from its name and, for headers, from its tokens.

use std::path::Path;

use super::generated::{Generator, generator_of};
use crate::build::BuildKind;
use crate::lex::{Token, lex};

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A C translation unit.
    C,
    /// Text that translation units include.
    Header,
    /// C++, not analysed.
    Cpp,
    /// Objective-C, not analysed.
    ObjectiveC,
    /// Text that a tool turns into C, not analysed.
    Template,
    /// It says how the package is built.
    Build(BuildKind),
    /// Made by a tool from another file, never edited.
    Generated(&'static Generator),
}

impl FileKind {
    /// Whether the file's C is analysed and may be edited.
    #[must_use]
    pub fn is_analysed(self) -> bool {
        matches!(self, Self::C | Self::Header)
    }

    /// What the name alone says; `None` if the file is none of our business.
    pub(super) fn of_name(path: &Path) -> Option<Self> {
        if let Some(kind) = BuildKind::of_name(path) {
            return Some(Self::Build(kind));
        }
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let (stem, extension) = name.rsplit_once('.')?;
        match extension {
            "c" => Some(Self::C),
            "h" | "inc" | "def" => Some(Self::Header),
            "cc" | "cpp" | "cxx" | "c++" | "hpp" | "hh" | "hxx" => Some(Self::Cpp),
            "m" | "mm" => Some(Self::ObjectiveC),
            // `loops.c.src`, `config.h.in`, `module.c.tmpl`
            "src" | "in" | "tmpl" | "template" => {
                let inner = stem.rsplit_once('.')?.1;
                matches!(inner, "c" | "h" | "cpp").then_some(Self::Template)
            }
            _ => None,
        }
    }

    /// What the file is after a look at its bytes.
    pub(super) fn refine(self, path: &Path, bytes: &[u8]) -> Self {
        if let Self::Build(_) = self {
            return self;
        }
        if let Some(generator) = generator_of(path, bytes) {
            return Self::Generated(generator);
        }
        if self == Self::Header && is_cpp(bytes) {
            return Self::Cpp;
        }
        self
    }
}

/// Whether `bytes` declare what only C++ has, outside of `#ifdef __cplusplus`.
fn is_cpp(bytes: &[u8]) -> bool {
    let tokens = lex(bytes);
    let text = |index: usize| {
        tokens
            .get(index)
            .map_or(&b""[..], |t| &bytes[t.span.range()])
    };
    let mut guards = CppGuards::default();
    let mut index = 0;
    while index < tokens.len() {
        if tokens[index].first_on_line && text(index) == b"#" {
            let end = end_of_directive(&tokens, index);
            let words: Vec<_> = (index + 1..end).map(text).collect();
            guards.directive(&words);
            index = end;
            continue;
        }
        // `class` and `namespace` are good names in C; the token after the name tells.
        let declares = match text(index) {
            b"template" => tokens[index].first_on_line && text(index + 1) == b"<",
            b"namespace" => text(index + 1) == b"{" || text(index + 2) == b"{",
            b"class" => matches!(text(index + 2), b"{" | b":"),
            _ => false,
        };
        if declares && !guards.inside() {
            return true;
        }
        index += 1;
    }
    false
}

fn end_of_directive(tokens: &[Token], start: usize) -> usize {
    let rest = &tokens[start + 1..];
    start
        + 1
        + rest
            .iter()
            .position(|token| token.first_on_line)
            .unwrap_or(rest.len())
}

/// The open conditionals; for each, whether its current branch is for C++ only.
#[derive(Default)]
struct CppGuards(Vec<bool>);

impl CppGuards {
    fn directive(&mut self, words: &[&[u8]]) {
        match words.first().copied() {
            Some(b"if" | b"ifdef") => {
                let negated = words.contains(&&b"!"[..]);
                self.0
                    .push(words.contains(&&b"__cplusplus"[..]) && !negated);
            }
            Some(b"ifndef") => self.0.push(false),
            Some(b"else" | b"elif") => {
                if let Some(branch) = self.0.last_mut() {
                    *branch = false;
                }
            }
            Some(b"endif") => {
                self.0.pop();
            }
            _ => {}
        }
    }

    fn inside(&self) -> bool {
        self.0.contains(&true)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{FileKind, is_cpp};
    use crate::build::BuildKind;

    #[test]
    fn names_tell_the_kind() {
        let kind = |name| FileKind::of_name(Path::new(name));
        assert_eq!(kind("src/m.c"), Some(FileKind::C));
        assert_eq!(kind("src/M.C"), Some(FileKind::C));
        assert_eq!(kind("a.tmpl.h"), Some(FileKind::Header));
        assert_eq!(kind("loops.c.src"), Some(FileKind::Template));
        assert_eq!(kind("config.h.in"), Some(FileKind::Template));
        let manifest = kind("MANIFEST.in");
        assert_eq!(manifest, Some(FileKind::Build(BuildKind::Manifest)));
        assert_eq!(kind("a.hpp"), Some(FileKind::Cpp));
        assert_eq!(kind("a.m"), Some(FileKind::ObjectiveC));
        assert_eq!(kind("a.py"), None);
        assert_eq!(
            kind("a/setup.py"),
            Some(FileKind::Build(BuildKind::SetupPy))
        );
        assert_eq!(kind("a/b.yml"), None);
        let workflow = kind(".github/workflows/b.yml");
        assert_eq!(workflow, Some(FileKind::Build(BuildKind::Workflow)));
        assert_eq!(kind(".c"), Some(FileKind::C));
    }

    #[test]
    fn headers_with_cpp_declarations_are_cpp() {
        assert!(is_cpp(b"class Buffer {\n};\n"));
        assert!(is_cpp(b"class Buffer : public Base {\n};\n"));
        assert!(is_cpp(b"template <typename T> struct S;\n"));
        assert!(is_cpp(b"namespace { int x; }\n"));
    }

    #[test]
    fn headers_for_both_languages_are_c() {
        assert!(!is_cpp(
            b"#ifdef __cplusplus\ntemplate <class T> struct S;\n#endif\nint x;\n"
        ));
        assert!(!is_cpp(
            b"#if defined(__cplusplus)\nclass A {};\n#else\nint x;\n#endif\n"
        ));
        assert!(!is_cpp(
            b"/* class A { */ PyObject *class, *namespace; int a = template < 3;\n"
        ));
    }
}
