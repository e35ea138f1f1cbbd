//! Offsets and half-open spans in the bytes of one file.

use std::fmt;
use std::ops::Range;

/// A byte offset into one file, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteOffset(pub u32);

impl ByteOffset {
    /// The offset as an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A half-open range of bytes in one file; `start <= end` by construction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteSpan {
    start: u32,
    end: u32,
}

impl ByteSpan {
    /// The span from `start` to `end`.
    ///
    /// # Panics
    /// If `start > end`.
    #[must_use]
    pub fn new(start: u32, end: u32) -> Self {
        assert!(start <= end, "span {start}..{end} runs backwards");
        Self { start, end }
    }

    /// The empty span at `offset`.
    #[must_use]
    pub fn empty(offset: ByteOffset) -> Self {
        Self {
            start: offset.0,
            end: offset.0,
        }
    }

    /// First byte of the span.
    #[must_use]
    pub fn start(self) -> ByteOffset {
        ByteOffset(self.start)
    }

    /// First byte after the span.
    #[must_use]
    pub fn end(self) -> ByteOffset {
        ByteOffset(self.end)
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether the span holds no byte.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The span as a range for slicing.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Whether `other` lies inside this span.
    #[must_use]
    pub fn contains(self, other: ByteSpan) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The smallest span that covers both.
    #[must_use]
    pub fn join(self, other: ByteSpan) -> Self {
        Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }
}

impl fmt::Debug for ByteSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}
