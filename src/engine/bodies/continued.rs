//! New lines of a `#define`: each ends in a backslash, in the column of the others.

use super::BodyEdits;
use crate::edit::{Edit, apply, difference};
use crate::preprocess::MacroDef;

/// The edits of the body of `def`, whose file has `bytes`.
pub(super) fn edits(def: &MacroDef, bytes: &[u8], body: &BodyEdits) -> Vec<Edit> {
    let edits: Vec<Edit> = body
        .iter()
        .map(|(span, text)| Edit::new(def.file, *span, with_backslashes(text)))
        .collect();
    let start = memchr::memrchr(b'\n', &bytes[..def.span.start().index()]);
    let start = start.map_or(0, |newline| newline + 1);
    let Some(column) = column(&bytes[start..def.span.end().index()]) else {
        return edits;
    };
    let applied = apply(bytes, &edits).bytes;
    let rest = bytes.len() - def.span.end().index();
    let end = applied.len() - rest;
    let aligned = aligned(&applied[start..end], column);
    let new = [&applied[..start], &aligned, &applied[end..]].concat();
    difference(def.file, bytes, &new)
}

fn with_backslashes(text: &[u8]) -> Vec<u8> {
    let mut new = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let (body, ending) = match line {
            [body @ .., b'\r', b'\n'] => (body, &b"\r\n"[..]),
            [body @ .., b'\n'] => (body, &b"\n"[..]),
            body => (body, &b""[..]),
        };
        new.extend_from_slice(body);
        if !ending.is_empty() {
            new.extend_from_slice(b" \\");
            new.extend_from_slice(ending);
        }
    }
    new
}

/// The column that the backslashes of a macro stand in; `None` where they follow the text.
fn column(text: &[u8]) -> Option<usize> {
    let lines = text.split(|&byte| byte == b'\n').filter_map(body);
    let lines: Vec<&[u8]> = lines.collect();
    let column = lines.iter().map(|line| line.len()).min()?;
    let is_in = |line: &&[u8]| line.len() == column;
    // A line that is too long has its backslash right behind it.
    let is_long = |line: &&[u8]| line.trim_ascii_end().len() + 1 == line.len();
    let is_column = lines.len() > 1
        && lines.iter().all(|line| is_in(line) || is_long(line))
        && lines
            .iter()
            .any(|line| is_in(line) && line.ends_with(b"  "))
        && !text.contains(&b'\t');
    is_column.then_some(column)
}

/// What stands in front of the backslash at the end of a line.
fn body(line: &[u8]) -> Option<&[u8]> {
    line.strip_suffix(b"\r").unwrap_or(line).strip_suffix(b"\\")
}

/// `text` with all of its backslashes in `column`, or behind lines that are longer.
fn aligned(text: &[u8], column: usize) -> Vec<u8> {
    let mut new = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let bare = line.strip_suffix(b"\n").unwrap_or(line);
        let Some(body) = body(bare) else {
            new.extend_from_slice(line);
            continue;
        };
        let words = body.trim_ascii_end();
        new.extend_from_slice(words);
        let blanks = column.saturating_sub(words.len()).max(1);
        new.extend(std::iter::repeat_n(b' ', blanks));
        new.extend_from_slice(&line[body.len()..]);
    }
    new
}

#[cfg(test)]
mod tests {
    use super::{aligned, column, with_backslashes};

    #[test]
    fn new_lines_are_continued() {
        assert_eq!(with_backslashes(b"a;\n  b;\r\n  "), b"a; \\\n  b; \\\r\n  ");
    }

    #[test]
    fn backslashes_are_aligned_where_they_were() {
        let text = b"#define F   \\\n  a;        \\\n  bb;       \\\n  c;";
        assert_eq!(column(text), Some(12));
        assert_eq!(
            aligned(
                b"#define F   \\\n  new; \\\n  longer_than_it;  \\\n  c;",
                12
            ),
            b"#define F   \\\n  new;      \\\n  longer_than_it; \\\n  c;"
        );
        assert_eq!(column(b"#define F \\\n  a; \\\n  bb; \\\n  c;"), None);
    }
}
