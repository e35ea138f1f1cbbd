//! Whole lines between the tokens of a file, directives among them.

use crate::edit::{BraceStyle, Edit, Layout};
use crate::lex::{Token, TokenKind};
use crate::rule::PackageCx;
use crate::source::{ByteOffset, ByteSpan, FileId};

/// Puts lines into one file in the style of a place in it.
#[derive(Debug)]
pub struct Lines<'a> {
    file: FileId,
    bytes: &'a [u8],
    tokens: &'a [Token],
    layout: Layout<'a>,
}

/// Identifiers under `span`, in all branches of all `#if`s.
pub fn identifiers<'a>(
    cx: &PackageCx<'a>,
    file: FileId,
    span: ByteSpan,
) -> impl Iterator<Item = &'a str> + use<'a> {
    words(cx.file(file).bytes(), tokens_in(cx, file, span))
}

/// As [`identifiers`], without those of the directives: a guard asks for names, it does not use
/// them.
pub(super) fn code_identifiers<'a>(
    cx: &PackageCx<'a>,
    file: FileId,
    span: ByteSpan,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let bytes = cx.file(file).bytes();
    let mut in_directive = false;
    let code = tokens_in(cx, file, span).filter(move |token| {
        if token.first_on_line {
            in_directive = &bytes[token.span.range()] == b"#";
        }
        !in_directive
    });
    words(bytes, code)
}

fn tokens_in<'a>(
    cx: &PackageCx<'a>,
    file: FileId,
    span: ByteSpan,
) -> impl Iterator<Item = &'a Token> + use<'a> {
    let tokens = &cx.program.index[file.index()].tokens;
    let from = tokens.partition_point(|token| token.span.start() < span.start());
    tokens[from..]
        .iter()
        .take_while(move |token| token.span.end() <= span.end())
}

fn words<'a>(
    bytes: &'a [u8],
    tokens: impl Iterator<Item = &'a Token>,
) -> impl Iterator<Item = &'a str> {
    tokens
        .filter(|token| token.kind == TokenKind::Ident)
        .filter_map(|token| std::str::from_utf8(&bytes[token.span.range()]).ok())
}

impl<'a> Lines<'a> {
    /// Learns the style around `place`.
    #[must_use]
    pub fn new(cx: &PackageCx<'a>, (file, place): (FileId, ByteSpan)) -> Self {
        let bytes = cx.file(file).bytes();
        let tokens = &cx.program.index[file.index()].tokens;
        let layout = cx.layout(file, place);
        Self {
            file,
            bytes,
            tokens,
            layout,
        }
    }

    /// The layout of the place.
    #[must_use]
    pub fn layout(&self) -> &Layout<'a> {
        &self.layout
    }

    /// The blanks that the line of `offset` begins with.
    #[must_use]
    pub fn indentation(&self, offset: ByteOffset) -> String {
        String::from_utf8_lossy(self.layout.indentation(offset)).into_owned()
    }

    /// One level more than `indentation`.
    #[must_use]
    pub fn deeper(&self, indentation: &str) -> String {
        let deeper = self.layout.step().deeper(indentation.as_bytes());
        String::from_utf8_lossy(&deeper).into_owned()
    }

    /// `head {`, `statement`, `}` as lines in the brace style of the place.
    #[must_use]
    pub fn block(&self, indentation: &str, head: &str, statement: &str) -> Vec<String> {
        let brace = match self.layout.braces() {
            BraceStyle::Indented => self.deeper(indentation),
            BraceStyle::SameLine | BraceStyle::NextLine => indentation.to_owned(),
        };
        let inner = format!("{}{statement}", self.deeper(&brace));
        let close = format!("{brace}}}");
        match self.layout.braces() {
            BraceStyle::SameLine => vec![format!("{indentation}{head} {{"), inner, close],
            BraceStyle::NextLine | BraceStyle::Indented => vec![
                format!("{indentation}{head}"),
                format!("{brace}{{"),
                inner,
                close,
            ],
        }
    }

    /// Inserts `lines` after the line on which the statement before `end` ends. What follows on
    /// that line moves to a line of its own.
    #[must_use]
    pub fn after(&self, end: ByteOffset, lines: &[String]) -> Edit {
        let mut at = self.index(end);
        let mut end = end;
        // The `;` behind a macro that already ends in one: `MOD_DEF(m, …);`.
        while let Some(token) = self.tokens.get(at)
            && !token.first_on_line
            && &self.bytes[token.span.range()] == b";"
        {
            end = token.span.end();
            at += 1;
        }
        match self.tokens.get(at) {
            Some(next) if !next.first_on_line => self.split(
                ByteSpan::new(end.0, next.span.start().0),
                lines,
                &self.indentation(end),
            ),
            _ => {
                let text = lines.join(self.layout.line_ending(end));
                self.layout
                    .insert_line_after(ByteOffset(end.0.saturating_sub(1)), &text)
            }
        }
    }

    /// Inserts `lines` before the token at `start`, above the comments that stand directly over
    /// it. If it is not the first of its line, it moves to its own, `indentation` deep.
    #[must_use]
    pub fn before(&self, start: ByteOffset, lines: &[String], indentation: &str) -> Edit {
        let at = self.index(start);
        let first = self.tokens.get(at).is_none_or(|token| token.first_on_line);
        let previous = at
            .checked_sub(1)
            .map_or(0, |at| self.tokens[at].span.end().0);
        if !first {
            return self.split(ByteSpan::new(previous, start.0), lines, indentation);
        }
        let text = lines.join(self.layout.line_ending(start));
        self.layout
            .insert_line_before(self.layout.above_comments(start), &text)
    }

    /// Puts `lines` between two tokens of one line.
    fn split(&self, gap: ByteSpan, lines: &[String], indentation: &str) -> Edit {
        let ending = self.layout.line_ending(gap.start());
        let text = format!("{ending}{}{ending}{indentation}", lines.join(ending));
        let blank = self.bytes[gap.range()].iter().all(u8::is_ascii_whitespace);
        let span = if blank {
            gap
        } else {
            ByteSpan::empty(gap.end())
        };
        Edit::new(self.file, span, text.into_bytes())
    }

    /// Index of the first token at `offset` or behind it.
    fn index(&self, offset: ByteOffset) -> usize {
        self.tokens
            .partition_point(|token| token.span.start() < offset)
    }
}
