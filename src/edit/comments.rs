//! Comments beside a statement: at the end of its line, and in the lines above it.

use super::layout::{Layout, to_offset};
use crate::source::{ByteOffset, ByteSpan};

impl Layout<'_> {
    /// The comment that alone fills the rest of the line behind `end`, with the blanks before it.
    #[must_use]
    pub fn comment_behind(&self, end: ByteOffset) -> Option<ByteSpan> {
        let rest = &self.bytes[end.index()..];
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        let line = line.trim_ascii_end();
        let comment = line.trim_ascii_start();
        let is_whole = match comment.strip_prefix(b"/*") {
            Some(text) => text
                .strip_suffix(b"*/")
                .is_some_and(|text| memchr::memmem::find(text, b"*/").is_none()),
            // A backslash takes the next line into the comment.
            None => comment.starts_with(b"//") && !comment.ends_with(b"\\"),
        };
        is_whole.then(|| ByteSpan::new(end.0, to_offset(end.index() + line.len()).0))
    }

    /// Whether a comment on the line behind `end` says that the next `case` is meant to follow:
    /// compilers want it to be the last before the label.
    #[must_use]
    pub(super) fn falls_through(&self, end: ByteOffset) -> bool {
        self.comment_behind(end).is_some_and(|comment| {
            let text = self.text_of(comment).to_ascii_lowercase();
            let has = |word: &[u8]| memchr::memmem::find(&text, word).is_some();
            has(b"fall") && has(b"thr")
        })
    }

    /// The same behind the last token on the line of the one that ends at `end`.
    #[must_use]
    pub fn comment_closing(&self, end: ByteOffset) -> Option<ByteSpan> {
        let next = self.index(end);
        let behind = self.tokens[next..].iter();
        let last = behind.take_while(|token| !token.first_on_line).last();
        self.comment_behind(last.map_or(end, |token| token.span.end()))
    }

    /// The lines of comment directly above `statement`, which begins its line: from the blanks of
    /// the first one up to the line of the statement. A blank line ends them.
    #[must_use]
    pub fn comment_above(&self, statement: ByteSpan) -> Option<ByteSpan> {
        let line = self.line_start(statement.start());
        let before = self.token_end_before(statement.start());
        if before > line {
            return None;
        }
        let comments = comments(self.text_of(ByteSpan::new(before.0, line.0)));
        let mut start = line;
        for (from, to) in comments.into_iter().rev() {
            let from = to_offset(before.index() + from);
            let to = to_offset(before.index() + to);
            let first = self.line_start(from);
            let lines = self.text_of(ByteSpan::new(to.0, start.0));
            let is_next = memchr::memchr_iter(b'\n', lines).count() == 1;
            // What stands on the line of the token before belongs to that.
            if !is_next || first < before {
                break;
            }
            start = first;
        }
        (start < line).then(|| ByteSpan::new(start.0, line.0))
    }

    /// The comments in `span`, from mark to mark.
    #[must_use]
    pub fn comments_in(&self, span: ByteSpan) -> Vec<ByteSpan> {
        let tokens = self.tokens[self.index(span.start())..].iter();
        let mut at = span.start();
        let mut found = Vec::new();
        for token in tokens.take_while(|token| span.contains(token.span)) {
            let gap = ByteSpan::new(at.0, token.span.start().0);
            let place = |offset: usize| to_offset(gap.start().index() + offset).0;
            let inside = comments(self.text_of(gap)).into_iter();
            found.extend(inside.map(|(from, to)| ByteSpan::new(place(from), place(to))));
            at = token.span.end();
        }
        found
    }

    /// The lines of a comment that has them for itself, with a blank one that would be too many.
    #[must_use]
    pub fn lines_of(&self, comment: ByteSpan) -> Option<ByteSpan> {
        let line = self.line_start(comment.start());
        let trailing = self.blanks_after(comment.end());
        let ends_line = matches!(self.bytes.get(trailing.index()), Some(b'\n' | b'\r'));
        let is_alone = self.blanks_before(comment.start()) == line && ends_line;
        let end = self.next_line(comment.end()).filter(|_| is_alone)?;
        Some(self.with_blank_line(ByteSpan::new(line.0, end.0)))
    }

    /// Whether `statement` is a paragraph of its own: behind its line is a blank one, or the block
    /// ends.
    #[must_use]
    pub fn ends_paragraph(&self, statement: ByteSpan) -> bool {
        let next = self.index(statement.end());
        self.text(next) == b"}" || self.is_blank_line_behind(statement.end())
    }
}

/// Where the comments of `gap`, text between two tokens, begin and end.
fn comments(gap: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(slash) = memchr::memchr(b'/', &gap[at..]) {
        let start = at + slash;
        let closing: &[u8] = match gap.get(start + 1) {
            Some(b'*') => b"*/",
            Some(b'/') => b"\n",
            _ => break,
        };
        let body = start + 2;
        let length = memchr::memmem::find(&gap[body..], closing);
        let is_spliced = |length| gap[..body + length].trim_ascii_end().ends_with(b"\\");
        let end = match length {
            Some(length) if closing == b"\n" && is_spliced(length) => break,
            Some(length) if closing == b"*/" => body + length + 2,
            Some(length) => body + length,
            None => gap.len(),
        };
        found.push((start, end));
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lex::lex;
    use crate::source::FileId;

    /// The comment above and the one behind `f();` in `text`.
    fn beside(text: &str) -> (Option<&str>, Option<&str>) {
        let tokens = lex(text.as_bytes());
        let layout = Layout::learn(FileId(0), text.as_bytes(), &tokens);
        let start = u32::try_from(text.find("f();").unwrap()).unwrap();
        let statement = ByteSpan::new(start, start + 4);
        let shown = |span: ByteSpan| &text[span.range()];
        (
            layout.comment_above(statement).map(shown),
            layout.comment_closing(statement.end()).map(shown),
        )
    }

    #[test]
    fn comments_above_end_at_a_blank_line_and_at_code() {
        let above = |text| beside(text).0;
        assert_eq!(above("{ /* a */\n  /* b */\n  f();"), Some("  /* b */\n"));
        assert_eq!(above("x;\n// a\n\n// b\n// c\nf();"), Some("// b\n// c\n"));
        assert_eq!(above("x;\n/* a\n\n b */\nf();"), Some("/* a\n\n b */\n"));
        assert_eq!(above("x;\n/* a */\n\nf();"), None);
        assert_eq!(above("x; /* a\n b */\nf();"), None);
        assert_eq!(above("x; /* a */ f();"), None);
        assert_eq!(above("/* a */ f();"), None);
        assert_eq!(above("x;\n// a \\\n  b\nf();"), None);
    }

    #[test]
    fn comments_behind_close_the_line() {
        let behind = |text| beside(text).1;
        assert_eq!(behind("f(); /* a */\n"), Some(" /* a */"));
        assert_eq!(behind("f(); if (x) y; // a"), Some(" // a"));
        assert_eq!(behind("f(); /* a */ g();\n/* b */"), None);
        assert_eq!(behind("f(); /* a\n b */"), None);
        assert_eq!(behind("f(); // a \\\n  b\n"), None);
    }
}
