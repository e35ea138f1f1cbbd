//! What is learnt of a file once, whoever includes it.

use super::condition::{self, Cond};
use super::directive::{self, BranchKind, Segment};
use super::macros::MacroDef;
use super::typedefs::{Typedef, typedefs};
use crate::capi;
use crate::lex::{self, Token, TokenKind};
use crate::source::{ByteOffset, ByteSpan, FileId, SourceFile};

/// A file's tokens and segments.
#[derive(Debug, Clone)]
pub struct FileIndex {
    pub(crate) tokens: Vec<Token>,
    pub(crate) segments: Vec<Segment>,
    /// Whether the file may define functions or generate code where it is included at file scope.
    pub(crate) has_code: bool,
    /// Index of the segment of an include guard's `#ifndef`.
    pub(crate) guard: Option<u32>,
    /// Whether it is the generated header, of which only the `#include`s count.
    pub(super) stands_in: bool,
    /// Whether it says `#pragma once`.
    pub(super) once: bool,
    /// Names it makes types of, in any configuration, in order.
    pub typedefs: Vec<Typedef>,
}

/// One `#define` of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Define {
    /// The name.
    pub name: ByteSpan,
    /// What stands behind it on its logical line; parameters included.
    pub body: ByteSpan,
    /// The conditions around it, outermost first.
    pub conditions: Vec<Condition>,
}

/// What an `#if` around some text asks; it holds if all that it asks does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// That this name is not defined.
    NotDefined(Box<str>),
    /// That `PY_VERSION_HEX` is below this.
    Below(i64),
    /// Anything else.
    Other,
}

impl FileIndex {
    /// Lexes the file and finds its directives, typedefs and whether it holds code.
    #[must_use]
    pub fn new(id: FileId, file: &SourceFile) -> Self {
        let tokens = lex::lex(file.bytes());
        let segments = directive::segments(file.bytes(), &tokens, id);
        let is_header = file
            .path()
            .extension()
            .is_some_and(|e| e == "h" || e == "hpp");
        let mut index = Self {
            has_code: !is_header,
            guard: None,
            once: says_once(file.bytes(), &tokens),
            stands_in: is_header && capi::stands_in(file.bytes()),
            typedefs: Vec::new(),
            tokens,
            segments,
        };
        index.has_code |= index.holds_bodies(file.bytes()) || holds_module(file.bytes());
        index.guard = index.find_guard(file.bytes());
        index.typedefs = typedefs(file.bytes(), &index.text_tokens().collect::<Vec<_>>());
        index
    }

    /// All tokens of the file, directives included.
    #[must_use]
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Whether the file may define functions or generate code where it is included.
    #[must_use]
    pub fn has_code(&self) -> bool {
        self.has_code
    }

    /// All identifiers of the file, in text and directives alike.
    pub fn identifiers<'a>(&'a self, file: &'a SourceFile) -> impl Iterator<Item = &'a [u8]> {
        let idents = self
            .tokens
            .iter()
            .filter(|token| token.kind == TokenKind::Ident);
        idents.map(|token| file.slice(token.span))
    }

    /// The conditions around what stands at `at`, outermost first, but for an include guard.
    #[must_use]
    pub fn conditions_at(&self, file: &SourceFile, at: ByteOffset) -> Vec<Condition> {
        let around = self.branches_at(at).into_iter();
        let around = around.filter(|&branch| self.guard != Some(branch));
        let branches = around.filter_map(|branch| match self.segments.get(branch as usize)? {
            Segment::Branch(branch) => Some(branch),
            _ => None,
        });
        branches
            .flat_map(|branch| self.conditions(file, &branch.kind))
            .collect()
    }

