//! Second pass: a walk over the item in the order of its tokens that writes the shadow.
//!
//! The walk knows C well enough to tell declarations from expressions, types from variables and
//! casts from calls, and knows what people leave to macros. It never fails on bad C: what it does
//! not understand is copied, and `lang-c` finds the error.

mod declaration;
mod declarator;
mod expression;
mod initializer;
mod specifiers;
mod statement;
mod type_name;

use super::clean::Tok;
use super::scopes::Scopes;
use super::shadow::{NAME, Shadow, TYPE};
use super::words::Kind;
use super::{ParseFailure, TypeNames};

/// What a name in scope is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Type,
    Variable,
}

/// The walk over one item. Positions are indices into `toks`.
#[derive(Debug)]
pub(super) struct Walker<'a> {
    toks: &'a [Tok<'a>],
    types: &'a TypeNames,
    scopes: Scopes<'a, Meaning>,
    out: Shadow,
    /// The first thing that `lang-c` cannot be made to read.
    failure: Option<ParseFailure>,
}

impl<'a> Walker<'a> {
    pub(super) fn new(toks: &'a [Tok<'a>], types: &'a TypeNames) -> Self {
        let out = Shadow::new(toks.len());
        Self {
            toks,
            types,
            scopes: Scopes::new(),
            out,
            failure: None,
        }
    }

    /// Writes the shadow of the whole item.
    pub(super) fn walk(mut self) -> Result<Shadow, ParseFailure> {
        let mut at = 0;
        while self.kind(at) != Kind::End {
            at = self.external(at);
        }
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.out),
        }
    }

    fn kind(&self, at: usize) -> Kind {
        self.toks.get(at).map_or(Kind::End, |tok| tok.kind)
    }

    fn text(&self, at: usize) -> &'a [u8] {
        self.toks.get(at).map_or(b"", |tok| tok.text)
    }

    /// Whether the punctuator at `at` is `punct`.
    fn is(&self, at: usize, punct: &str) -> bool {
        self.kind(at) == Kind::Punct && self.text(at) == punct.as_bytes()
    }

    fn is_any(&self, at: usize, puncts: &[&str]) -> bool {
        puncts.iter().any(|punct| self.is(at, punct))
    }

    /// First position after the bracket group that opens at `at`, or after the single token there.
    fn after_group(&self, at: usize) -> usize {
        self.toks.get(at).map_or(at, |tok| tok.mate.max(at) + 1)
    }

    /// Position of the bracket that matches the one at `at`.
    fn mate(&self, at: usize) -> usize {
        self.toks[at].mate
    }

    fn newline_before(&self, at: usize) -> bool {
        self.toks.get(at).is_some_and(|tok| tok.newline_before)
    }

    /// Whether the name at `at` is a type name here.
    fn is_type(&self, at: usize) -> bool {
        match self.scopes.get(self.text(at)) {
            Some(meaning) => meaning == Meaning::Type,
            None => std::str::from_utf8(self.text(at)).is_ok_and(|name| self.types.is_type(name)),
        }
    }

    /// Whether the name at `at` was declared as a variable in this item.
    fn is_variable(&self, at: usize) -> bool {
        self.scopes.get(self.text(at)) == Some(Meaning::Variable)
    }

    /// Writes `text` for the token at `at`.
    fn put(&mut self, text: &str, at: usize) -> usize {
        let tok = &self.toks[at];
        self.out.put(text, tok.first, tok.last);
        at + 1
    }

    /// Writes `text` for the tokens from `from` up to `to`.
    fn put_all(&mut self, text: &str, from: usize, to: usize) -> usize {
        self.out
            .put(text, self.toks[from].first, self.toks[to - 1].last);
        to
    }

    /// Writes a stand-in for nothing, before the token at `at`.
    fn insert(&mut self, text: &str, at: usize) {
        let place = self.toks[at.min(self.toks.len() - 1)].first;
        self.out.put(text, place, place);
    }

    /// Writes the token at `at` as it is, names as variables.
    fn copy(&mut self, at: usize) -> usize {
        let tok = &self.toks[at];
        match tok.kind {
            Kind::Name | Kind::LabelDeclaration => self.put(NAME, at),
            Kind::Literal => self.put("0", at),
            Kind::Str => self.put("\"\"", at),
            Kind::Punct => {
                // `Other` bytes are punctuators to the walk; none of them is C.
                let text = std::str::from_utf8(tok.text).unwrap_or("@");
                self.put(text, at)
            }
            Kind::TypeWord(word) | Kind::Qualifier(word) | Kind::Storage(word) => {
                self.put(word, at)
            }
            Kind::Tag(word) | Kind::SizeOf(word) => self.put(word, at),
            Kind::TypeOf => self.put("__typeof__", at),
            Kind::Atomic => self.put("_Atomic", at),
            Kind::Generic => self.put("_Generic", at),
            Kind::VaArg => self.put("__builtin_va_arg", at),
            Kind::OffsetOf => self.put("__builtin_offsetof", at),
            Kind::Flow(flow) => self.put(flow.word(), at),
            Kind::StaticAssert => self.put("_Static_assert", at),
            Kind::Asm => self.put("__asm__(\"\")", at),
            Kind::End => at,
        }
    }

    /// Copies what is left before the closing bracket `close`, and the bracket.
    fn finish_group(&mut self, mut at: usize, close: usize) -> usize {
        while at < close {
            at = self.copy(at);
        }
        self.copy(close)
    }

    fn put_type(&mut self, at: usize) -> usize {
        if self.scopes.get(self.text(at)).is_none() {
            self.scopes.declare(self.text(at), Meaning::Type);
        }
        self.put(TYPE, at)
    }

    fn fail(&mut self, at: usize, reason: &str) {
        if self.failure.is_none() {
            let token = self.toks[at].first;
            self.failure = Some(ParseFailure {
                token,
                reason: reason.to_owned(),
            });
        }
    }
}
