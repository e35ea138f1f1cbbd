//! Statements behind labels: labels stand further to the left than what they label.
//!
//! ```c
//! done:f(x);            done:
//!                           Py_DECREF(v);
//!                           f(x);
//! ```

use super::Edit;
use super::layout::Layout;
use crate::lex::{Token, TokenKind};
use crate::source::{ByteOffset, ByteSpan};

impl Layout<'_> {
    /// `done: f();` turns into `done:`, the new lines, and `f();` on a line of its own.
    pub(super) fn behind_label(&self, statement: ByteSpan, lines: &[&str]) -> Edit {
        let ending = self.line_ending(statement.start()).as_bytes();
        let indentation = self.block_indentation(statement.start());
        let mut text = Vec::new();
        for line in lines {
            text.extend([ending, &self.step().line(&indentation, line)].concat());
        }
        text.extend([ending, &indentation].concat());
        let gap = ByteSpan::new(self.blanks_before(statement.start()).0, statement.start().0);
        self.edit(gap, text)
    }

    /// Indentation for a statement that follows the one at `start`. In `case 1: f();` the line is
    /// indented for the label, so it is one step deeper.
    pub(super) fn body_indentation(&self, start: ByteOffset) -> Vec<u8> {
        let index = self.index(start);
        let is_label = self.is_label(index);
        if is_label || self.label_before(start).is_some() {
            let body = self.tokens.get(index + 2).filter(|_| is_label);
            return match body {
                Some(body) if body.first_on_line => self.indentation(body.span.start()).to_vec(),
                _ => self.block_indentation(start),
            };
        }
        let line = self.indentation(start);
        let is_case = index > 0 && self.text(index - 1) == b":" && !self.begins_line(start);
        if is_case {
            self.step().deeper(line)
        } else {
            line.to_vec()
        }
    }

    /// Whether token `index` begins `done:` on a line.
    fn is_label(&self, index: usize) -> bool {
        let is_name = |token: &Token| token.kind == TokenKind::Ident && token.first_on_line;
        self.tokens.get(index).is_some_and(is_name)
            && self.text(index) != b"default"
            && self.text(index + 1) == b":"
    }

    /// The label that stands on the line of the statement at `start`, in front of it.
    pub(super) fn label_before(&self, start: ByteOffset) -> Option<usize> {
        let label = self.index(start).checked_sub(2)?;
        (self.is_label(label) && !self.begins_line(start)).then_some(label)
    }

    /// The indentation of the statements of the block around `start`: that of the last one before
    /// it which begins a line.
    fn block_indentation(&self, start: ByteOffset) -> Vec<u8> {
        let mut depth = 0;
        for index in (1..self.index(start)).rev() {
            match self.text(index) {
                b"}" => depth += 1,
                b"{" if depth > 0 => depth -= 1,
                b"{" => {
                    let brace = self.tokens[index].span.start();
                    return self.step().deeper(self.indentation(brace));
                }
                _ if depth == 0 && self.begins_statement(index) => {
                    return self.indentation(self.tokens[index].span.start()).to_vec();
                }
                _ => {}
            }
        }
        self.indentation(start).to_vec()
    }

    /// Whether token `index` begins a line and a statement of a block, without a label.
    fn begins_statement(&self, index: usize) -> bool {
        let is_next = matches!(self.text(index - 1), b"{" | b"}" | b";");
        let has_label = matches!(self.text(index), b"case" | b"default") || self.is_label(index);
        is_next && !has_label && self.tokens[index].first_on_line
    }
}
