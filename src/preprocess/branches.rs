//! Where the branches of a file's `#if`s stand.

use super::directive::{Branch, BranchKind, Segment};
use super::index::FileIndex;
use crate::source::{ByteOffset, ByteSpan};

/// An `#if` up to its `#endif`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conditional {
    /// From each directive to the next.
    pub branches: Vec<ByteSpan>,
    /// Whether one of them is compiled in any case.
    pub has_else: bool,
    /// Where its `#endif` begins.
    pub endif: ByteOffset,
}

impl FileIndex {
    /// The innermost branch around what stands at `at`, by the index of its segment.
    #[must_use]
    pub fn branch_at(&self, at: ByteOffset) -> Option<u32> {
        self.branches_at(at).pop()
    }

    /// The branches around what stands at `at`, outermost first, by the indices of their segments.
    #[must_use]
    pub fn branches_at(&self, at: ByteOffset) -> Vec<u32> {
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
        open
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

    /// The conditional of which a branch ends at `at`, with nothing but blanks and comments between
    /// that and the next directive. `None` for one without `#else`.
    #[must_use]
    pub fn conditional_ending_at(&self, at: ByteOffset) -> Option<Conditional> {
        let behind = self.tokens.partition_point(|token| token.span.start() < at);
        let next = self.tokens.get(behind)?.span.start();
        let ends = |it: &Conditional| it.branches.iter().any(|branch| branch.end() == next);
        self.conditionals()
            .into_iter()
            .find(|it| it.has_else && ends(it))
    }

    /// All conditionals of the file, inner ones before those around them.
    #[must_use]
    pub fn conditionals(&self) -> Vec<Conditional> {
        let mut open: Vec<Vec<&Branch>> = Vec::new();
        let mut found = Vec::new();
        for segment in &self.segments {
            let Segment::Branch(branch) = segment else {
                continue;
            };
            if matches!(branch.kind, BranchKind::If(_) | BranchKind::IfDefined(..)) {
                open.push(Vec::new());
            }
            if let Some(directives) = open.last_mut() {
                directives.push(branch);
            }
            if branch.kind == BranchKind::Endif
                && let Some(directives) = open.pop()
            {
                let branches = directives.windows(2);
                let branches = branches.map(|it| ByteSpan::new(it[0].at.0, it[1].at.0));
                found.push(Conditional {
                    branches: branches.collect(),
                    has_else: directives.iter().any(|it| it.kind == BranchKind::Else),
                    endif: branch.at,
                });
            }
        }
        found
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
