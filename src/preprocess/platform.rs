//! What the directives of a file say of the systems that it is compiled on.

use std::ops::Range;

use super::condition::{self, Cond};
use super::directive::{BranchKind, Segment};
use super::include::operand_name;
use super::index::FileIndex;
use crate::source::{ByteOffset, SourceFile};

impl FileIndex {
    /// Whether what stands at `at` is compiled only where a name is defined that `tells`.
    pub fn is_only_with(
        &self,
        file: &SourceFile,
        at: ByteOffset,
        tells: impl Fn(&str) -> bool,
    ) -> bool {
        let around = self.branches_at(at);
        around.into_iter().any(|at| match self.kind(at) {
            // `#ifndef _WIN32 … #else`
            Some(BranchKind::Else) => {
                let first = self.before(at).and_then(|it| self.kind(it));
                first.is_some_and(|kind| match kind {
                    BranchKind::IfDefined(name, false) => tells(&file.text(*name)),
                    BranchKind::If(range) => match self.condition(file, range) {
                        Cond::Not(inner) => is_told(&inner, &tells),
                        _ => false,
                    },
                    _ => false,
                })
            }
            Some(BranchKind::IfDefined(name, true) | BranchKind::ElifDefined(name, true)) => {
                tells(&file.text(*name))
            }
            Some(BranchKind::If(range) | BranchKind::Elif(range)) => {
                needs(&self.condition(file, range), &tells)
            }
            _ => false,
        })
    }

    fn kind(&self, at: u32) -> Option<&BranchKind> {
        match self.segments.get(at as usize)? {
            Segment::Branch(branch) => Some(&branch.kind),
            _ => None,
        }
    }

    fn condition(&self, file: &SourceFile, range: &Range<u32>) -> Cond {
        let tokens = &self.tokens[range.start as usize..range.end as usize];
        let words: Vec<&[u8]> = tokens.iter().map(|it| file.slice(it.span)).collect();
        condition::parse(&condition::tokens(&words, condition::unknown))
    }

    /// The branch of which `at` is the next one.
    fn before(&self, at: u32) -> Option<u32> {
        let leads = |segment: &Segment| match segment {
            Segment::Branch(it) => it.next == at && it.kind != BranchKind::Endif,
            _ => false,
        };
        let mut all = (0u32..).zip(&self.segments);
        all.find_map(|(number, segment)| leads(segment).then_some(number))
    }

    /// The operands of all `#include`s, without quotes, and where they stand.
    #[must_use]
    pub fn included(&self, file: &SourceFile) -> Vec<(String, ByteOffset)> {
        let operands = self.segments.iter().filter_map(|segment| match segment {
            Segment::Include(range) => {
                let operand = &self.tokens[range.start as usize..range.end as usize];
                let (name, _) = operand_name(file.bytes(), operand)?;
                Some((name, operand.first()?.span.start()))
            }
            _ => None,
        });
        operands.collect()
    }
}

/// Whether a condition holds only where a name is defined that `tells`.
fn needs(cond: &Cond, tells: &dyn Fn(&str) -> bool) -> bool {
    match cond {
        Cond::Binary("&&", left, right) => needs(left, tells) || needs(right, tells),
        Cond::Binary("||", left, right) => needs(left, tells) && needs(right, tells),
        _ => is_told(cond, tells),
    }
}

/// Whether a condition asks for one name that `tells`: `defined(_WIN32)`, `_WIN32`,
/// `_MSC_VER >= 1900`.
fn is_told(cond: &Cond, tells: &dyn Fn(&str) -> bool) -> bool {
    match cond {
        Cond::Defined(name) | Cond::Name(name) => tells(name),
        Cond::Binary(">" | ">=", left, _) => is_told(left, tells),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::preprocess::FileIndex;
    use crate::source::{ByteOffset, FileId, SourceFile};

    fn is_windows_only(text: &str) -> bool {
        let file = SourceFile::new("m.c".into(), text.as_bytes().to_vec());
        let index = FileIndex::new(FileId(0), &file);
        let at = text.find("here").and_then(|at| u32::try_from(at).ok());
        index.is_only_with(&file, ByteOffset(at.unwrap()), |name| name == "_WIN32")
    }

    #[test]
    fn branches_for_one_system_are_told_from_others() {
        for text in [
            "#ifdef _WIN32\nhere\n#endif",
            "#if defined(_WIN32) && defined(X)\nhere\n#endif",
            "#ifndef _WIN32\n#else\nhere\n#endif",
            "#if !defined(_WIN32)\n#else\nhere\n#endif",
            "#ifdef X\n#elif defined(_WIN32)\n#if Y\nhere\n#endif\n#endif",
        ] {
            assert!(is_windows_only(text), "{text}");
        }
        for text in [
            "here",
            "#ifdef _WIN32\n#endif\nhere",
            "#ifdef _WIN32\n#else\nhere\n#endif",
            "#ifndef _WIN32\nhere\n#endif",
            "#if defined(_WIN32) || defined(X)\nhere\n#endif",
        ] {
            assert!(!is_windows_only(text), "{text}");
        }
    }
}
