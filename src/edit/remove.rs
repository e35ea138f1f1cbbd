//! Statements that go, with their lines.

use super::Edit;
use super::layout::{Layout, to_offset};
use crate::source::{ByteOffset, ByteSpan};

impl Layout<'_> {
    /// Takes `statement` out, and its line if nothing else stands there. Comments on the line
    /// stay. Where C needs a statement, a `;` stays. Blanks at the ends of the span do not matter.
    #[must_use]
    pub fn remove(&self, statement: ByteSpan) -> Edit {
        let statement = self.without_blanks(statement);
        let first = self.index(statement.start());
        let next = self.index(statement.end());
        let labelled = first > 0 && self.text(first - 1) == b":" && self.text(next) == b"}";
        if labelled || self.braceless_head(statement).is_some() {
            return self.edit(statement, ";");
        }
        let line = self.line_start(statement.start());
        let leading = self.blanks_before(statement.start());
        let trailing = self.blanks_after(statement.end());
        let ends_line = matches!(self.bytes.get(trailing.index()), None | Some(b'\n' | b'\r'));
        let span = match (leading == line, ends_line) {
            (true, true) => {
                let end = self.next_line(statement.end()).unwrap_or(trailing);
                self.with_blank_line(ByteSpan::new(line.0, end.0))
            }
            (false, true) => ByteSpan::new(leading.0, statement.end().0),
            (_, false) => ByteSpan::new(statement.start().0, trailing.0),
        };
        self.edit(span, "")
    }

    /// The edits that move the lines of `region` out of a block: those that are indented as the line
    /// of `inner` is, or more, come out as far left as the line of `outer`.
    #[must_use]
    pub fn moved_out(&self, region: ByteSpan, inner: ByteOffset, outer: ByteOffset) -> Vec<Edit> {
        let (old, new) = (self.indentation(inner), self.indentation(outer));
        let lines = self.text_lines(region).into_iter();
        let deeper = lines.filter(|&at| self.indentation(at).starts_with(old));
        let edits = deeper.map(|at| {
            let start = self.line_start(at);
            let end = start.index() + old.len();
            self.edit(ByteSpan::new(start.0, to_offset(end).0), new.to_vec())
        });
        edits.collect()
    }

    /// Whole `lines` that are to go, with a blank line beside them where there would be two, or one
    /// behind `{` or in front of `}`.
    pub(super) fn with_blank_line(&self, lines: ByteSpan) -> ByteSpan {
        let (start, end) = (lines.start(), lines.end());
        let (first, next) = (self.index(start), self.index(end));
        let above = self.blank_line_above(start);
        let closing = self
            .tokens
            .get(next)
            .map_or(end, |token| token.span.start());
        let closes = self.text(next) == b"}" && self.is_blank(end, closing);
        if closes && let Some(above) = above {
            return ByteSpan::new(above.0, end.0);
        }
        let opens = first > 0
            && self.text(first - 1) == b"{"
            && self.is_blank(self.tokens[first - 1].span.end(), start);
        match self.blank_line_at(end).filter(|_| opens || above.is_some()) {
            Some(behind) => ByteSpan::new(start.0, behind.0),
            None => lines,
        }
    }

    fn without_blanks(&self, span: ByteSpan) -> ByteSpan {
        let text = &self.bytes[span.start().index()..span.end().index()];
        let start = span.start().index() + (text.len() - text.trim_ascii_start().len());
        let end = span.end().index() - (text.len() - text.trim_ascii_end().len());
        ByteSpan::new(to_offset(start).0, to_offset(end.max(start)).0)
    }

    fn is_blank(&self, from: ByteOffset, to: ByteOffset) -> bool {
        self.bytes[from.index()..to.index()].trim_ascii().is_empty()
    }

    /// Where the line behind `line` begins, if `line` is blank.
    fn blank_line_at(&self, line: ByteOffset) -> Option<ByteOffset> {
        let text = &self.bytes[line.index()..];
        let length = memchr::memchr(b'\n', text)?;
        let is_blank = text[..length].iter().all(u8::is_ascii_whitespace);
        is_blank.then(|| to_offset(line.index() + length + 1))
    }

    /// Whether the line behind that of `offset` is blank.
    #[must_use]
    pub fn is_blank_line_behind(&self, offset: ByteOffset) -> bool {
        let next = self.next_line(offset);
        next.is_some_and(|next| self.blank_line_at(next).is_some())
    }

    /// Where the line above `line` begins, if it is blank.
    fn blank_line_above(&self, line: ByteOffset) -> Option<ByteOffset> {
        let above = self.line_start(ByteOffset(line.0.checked_sub(1)?));
        (self.blank_line_at(above) == Some(line)).then_some(above)
    }
}
