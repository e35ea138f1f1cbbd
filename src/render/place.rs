//! First and last character of a place, as editors count them.

use crate::source::{ByteOffset, ByteSpan, SourceFile};

/// Lines and columns of a span, all from 1; columns in characters, the end one past the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) end_line: u32,
    pub(super) end_column: u32,
}

impl Region {
    pub(super) fn new(file: &SourceFile, span: ByteSpan) -> Self {
        let (line, column) = place(file, span.start());
        let (end_line, end_column) = place(file, span.end());
        Self {
            line,
            column,
            end_line,
            end_column,
        }
    }
}

/// A byte that is no UTF-8 counts as a character.
fn place(file: &SourceFile, offset: ByteOffset) -> (u32, u32) {
    let line = file.position(offset).line;
    let start = file.lines().span(line).start();
    let before = file.text(ByteSpan::new(start.0, offset.0)).chars().count();
    let column = u32::try_from(before).expect("a line is part of a file");
    (line.0, column + 1)
}
