//! Original bytes and edits to new bytes, and the way between their offsets.

use super::Edit;
use crate::source::ByteOffset;

/// The text after the edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The new bytes.
    pub bytes: Vec<u8>,
    /// Which byte went where.
    pub map: OffsetMap,
}

/// Offsets of the original text to offsets of the new text and back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetMap {
    /// Runs of kept bytes by original start; the last one is empty and stands for the end.
    kept: Vec<Kept>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Kept {
    original: u32,
    new: u32,
    len: u32,
}

/// Applies the edits of one file.
///
/// # Panics
/// If the edits are not sorted, overlap, or leave the file; an [`EditSet`](super::EditSet) over
/// this file gives none of these.
#[must_use]
pub fn apply<'a>(original: &[u8], edits: impl IntoIterator<Item = &'a Edit>) -> Applied {
    let mut bytes = Vec::with_capacity(original.len());
    let mut kept = Vec::new();
    let mut at = 0;
    for edit in edits {
        keep(original, at..edit.span.range().start, &mut bytes, &mut kept);
        bytes.extend_from_slice(&edit.text);
        at = edit.span.range().end;
    }
    keep(original, at..original.len(), &mut bytes, &mut kept);
    kept.push(Kept {
        original: to_u32(original.len()),
        new: to_u32(bytes.len()),
        len: 0,
    });
    Applied {
        bytes,
        map: OffsetMap { kept },
    }
}

fn keep(original: &[u8], range: std::ops::Range<usize>, bytes: &mut Vec<u8>, kept: &mut Vec<Kept>) {
    if range.is_empty() {
        assert!(range.start == range.end, "edits are sorted and disjoint");
        return;
    }
    kept.push(Kept {
        original: to_u32(range.start),
        new: to_u32(bytes.len()),
        len: to_u32(range.len()),
    });
    bytes.extend_from_slice(&original[range]);
}

impl OffsetMap {
    /// Where the byte at `offset` of the original went; `None` if an edit removed it. The end of
    /// the original is the end of the new text.
    #[must_use]
    pub fn to_new(&self, offset: ByteOffset) -> Option<ByteOffset> {
        let index = self
            .kept
            .partition_point(|kept| kept.original <= offset.0)
            .checked_sub(1)?;
        let kept = &self.kept[index];
        inside(offset.0 - kept.original, kept)
            .then(|| ByteOffset(kept.new + offset.0 - kept.original))
    }

    /// Where the byte at `offset` of the new text came from; `None` if an edit brought it.
    #[must_use]
    pub fn to_original(&self, offset: ByteOffset) -> Option<ByteOffset> {
        let index = self
            .kept
            .partition_point(|kept| kept.new <= offset.0)
            .checked_sub(1)?;
        let kept = &self.kept[index];
        inside(offset.0 - kept.new, kept).then(|| ByteOffset(kept.original + offset.0 - kept.new))
    }
}

fn inside(distance: u32, kept: &Kept) -> bool {
    distance < kept.len || (kept.len == 0 && distance == 0)
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).expect("files are at most MAX_FILE_BYTES long, edits short")
}

#[cfg(test)]
mod tests {
    use super::apply;
    use crate::edit::{EditSet, Fix, FixId};
    use crate::source::{ByteOffset, ByteSpan, FileId};

    fn applied(edits: &[(u32, u32, &[u8])], original: &[u8]) -> super::Applied {
        let mut fix = Fix::safe("test");
        for &(start, end, text) in edits {
            fix.replace(FileId(0), ByteSpan::new(start, end), text);
        }
        let mut set = EditSet::default();
        set.add(FixId(0), &fix).unwrap();
        apply(original, set.edits(FileId(0)))
    }

    #[test]
    fn foreign_bytes_outside_edits_stay() {
        let result = applied(&[(2, 3, b"xy")], b"\xff\r\n\x00\xe9");
        assert_eq!(result.bytes, b"\xff\rxy\x00\xe9");
    }

    #[test]
    fn offsets_map_both_ways() {
        // abcdef -> ab++ef
        let map = applied(&[(2, 4, b"++")], b"abcdef").map;
        let to_new = |at| map.to_new(ByteOffset(at)).map(|offset| offset.0);
        let to_original = |at| map.to_original(ByteOffset(at)).map(|offset| offset.0);
        assert_eq!(
            [1, 2, 3, 4, 6].map(to_new),
            [Some(1), None, None, Some(4), Some(6)]
        );
        assert_eq!(
            [1, 2, 3, 4, 6].map(to_original),
            [Some(1), None, None, Some(4), Some(6)]
        );
    }

    #[test]
    fn an_insertion_moves_the_byte_behind_it() {
        let map = applied(&[(0, 0, b"++"), (3, 3, b"!")], b"abc").map;
        assert_eq!(map.to_new(ByteOffset(0)), Some(ByteOffset(2)));
        assert_eq!(map.to_new(ByteOffset(3)), Some(ByteOffset(6)));
        assert_eq!(map.to_original(ByteOffset(0)), None);
        assert_eq!(map.to_original(ByteOffset(5)), None);
        assert_eq!(map.to_original(ByteOffset(9)), None);
    }

    #[test]
    fn no_edit_gives_the_same_bytes() {
        assert_eq!(applied(&[], b"").bytes, b"");
        assert_eq!(
            applied(&[], b"x").map.to_new(ByteOffset(1)),
            Some(ByteOffset(1))
        );
    }
}
