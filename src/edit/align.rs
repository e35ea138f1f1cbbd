//! Lines that are aligned to an opening parenthesis, which an edit moves.
//!
//! ```c
//! return make(self,             result = make(self,
//!             args);                          args);
//! ```

use super::Edit;
use super::layout::{Layout, TAB, width};
use crate::source::{ByteOffset, ByteSpan};

/// A parenthesis that is open where a line begins.
struct Open {
    /// The column behind it; `None` if it is part of text that is replaced.
    column: Option<usize>,
    /// How far it moves to the right.
    moved: isize,
}

impl Layout<'_> {
    /// What moves the lines that are aligned to parentheses which `edits` move. `edits` are sorted,
    /// and all of them are of this file.
    #[must_use]
    pub fn realign(&self, edits: &[Edit]) -> Vec<Edit> {
        let mut new = Vec::new();
        let mut seen = ByteOffset(0);
        for edit in edits {
            let line = self.line_start(edit.span.start());
            if line >= seen {
                seen = self.realign_from(line, edits, &mut new);
            }
        }
        new
    }

    /// Goes through the lines from `line` on as long as parentheses stay open. Gives the first line
    /// behind them.
    fn realign_from(&self, line: ByteOffset, edits: &[Edit], new: &mut Vec<Edit>) -> ByteOffset {
        let mut open: Vec<Open> = Vec::new();
        let mut moved = 0;
        let first = self.index(line);
        for index in first..self.tokens.len() {
            let token = self.tokens[index];
            let start = token.span.start();
            if token.first_on_line && index > first {
                let Some(top) = open.last().filter(|_| self.text(index) != b"#") else {
                    return self.line_start(start);
                };
                moved = 0;
                if let Some((edit, by)) = self.follow_paren(start, top, edits) {
                    moved = by;
                    new.push(edit);
                }
            }
            match self.text(index) {
                b"(" => {
                    let is_replaced = edits.iter().any(|edit| edit.span.contains(token.span));
                    open.push(Open {
                        column: (!is_replaced).then(|| self.column(token.span.end())),
                        moved: self.moved_by(edits, start, moved),
                    });
                }
                b")" => {
                    open.pop();
                }
                _ => {}
            }
        }
        ByteOffset(u32::MAX)
    }

    /// The new indentation of the line that begins with the token at `start`, and how far that
    /// moves it, if it is aligned to `open` and no edit changes it. What an edit puts in front of
    /// the token moves it, too.
    fn follow_paren(
        &self,
        start: ByteOffset,
        open: &Open,
        edits: &[Edit],
    ) -> Option<(Edit, isize)> {
        let span = ByteSpan::new(self.line_start(start).0, start.0);
        let blanks = self.text_of(span);
        let is_touched = |edit: &Edit| {
            let (from, to) = (edit.span.start(), edit.span.end());
            from < span.end() && span.start() <= to
        };
        let is_blank = |text: &[u8]| text.iter().all(|byte| matches!(byte, b' ' | b'\t'));
        if !is_blank(blanks) || Some(width(blanks)) != open.column || edits.iter().any(is_touched) {
            return None;
        }
        let is_inserted =
            |edit: &&Edit| edit.span == ByteSpan::empty(start) && is_blank(&edit.text);
        let inserted = edits.iter().filter(is_inserted);
        let inserted: usize = inserted.map(|edit| width(&edit.text)).sum();
        let moved = open.moved - inserted.cast_signed();
        let edit = Edit::new(self.file, span, indented(blanks, moved));
        (moved != 0).then_some((edit, moved))
    }

    /// How far `edits` move the token at `start` to the right, whose line moves by `line`.
    fn moved_by(&self, edits: &[Edit], start: ByteOffset, line: isize) -> isize {
        let line_start = self.line_start(start);
        let near = edits
            .iter()
            .filter(|edit| line_start < edit.span.end() && edit.span.end() <= start);
        let mut at = near
            .clone()
            .map(|edit| edit.span.start())
            .fold(line_start, ByteOffset::min);
        at = self.line_start(at);
        let mut text = Vec::new();
        // One that contradicts those before it is turned down later.
        for edit in near {
            if edit.span.start() < at {
                continue;
            }
            text.extend(self.text_of(ByteSpan::new(at.0, edit.span.start().0)));
            text.extend(&edit.text);
            at = edit.span.end();
        }
        text.extend(self.text_of(ByteSpan::new(at.0, start.0)));
        let own_line = memchr::memrchr(b'\n', &text);
        let column = width(&text[own_line.map_or(0, |newline| newline + 1)..]);
        let line = if own_line.is_none() { line } else { 0 };
        column.cast_signed() - self.column(start).cast_signed() + line
    }

    /// The column of `offset`.
    #[must_use]
    pub fn column(&self, offset: ByteOffset) -> usize {
        let line = self.line_start(offset);
        width(self.text_of(ByteSpan::new(line.0, offset.0)))
    }

    /// `text`, which begins with the parenthesis at `offset`, for another `column`: its other lines
    /// move along if the first one has something that they are aligned to.
    #[must_use]
    pub fn moved_to(&self, column: usize, offset: ByteOffset, text: &str) -> String {
        let old = self.column(offset);
        let moved = column.cast_signed() - old.cast_signed();
        let Some((first, rest)) = text.split_once('\n') else {
            return text.to_owned();
        };
        if moved == 0 || first.trim_end().ends_with('(') {
            return text.to_owned();
        }
        let lines = rest.split('\n').map(|line| {
            let length = line.len() - line.trim_start_matches([' ', '\t']).len();
            let (blanks, rest) = line.split_at(length);
            if width(blanks.as_bytes()) <= old {
                return line.to_owned();
            }
            let blanks = indented(blanks.as_bytes(), moved);
            format!("{}{rest}", String::from_utf8_lossy(&blanks))
        });
        let lines: Vec<String> = lines.collect();
        format!("{first}\n{}", lines.join("\n"))
    }
}

/// The indentation `moved` columns further to the right than `blanks`, in the same style.
fn indented(blanks: &[u8], moved: isize) -> Vec<u8> {
    let columns = width(blanks).saturating_add_signed(moved);
    let spaces = blanks
        .iter()
        .rev()
        .take_while(|byte| **byte == b' ')
        .count();
    let tabs = blanks.len() - spaces;
    // Tabs for the nesting and blanks for the rest, or tabs as far as they go.
    let new_spaces = spaces.checked_add_signed(moved);
    match new_spaces.filter(|&new| tabs == 0 || spaces >= TAB || new < TAB) {
        Some(new) => [&blanks[..tabs], &vec![b' '; new]].concat(),
        None if tabs == 0 => vec![b' '; columns],
        None => [vec![b'\t'; columns / TAB], vec![b' '; columns % TAB]].concat(),
    }
}
