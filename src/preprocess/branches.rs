//! Where the branches of a file's `#if`s stand.

use super::directive::{BranchKind, Segment};
use super::index::FileIndex;
use crate::source::{ByteOffset, ByteSpan};

impl FileIndex {
    /// The innermost branch around what stands at `at`, by the index of its segment.
    #[must_use]
    pub fn branch_at(&self, at: ByteOffset) -> Option<u32> {
        let mut open = Vec::new();
        for (segment, found) in (0u32..).zip(&self.segments) {
            let Segment::Branch(branch) = found else {
                continue;
            };
            if branch.at > at {
                break;
            }
            if !matches!(branch.kind, BranchKind::If(_) | BranchKind::IfDefined(..)) {
                open.pop();
            }
            if branch.kind != BranchKind::Endif {
                open.push(segment);
            }
        }
        open.pop()
    }

    /// The text without directives in which new text at `at` stands: that of the token in front of
    /// it, or behind it if a directive is in front of it. `None` between two directives.
    #[must_use]
    pub fn stretch_at(&self, at: ByteOffset) -> Option<ByteSpan> {
        let behind = self.tokens.partition_point(|token| token.span.start() < at);
        let stretch = |token: usize| {
            self.segments.iter().find_map(|segment| match segment {
                Segment::Text(range)
                    if (range.start as usize..range.end as usize).contains(&token) =>
                {
                    let first = self.tokens[range.start as usize].span;
                    Some(first.join(self.tokens[range.end as usize - 1].span))
                }
                _ => None,
            })
        };
        behind
            .checked_sub(1)
            .and_then(stretch)
            .or_else(|| stretch(behind))
    }

    /// Where the directive that opens a branch begins.
    #[must_use]
    pub fn branch_offset(&self, segment: u32) -> ByteOffset {
        match self.segments.get(segment as usize) {
            Some(Segment::Branch(branch)) => branch.at,
            _ => ByteOffset(0),
        }
    }
}
