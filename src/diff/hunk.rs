//! Hunks of a unified diff over bytes.

use std::ops::Range;

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// Bytes of the function head that are shown after `@@`; git's limit.
const MAX_HEAD: usize = 80;

/// Writes the hunks that lead from `old` to `new`.
pub(super) fn write(old: &[u8], new: &[u8], context: usize, out: &mut Vec<u8>) {
    let (old, new) = (lines(old), lines(new));
    for group in groups(&old, &new, context) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        let head = format!("@@ -{} +{} @@", range(&old_range), range(&new_range));
        out.extend(head.into_bytes());
        if let Some(function) = function_head(&old[..old_range.start]) {
            out.push(b' ');
            out.extend(function);
        }
        out.push(b'\n');
        for op in &group {
            write_op(op, &old, &new, out);
        }
    }
}

/// The steps from `old` to `new`, hunk by hunk.
pub(super) fn groups(old: &[&[u8]], new: &[&[u8]], context: usize) -> Vec<Vec<DiffOp>> {
    group_diff_ops(capture_diff_slices(Algorithm::Myers, old, new), context)
}

/// How many lines come, and how many go.
#[must_use]
pub fn counts(old: &[u8], new: &[u8]) -> (usize, usize) {
    let ops = capture_diff_slices(Algorithm::Myers, &lines(old), &lines(new));
    let changes = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    changes.fold((0, 0), |(added, gone), op| {
        (added + op.new_range().len(), gone + op.old_range().len())
    })
}

/// First and last line, from 1, of what is not the same in `new` as in `old`. Where lines are only
/// missing, the lines before and after the gap.
#[must_use]
pub fn changed_lines(old: &[u8], new: &[u8]) -> Vec<(u32, u32)> {
    let ops = capture_diff_slices(Algorithm::Myers, &lines(old), &lines(new));
    let number = |line: usize| u32::try_from(line).expect("files have fewer lines than bytes");
    ops.iter()
        .filter(|op| !matches!(op, DiffOp::Equal { .. }))
        .map(|op| match op.new_range() {
            gap if gap.is_empty() => (number(gap.start), number(gap.start + 1)),
            range => (number(range.start + 1), number(range.end)),
        })
        .collect()
}

fn write_op(op: &DiffOp, old: &[&[u8]], new: &[&[u8]], out: &mut Vec<u8>) {
    if matches!(op, DiffOp::Equal { .. }) {
        write_lines(b' ', &old[op.old_range()], out);
    } else {
        write_lines(b'-', &old[op.old_range()], out);
        write_lines(b'+', &new[op.new_range()], out);
    }
}

fn write_lines(sign: u8, lines: &[&[u8]], out: &mut Vec<u8>) {
    for line in lines {
        out.push(sign);
        out.extend(*line);
        if !line.ends_with(b"\n") {
            out.extend(b"\n\\ No newline at end of file\n");
        }
    }
}

/// Lines with their ends. Only `\n` ends a line: a lone `\r` is content, for git as for `patch`.
pub(super) fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n').collect()
}

/// `start,length` from 1; the length is left out if it is 1, and an empty range is named by the
/// line before it.
fn range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        length => format!("{},{length}", lines.start + 1),
    }
}

/// The last line that begins like a definition: what git shows after `@@` for any file.
fn function_head<'a>(before: &[&'a [u8]]) -> Option<&'a [u8]> {
    let begins_name = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
    let head = before
        .iter()
        .rev()
        .find(|line| line.first().is_some_and(begins_name))?;
    Some(head[..head.len().min(MAX_HEAD)].trim_ascii_end())
}

#[cfg(test)]
mod tests {
    use super::changed_lines;

    #[test]
    fn changed_lines_are_those_of_the_new_text() {
        assert_eq!(changed_lines(b"a\nb\nc\n", b"a\nB\nB\nc\n"), [(2, 3)]);
        assert_eq!(changed_lines(b"a\nb\nc\n", b"a\nc\n"), [(1, 2)]);
        assert_eq!(changed_lines(b"", b"a\nb"), [(1, 2)]);
        assert_eq!(changed_lines(b"a\n", b"a\n"), []);
    }
}