    /// The names that are defined in any branch.
    pub fn macros<'a>(&'a self, file: &'a SourceFile) -> impl Iterator<Item = &'a [u8]> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Define(def) => Some(file.slice(def.name)),
            _ => None,
        })
    }

    /// Where the names stand that are defined in any branch.
    pub fn define_names(&self) -> impl Iterator<Item = ByteSpan> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Define(def) => Some(def.name),
            _ => None,
        })
    }

    /// The names that are taken back in any branch.
    pub fn undefined<'a>(&'a self, file: &'a SourceFile) -> impl Iterator<Item = &'a [u8]> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Undef(name) => Some(file.slice(*name)),
            _ => None,
        })
    }

    /// The names that are defined in any branch, each with the words that stand for it, parameters
    /// left out.
    pub fn replaced<'a>(
        &'a self,
        file: &'a SourceFile,
    ) -> impl Iterator<Item = (&'a [u8], Vec<&'a [u8]>)> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Define(def) => {
                let words = def
                    .body
                    .iter()
                    .filter(|body| body.param.is_none() && body.token.kind == TokenKind::Ident);
                let words = words.map(|body| file.slice(body.token.span));
                Some((file.slice(def.name), words.collect()))
            }
            _ => None,
        })
    }

    /// The `#define`s of `name` in any branch.
    #[must_use]
    pub fn defines(&self, file: &SourceFile, name: &[u8]) -> Vec<Define> {
        let mut found = Vec::new();
        let mut around: Vec<Vec<Condition>> = Vec::new();
        for segment in &self.segments {
            match segment {
                Segment::Define(def) if file.slice(def.name) == name => found.push(Define {
                    name: def.name,
                    body: ByteSpan::new(def.name.end().0, def.span.end().0),
                    conditions: around.concat(),
                }),
                Segment::Branch(branch) => {
                    if !matches!(branch.kind, BranchKind::If(_) | BranchKind::IfDefined(..)) {
                        around.pop();
                    }
                    if branch.kind != BranchKind::Endif {
                        around.push(self.conditions(file, &branch.kind));
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// The `#define` whose text from its name on is `span`.
    pub(crate) fn define_at(&self, span: ByteSpan) -> Option<&MacroDef> {
        self.segments.iter().find_map(|segment| match segment {
            Segment::Define(def) if def.span == span => Some(def),
            _ => None,
        })
    }

    /// Whether `span` lies in the text of a `#define`, from its name on.
    pub(crate) fn is_in_define(&self, span: ByteSpan) -> bool {
        self.segments.iter().any(|segment| match segment {
            Segment::Define(def) => {
                def.span.start() <= span.start() && span.end() <= def.span.end()
            }
            _ => false,
        })
    }

    /// Where `name` stands in text, in any branch; `None` if it stands in the body of a macro.
    pub(crate) fn uses_of(&self, file: &SourceFile, name: &[u8]) -> Option<Vec<ByteOffset>> {
        let is_name =
            |token: &Token| token.kind == TokenKind::Ident && file.slice(token.span) == name;
        let in_macro = self.segments.iter().any(|segment| match segment {
            Segment::Define(def) => def.body.iter().any(|body| is_name(&body.token)),
            _ => false,
        });
        let uses = self.text_tokens().filter(|token| is_name(token));
        let uses = uses.map(|token| token.span.start());
        (!in_macro).then(|| uses.collect())
    }

    fn conditions(&self, file: &SourceFile, kind: &BranchKind) -> Vec<Condition> {
        match kind {
            BranchKind::IfDefined(name, false) => {
                vec![Condition::NotDefined(file.text(*name).into())]
            }
            BranchKind::If(range) => {
                let tokens = &self.tokens[range.start as usize..range.end as usize];
                let words = tokens.iter().map(|token| file.slice(token.span));
                let words: Vec<&[u8]> = words.collect();
                suffices(&condition::parse(&condition::tokens(
                    &words,
                    condition::unknown,
                )))
            }
            _ => vec![Condition::Other],
        }
    }

    /// The tokens outside of directives, of all branches.
    pub(crate) fn text_tokens(&self) -> impl Iterator<Item = &Token> {
        self.segments.iter().flat_map(|segment| match segment {
            Segment::Text(range) => &self.tokens[range.start as usize..range.end as usize],
            _ => &[],
        })
    }

    /// Function bodies (`) {`) or uses of generator macros (`NAME(…)` without `;`).
    fn holds_bodies(&self, bytes: &[u8]) -> bool {
        let mut previous = 0u8;
        let mut depth = 0i32;
        for token in self.text_tokens() {
            let text = &bytes[token.span.range()];
            let starts_line = token.first_on_line && token.kind == TokenKind::Ident;
            if depth == 0 && previous == b')' && (text == b"{" || starts_line) {
                return true;
            }
            match text {
                b"(" => depth += 1,
                b")" => depth -= 1,
                _ => {}
            }
            previous = text[0];
        }
        false
    }

    fn find_guard(&self, bytes: &[u8]) -> Option<u32> {
        let first = self.segments.first()?;
        let Segment::Branch(branch) = first else {
            return None;
        };
        let named = match &branch.kind {
            BranchKind::IfDefined(name, false) => Some(&bytes[name.range()]),
            // `#if !defined(X)` is the other spelling.
            BranchKind::If(range) => {
                let tokens = &self.tokens[range.start as usize..range.end as usize];
                let not_defined = tokens
                    .first()
                    .is_some_and(|t| bytes[t.span.range()] == *b"!");
                let name = tokens.iter().rfind(|token| token.kind == TokenKind::Ident);
                name.filter(|_| not_defined)
                    .map(|token| &bytes[token.span.range()])
            }
            _ => None,
        }?;
        let defines_it = self.segments.iter().take(4).any(
            |segment| matches!(segment, Segment::Define(def) if bytes[def.name.range()] == *named),
        );
        defines_it.then_some(0)
    }
}

fn says_once(bytes: &[u8], tokens: &[Token]) -> bool {
    let text = |token: &Token| &bytes[token.span.range()];
    tokens.windows(3).any(|line| {
        line[0].first_on_line
            && [text(&line[0]), text(&line[1]), text(&line[2])] == [&b"#"[..], b"pragma", b"once"]
    })
}

/// What has to hold for `cond` to do so: all of the parts of an `&&`, and one of an `||`.
///
/// ```c
/// #if (PY_VERSION_HEX < 0x030D00A1 || defined(Py_LIMITED_API)) && !defined(PyDict_GetItemRef)
/// ```
fn suffices(cond: &Cond) -> Vec<Condition> {
    match cond {
        Cond::Binary("&&", left, right) => [suffices(left), suffices(right)].concat(),
        Cond::Binary("||", left, right) => {
            let sides = [suffices(left), suffices(right)].into_iter();
            let mut known = sides.filter(|side| !side.contains(&Condition::Other));
            known.next().unwrap_or_else(|| vec![Condition::Other])
        }
        Cond::Binary("<", left, right) => match (&**left, &**right) {
            (Cond::Name(name), Cond::Int(version)) if **name == *"PY_VERSION_HEX" => {
                vec![Condition::Below(*version)]
            }
            _ => vec![Condition::Other],
        },
        Cond::Not(inner) => match &**inner {
            Cond::Defined(name) => vec![Condition::NotDefined(name.clone())],
            _ => vec![Condition::Other],
        },
        _ => vec![Condition::Other],
    }
}

/// The definition of an extension module, or its slots: some packages keep them in a header.
fn holds_module(bytes: &[u8]) -> bool {
    let words: [&[u8]; 2] = [b"PyModuleDef_Slot", b"PyModuleDef_HEAD_INIT"];
    words
        .iter()
        .any(|word| memchr::memmem::find(bytes, word).is_some())
}
