//! A file's lines as data: text and directives, with the branches of each `#if` linked.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashSet;

use super::macros::{self, MacroDef};
use crate::lex::{Token, TokenKind};
use crate::source::{ByteOffset, ByteSpan, FileId};

/// A stretch of a file.
#[derive(Debug, Clone)]
pub(crate) enum Segment {
    /// Tokens that are not part of a directive.
    Text(Range<u32>),
    /// `#define`.
    Define(MacroDef),
    /// `#undef name`.
    Undef(ByteSpan),
    /// `#include` and its operand's tokens.
    Include(Range<u32>),
    /// `#if`, `#ifdef`, `#ifndef`, `#elif`, `#else` or `#endif`.
    Branch(Branch),
}

/// One branch of a conditional.
#[derive(Debug, Clone)]
pub(crate) struct Branch {
    /// Where its directive begins.
    pub at: ByteOffset,
    /// What opens it.
    pub kind: BranchKind,
    /// Index of the segment with the next branch of the same conditional, or its `#endif`. For
    /// `#endif` itself, and where it is missing, the segment after the conditional.
    pub next: u32,
    /// Whether any text token stands between this branch and the next one, or the branch defines
    /// macros and another one of the conditional has text: one is what the other stands for.
    pub has_text: bool,
    /// Whether it defines a macro that leaves the function around its use, and another branch of the
    /// conditional one of the same name that does not, or the other way round.
    pub decides_exits: bool,
}

/// What opens a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BranchKind {
    /// `#if tokens`
    If(Range<u32>),
    /// `#ifdef name`, or `#ifndef name` with `false`.
    IfDefined(ByteSpan, bool),
    /// `#elif tokens`
    Elif(Range<u32>),
    /// `#elifdef name`, or `#elifndef name` with `false`.
    ElifDefined(ByteSpan, bool),
    /// `#else`
    Else,
    /// `#endif`
    Endif,
}

/// Splits the tokens of a file into segments. Stray `#else` and `#endif` are left out; a
/// conditional without `#endif` ends with the file.
pub(crate) fn segments(bytes: &[u8], tokens: &[Token], file: FileId) -> Vec<Segment> {
    let mut builder = Builder {
        bytes,
        tokens,
        file,
        out: Vec::new(),
        hash: ByteOffset(0),
        open: Vec::new(),
        texts: 0,
    };
    let mut at = 0;
    while at < tokens.len() {
        at = if builder.is_directive(at) {
            builder.directive(at)
        } else {
            builder.text(at)
        };
    }
    builder.finish()
}

struct Builder<'a> {
    bytes: &'a [u8],
    tokens: &'a [Token],
    file: FileId,
    out: Vec<Segment>,
    /// Where the directive begins that is looked at.
    hash: ByteOffset,
    /// Branches that wait for their `next`, innermost conditional last.
    open: Vec<OpenBranch>,
    /// How many segments of `out` are text, or include some.
    texts: u32,
}

#[derive(Clone, Copy)]
struct OpenBranch {
    /// Index of its segment.
    segment: u32,
    /// Index of the segment of the conditional's first branch.
    first: u32,
    /// Value of [`Builder::texts`] where it begins.
    texts_before: u32,
}

