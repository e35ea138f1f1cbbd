//! Byte offsets to lines and columns.

use super::{ByteOffset, ByteSpan};

/// A line number, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineNumber(pub u32);

/// A place for people: line and column, both from 1, the column in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: LineNumber,
    /// Column in bytes, from 1.
    pub column: u32,
}

/// Where each line of a file begins. A line ends after `\n`; a lone `\r` ends none.
#[derive(Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
    len: u32,
}

impl LineIndex {
    /// Finds the lines of `bytes`.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', bytes).map(|at| to_u32(at + 1)));
        Self {
            starts,
            len: to_u32(bytes.len()),
        }
    }

    /// Line and column of `offset`.
    #[must_use]
    pub fn position(&self, offset: ByteOffset) -> Position {
        let line = self.starts.partition_point(|&start| start <= offset.0);
        let column = offset.0 - self.starts[line - 1] + 1;
        Position {
            line: LineNumber(to_u32(line)),
            column,
        }
    }

    /// Bytes of `line` with its line end; empty past the last line.
    #[must_use]
    pub fn span(&self, line: LineNumber) -> ByteSpan {
        let index = line.0 as usize;
        let start = self.starts.get(index - 1).copied().unwrap_or(self.len);
        let end = self.starts.get(index).copied().unwrap_or(self.len);
        ByteSpan::new(start, end)
    }

    /// The whole lines that `span` touches.
    #[must_use]
    pub fn whole_lines(&self, span: ByteSpan) -> ByteSpan {
        let first = self.span(self.position(span.start()).line);
        let last = self.span(self.position(span.end()).line);
        first.join(last)
    }

    /// Number of lines; a final line without `\n` counts.
    #[must_use]
    pub fn count(&self) -> usize {
        let empty_tail = self.starts.last() == Some(&self.len) && self.starts.len() > 1;
        self.starts.len() - usize::from(empty_tail)
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).expect("files are at most MAX_FILE_BYTES long")
}

#[cfg(test)]
mod tests {
    use super::{LineIndex, LineNumber};
    use crate::source::{ByteOffset, ByteSpan};

    #[test]
    fn offsets_map_to_lines_and_columns() {
        let lines = LineIndex::new(b"ab\r\n\ncd");
        assert_eq!(lines.position(ByteOffset(0)).column, 1);
        assert_eq!(lines.position(ByteOffset(3)).line, LineNumber(1));
        assert_eq!(lines.position(ByteOffset(4)).line, LineNumber(2));
        assert_eq!(lines.position(ByteOffset(6)).column, 2);
        assert_eq!(lines.span(LineNumber(3)), ByteSpan::new(5, 7));
        assert_eq!(lines.count(), 3);
    }
}
