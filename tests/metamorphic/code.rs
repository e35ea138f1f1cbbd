//! C text as the lexer sees it, and edits of it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use ungil::capi::MODEL_H;
use ungil::facts::Functions;
use ungil::lex::{Token, TokenKind, lex};
use ungil::preprocess::{FileIndex, Includes, VersionRange};
use ungil::program::{Demand, Options, load};
use ungil::source::{FileSet, SourceFile};

/// A text with its tokens. Those of directives are kept apart: what stands there is no statement.
pub(crate) struct Code<'t> {
    pub(crate) text: &'t str,
    tokens: Vec<Token>,
    directives: Vec<Token>,
}

/// A function definition, by its tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body {
    /// The name.
    pub(crate) name: usize,
    /// The brace that opens the body.
    pub(crate) open: usize,
    /// The brace that closes it.
    pub(crate) close: usize,
}

impl<'t> Code<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let (mut tokens, mut directives) = (Vec::new(), Vec::new());
        let mut in_directive = false;
        for token in lex(text.as_bytes()) {
            if token.first_on_line {
                in_directive = &text[token.span.range()] == "#";
            }
            match in_directive {
                true => directives.push(token),
                false => tokens.push(token),
            }
        }
        Self {
            text,
            tokens,
            directives,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The text of token `at`; empty behind the last.
    pub(crate) fn word(&self, at: usize) -> &'t str {
        let token = self.tokens.get(at);
        token.map_or("", |token| &self.text[token.span.range()])
    }

    pub(crate) fn is_name(&self, at: usize) -> bool {
        let token = self.tokens.get(at);
        token.is_some_and(|token| token.kind == TokenKind::Ident)
            && !KEYWORDS.contains(&self.word(at))
    }

    /// Whether these tokens stand at `at`; `_` is any name.
    pub(crate) fn has(&self, at: usize, words: &[&str]) -> bool {
        (at..).zip(words).all(|(at, word)| match *word {
            "_" => self.is_name(at),
            word => self.word(at) == word,
        })
    }

    /// The bytes of tokens.
    pub(crate) fn bytes(&self, tokens: Range<usize>) -> Range<usize> {
        let start = self.tokens[tokens.start].span.range().start;
        match tokens.is_empty() {
            true => start..start,
            false => start..self.tokens[tokens.end - 1].span.range().end,
        }
    }

    /// The text of tokens, as written.
    pub(crate) fn written(&self, tokens: Range<usize>) -> &'t str {
        &self.text[self.bytes(tokens)]
    }

    /// The bracket that closes the one at `open`.
    pub(crate) fn closing(&self, open: usize) -> usize {
        let mut depth = 0;
        for at in open..self.len() {
            match self.word(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.len() - 1
    }

    /// Where a token with this text stands in `tokens`, outside of brackets within.
    pub(crate) fn find(&self, tokens: Range<usize>, word: &str) -> Option<usize> {
        let mut at = tokens.start;
        while at < tokens.end {
            match self.word(at) {
                found if found == word => return Some(at),
                "(" | "[" | "{" => at = self.closing(at),
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// The token behind the statement that begins at `at`.
    pub(crate) fn behind(&self, at: usize) -> usize {
        match self.word(at) {
            "{" => self.closing(at) + 1,
            "if" => {
                let then = self.behind(self.closing(at + 1) + 1);
                match self.word(then) {
                    "else" => self.behind(then + 1),
                    _ => then,
                }
            }
            "while" | "for" | "switch" => self.behind(self.closing(at + 1) + 1),
            "do" => {
                let condition = self.behind(at + 1) + 1;
                self.closing(condition) + 2
            }
            _ => self
                .find(at..self.len(), ";")
                .map_or(self.len(), |end| end + 1),
        }
    }

    /// Whether token `at` is the first of its line.
    pub(crate) fn begins_line(&self, at: usize) -> bool {
        let token = self.tokens.get(at);
        token.is_some_and(|token| token.first_on_line)
    }

    /// Whether a statement begins at `at`, as far as the token before tells.
    pub(crate) fn begins_statement(&self, at: usize) -> bool {
        at > 0 && matches!(self.word(at - 1), "{" | "}" | ";" | ":")
    }

    /// The function definitions.
    pub(crate) fn functions(&self) -> Vec<Body> {
        let mut found = Vec::new();
        let (mut at, mut name) = (0, None);
        while at < self.len() {
            let opens = self.word(at);
            if opens == "(" {
                name = at.checked_sub(1).filter(|&at| self.is_name(at));
            }
            if let Some(name) = name
                && opens == "{"
                && self.word(at - 1) == ")"
            {
                let (open, close) = (at, self.closing(at));
                found.push(Body { name, open, close });
            }
            match opens {
                "(" | "[" | "{" => at = self.closing(at) + 1,
                _ => at += 1,
            }
        }
        found
    }

    /// The statements right in a body, each with the token behind.
    pub(crate) fn statements(&self, body: Body) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = body.open + 1;
        while at < body.close {
            let behind = self.behind(at).min(body.close).max(at + 1);
            found.push(at..behind);
            at = behind;
        }
        found
    }

    /// The text with other names.
    pub(crate) fn renamed(&self, names: &BTreeMap<&str, String>) -> String {
        let mut edits = Edits::default();
        for token in self.tokens.iter().chain(&self.directives) {
            if let Some(new) = names.get(&self.text[token.span.range()]) {
                edits.put(token.span.range(), new.clone());
            }
        }
        edits.apply(self.text)
    }

    /// Names that stand outside of functions, or behind `.` or `->`.
    pub(crate) fn shared_names(&self) -> BTreeSet<&'t str> {
        let functions = self.functions();
        let is_inside = |at: &usize| {
            let mut functions = functions.iter();
            functions.any(|it| it.name < *at && *at < it.close)
        };
        let is_field = |at: &usize| *at > 0 && matches!(self.word(at - 1), "." | "->");
        let shared = (0..self.len()).filter(|at| !is_inside(at) || is_field(at));
        shared.map(|at| self.word(at)).collect()
    }
}

const KEYWORDS: [&str; 20] = [
    "break", "case", "const", "continue", "default", "do", "else", "extern", "for", "goto", "if",
    "return", "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "while",
];

/// Texts that come in place of bytes.
#[derive(Default)]
pub(crate) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    pub(crate) fn put(&mut self, bytes: Range<usize>, text: impl Into<String>) {
        self.0.push((bytes, text.into()));
    }

    pub(crate) fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.put(at..at, text);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text with all of them, which must not overlap.
    pub(crate) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(bytes, _)| (bytes.start, bytes.end));
        let (mut out, mut at) = (String::new(), 0);
        for (bytes, new) in self.0 {
            out += &text[at..bytes.start];
            out += &new;
            at = bytes.end;
        }
        out + &text[at..]
    }
}

/// The variables of each function, parameters included, by the name of the function.
pub(crate) fn variables(text: &str) -> BTreeMap<String, Vec<String>> {
    let range = VersionRange {
        min: 0x030D_00F0,
        max: 0x030F_00F0,
    };
    let mut files = FileSet::default();
    let mut add =
        |path: &str, text: &str| files.add(SourceFile::new(PathBuf::from(path), text.into()));
    let options = Options {
        range,
        roots: vec![add("m.c", text)],
        before: vec![add("<Python.h>", MODEL_H)],
        demand: Demand::Everything,
        headers: false,
        facts: Functions::default(),
        unread: Arc::default(),
        known: None,
    };
    let index: Vec<FileIndex> = files
        .iter()
        .map(|(id, file)| FileIndex::new(id, file))
        .collect();
    let includes = Includes::new(&files, &index, &[]);
    let program = load(&files, &index, &includes, &options);
    let functions = program.functions().map(|(_, function)| {
        let locals = function.tree.locals.iter();
        let names = locals.map(|local| local.name.clone()).collect();
        (function.name.clone(), names)
    });
    functions.collect()
}
