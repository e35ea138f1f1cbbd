//! What leads from one text to another, as edits.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::Edit;
use crate::lex::lex;
use crate::source::{ByteSpan, FileId};

/// Edits that make `new` of `old`, the text of `file`: tokens of lines that differ.
///
/// Tokens, because what a line keeps was not brought in by the change: of `x = f(y)` that becomes
/// `x = g(y)` only `g` is new.
#[must_use]
pub fn difference(file: FileId, old: &[u8], new: &[u8]) -> Vec<Edit> {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let mut edits = Vec::new();
    for (from, to) in changes(old, &old_lines, new, &new_lines) {
        let (before, after) = (&old[from.clone()], &new[to]);
        for (range, text) in changes(before, &words(before), after, &words(after)) {
            let span = from.start + range.start..from.start + range.end;
            edits.push(Edit::new(
                file,
                ByteSpan::new(to_u32(span.start), to_u32(span.end)),
                after[text].to_vec(),
            ));
        }
    }
    edits
}

/// Ranges of bytes that differ, of a text in `old_parts` and one in `new_parts`.
fn changes(
    old: &[u8],
    old_parts: &[Range<usize>],
    new: &[u8],
    new_parts: &[Range<usize>],
) -> Vec<(Range<usize>, Range<usize>)> {
    let slices = |text, parts: &[Range<usize>]| -> Vec<_> {
        let text: &[u8] = text;
        parts.iter().map(|part| &text[part.clone()]).collect()
    };
    let (old_slices, new_slices) = (slices(old, old_parts), slices(new, new_parts));
    let bytes = |parts: &[Range<usize>], range: Range<usize>, text: &[u8]| {
        let start = |at: usize| parts.get(at).map_or(text.len(), |part| part.start);
        start(range.start)..start(range.end)
    };
    capture_diff_slices(Algorithm::Myers, &old_slices, &new_slices)
        .iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| {
            (
                bytes(old_parts, op.old_range(), old),
                bytes(new_parts, op.new_range(), new),
            )
        })
        .collect()
}

fn lines(text: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    text.split_inclusive(|&byte| byte == b'\n')
        .map(|line| {
            let range = start..start + line.len();
            start = range.end;
            range
        })
        .collect()
}

/// Tokens and what stands between them: together all of `text`.
fn words(text: &[u8]) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut end = 0;
    for token in lex(text) {
        let range = token.span.range();
        if end < range.start {
            words.push(end..range.start);
        }
        end = range.end;
        words.push(range);
    }
    if end < text.len() {
        words.push(end..text.len());
    }
    words
}

fn to_u32(at: usize) -> u32 {
    u32::try_from(at).expect("files are at most MAX_FILE_BYTES long")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::difference;
    use crate::edit::apply;
    use crate::source::FileId;

    /// Changed pieces as `old>new`.
    fn pieces(old: &str, new: &str) -> Vec<String> {
        let piece = |edit: &crate::edit::Edit| {
            let text = String::from_utf8(edit.text.clone()).unwrap();
            format!("{}>{text}", &old[edit.span.range()])
        };
        let edits = difference(FileId(0), old.as_bytes(), new.as_bytes());
        edits.iter().map(piece).collect()
    }

    #[test]
    fn only_tokens_that_differ_are_new() {
        assert_eq!(
            pieces("a();\nx = f(y); /* é */\n", "a();\nx = g(y); /* é */\n"),
            ["f>g"]
        );
        assert_eq!(
            pieces("a();\nb();\n", "a();\nPy_DECREF(x);\nb();\n"),
            [">Py_DECREF(x);\n"]
        );
        assert_eq!(pieces("a();", "a();"), [""; 0]);
        assert_eq!(pieces("", "a"), [">a"]);
    }

    proptest! {
        #[test]
        fn edits_lead_to_the_new_text(old in "[ab;\\n\" /*]{0,40}", new in "[ab;\\n\" /*]{0,40}") {
            let edits = difference(FileId(0), old.as_bytes(), new.as_bytes());
            prop_assert_eq!(apply(old.as_bytes(), &edits).bytes, new.as_bytes());
        }
    }
}