impl Builder<'_> {
    fn text_of(&self, token: Token) -> &[u8] {
        &self.bytes[token.span.range()]
    }

    fn is_directive(&self, at: usize) -> bool {
        let token = self.tokens[at];
        token.first_on_line
            && token.kind == TokenKind::Punct
            && matches!(self.text_of(token), b"#" | b"%:")
    }

    fn text(&mut self, from: usize) -> usize {
        let mut to = from + 1;
        while to < self.tokens.len() && !self.is_directive(to) {
            to += 1;
        }
        self.out.push(Segment::Text(index(from)..index(to)));
        self.texts += 1;
        to
    }

    fn directive(&mut self, hash: usize) -> usize {
        let end = self.line_end(hash);
        self.hash = self.tokens[hash].span.start();
        let name = hash + 1;
        if name >= end {
            return end;
        }
        let rest = index(name + 1)..index(end);
        let operand = self
            .tokens
            .get(name + 1)
            .filter(|_| name + 1 < end)
            .copied();
        match self.text_of(self.tokens[name]) {
            b"define" => self.define(name + 1, end),
            b"undef" => self
                .out
                .extend(operand.map(|token| Segment::Undef(token.span))),
            b"include" | b"include_next" | b"import" => {
                self.out.push(Segment::Include(rest));
                self.texts += 1;
            }
            b"if" => self.open_branch(BranchKind::If(rest), index(self.out.len())),
            b"ifdef" => self.open_named(operand, true),
            b"ifndef" => self.open_named(operand, false),
            b"elif" => self.next_branch(BranchKind::Elif(rest)),
            b"elifdef" => self.next_named(operand, true),
            b"elifndef" => self.next_named(operand, false),
            b"else" => self.next_branch(BranchKind::Else),
            b"endif" => self.next_branch(BranchKind::Endif),
            // `#pragma`, `#error`, `#warning`, `#line`, `#ident` change nothing here.
            _ => {}
        }
        end
    }

    fn line_end(&self, from: usize) -> usize {
        let rest = &self.tokens[from + 1..];
        from + 1 + rest.iter().take_while(|token| !token.first_on_line).count()
    }

    fn define(&mut self, from: usize, end: usize) {
        let parsed = macros::parse_define(self.bytes, &self.tokens[from..end], self.file);
        let known = parsed.filter(|def| !macros::is_own_name(self.bytes, def));
        self.out.extend(known.map(Segment::Define));
    }

    fn open_named(&mut self, name: Option<Token>, wanted: bool) {
        let span = name.map_or_else(ByteSpan::default, |token| token.span);
        self.open_branch(BranchKind::IfDefined(span, wanted), index(self.out.len()));
    }

    fn next_named(&mut self, name: Option<Token>, wanted: bool) {
        let span = name.map_or_else(ByteSpan::default, |token| token.span);
        self.next_branch(BranchKind::ElifDefined(span, wanted));
    }

    fn open_branch(&mut self, kind: BranchKind, first: u32) {
        let segment = index(self.out.len());
        self.open.push(OpenBranch {
            segment,
            first,
            texts_before: self.texts,
        });
        self.out.push(Segment::Branch(Branch {
            at: self.hash,
            kind,
            next: 0,
            has_text: false,
            decides_exits: false,
        }));
    }

    fn next_branch(&mut self, kind: BranchKind) {
        let Some(last) = self.open.pop() else {
            return; // a stray #else or #endif
        };
        let here = index(self.out.len());
        self.link(last, here);
        if kind == BranchKind::Endif {
            self.out.push(Segment::Branch(Branch {
                at: self.hash,
                kind,
                next: here + 1,
                has_text: false,
                decides_exits: false,
            }));
            self.compare_branches(last.first);
        } else {
            self.open_branch(kind, last.first);
        }
    }

    /// A macro that stands for a function of another branch is as good as text.
    ///
    /// ```c
    /// #if PY_VERSION_HEX >= 0x030A0000
    /// static PyObject *lookup(PyObject *d, PyObject *k) { … }
    /// #else
    /// #define lookup(d, k) PyDict_GetItem(d, k)
    /// #endif
    /// ```
    fn compare_branches(&mut self, first: u32) {
        let mut bounds = vec![first as usize];
        while let Some(Segment::Branch(branch)) = bounds.last().map(|at| &self.out[*at])
            && branch.kind != BranchKind::Endif
        {
            bounds.push(branch.next as usize);
        }
        self.compare_exits(&bounds);
        let is_bare = |at: &usize| match &self.out[*at] {
            Segment::Branch(branch) => !branch.has_text && branch.kind != BranchKind::Endif,
            _ => false,
        };
        if bounds.len() < 3 || !bounds.iter().any(is_bare) {
            return;
        }
        let of_conditional = &self.out[first as usize..];
        let texts = of_conditional.iter().filter_map(|segment| match segment {
            Segment::Text(range) => Some(range.start as usize..range.end as usize),
            _ => None,
        });
        let tokens = texts.flat_map(|range| &self.tokens[range]);
        let words: FxHashSet<&[u8]> = tokens.map(|token| self.text_of(*token)).collect();
        let stands_in = |segment: &Segment| match segment {
            Segment::Define(def) => words.contains(&self.bytes[def.name.range()]),
            _ => false,
        };
        let branches = bounds.windows(2);
        let found = branches.filter(|pair| self.out[pair[0]..pair[1]].iter().any(stands_in));
        let found: Vec<usize> = found.map(|pair| pair[0]).collect();
        for at in found {
            if let Segment::Branch(branch) = &mut self.out[at] {
                branch.has_text = true;
            }
        }
    }

    /// Marks the branches of a conditional that define a macro which leaves the function in one of
    /// them, and not in another.
    ///
    /// ```c
    /// #ifdef STRICT
    /// #define CHECK(x) do { if ((x) < 0) return -1; } while (0)
    /// #else
    /// #define CHECK(x) (void)(x)
    /// #endif
    /// ```
    fn compare_exits(&mut self, bounds: &[usize]) {
        let mut found: BTreeMap<&[u8], Vec<(usize, bool)>> = BTreeMap::new();
        for pair in bounds.windows(2) {
            for segment in &self.out[pair[0]..pair[1]] {
                if let Segment::Define(def) = segment {
                    let leaves = def
                        .body
                        .iter()
                        .any(|token| matches!(self.text_of(token.token), b"return" | b"goto"));
                    let name = &self.bytes[def.name.range()];
                    found.entry(name).or_default().push((pair[0], leaves));
                }
            }
        }
        let differ = |all: &&Vec<(usize, bool)>| {
            all.iter().any(|(_, leaves)| *leaves) && all.iter().any(|(_, leaves)| !*leaves)
        };
        let decide = found.values().filter(differ).flatten();
        let decide: Vec<usize> = decide.map(|(at, _)| *at).collect();
        for at in decide {
            if let Segment::Branch(branch) = &mut self.out[at] {
                branch.decides_exits = true;
            }
        }
    }

    fn link(&mut self, branch: OpenBranch, next: u32) {
        let has_text = self.texts > branch.texts_before;
        if let Segment::Branch(open) = &mut self.out[branch.segment as usize] {
            open.next = next;
            open.has_text = has_text;
        }
    }

    fn finish(mut self) -> Vec<Segment> {
        let end = index(self.out.len());
        while let Some(branch) = self.open.pop() {
            self.link(branch, end);
        }
        self.out
    }
}

fn index(n: usize) -> u32 {
    u32::try_from(n).expect("a file has fewer tokens than bytes, and those fit")
}
