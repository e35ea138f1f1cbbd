//! Old and new beside each other, for people.

use std::ops::Range;

use similar::DiffOp;

use super::hunk::{groups, lines};
use super::name::slashed;
use super::{FileChange, sorted};

/// Columns that a TAB leads to a multiple of.
const TAB: usize = 8;
/// Fewest columns for one side.
const MIN_SIDE: usize = 20;

/// What stands on a line of a side by side view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The name of a file.
    File,
    /// The first line numbers of both sides.
    Hunk,
    /// The same on both sides.
    Same,
    /// Left and right differ, or one is missing.
    Differs,
}

/// A line of a side by side view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What it is.
    pub kind: Side,
    /// What was there; filled up with blanks to the width of its half, but for files and hunks.
    pub left: String,
    /// What is there; empty for files and hunks.
    pub right: String,
}

/// `changes` by path in `width` columns, with `context` lines around each change. Long lines are
/// cut and end in `…`; bytes that are no UTF-8 are replaced.
#[must_use]
pub fn side_by_side(changes: &[FileChange<'_>], context: usize, width: usize) -> Vec<Row> {
    // Three columns stand between the halves.
    let half = (width.saturating_sub(3) / 2).max(MIN_SIDE);
    let mut rows = Vec::new();
    for change in sorted(changes) {
        let name = slashed(change.path);
        rows.push(head(
            Side::File,
            String::from_utf8_lossy(&name).into_owned(),
        ));
        let old = lines(change.old.unwrap_or_default());
        let new = lines(change.new);
        for group in groups(&old, &new, context) {
            let first = group.first().map_or((0, 0), |op| {
                (op.old_range().start + 1, op.new_range().start + 1)
            });
            rows.push(head(Side::Hunk, format!("{} | {}", first.0, first.1)));
            for op in &group {
                add_op(op, &old, &new, half, &mut rows);
            }
        }
    }
    rows
}

/// Lines that are the same before and after, or lines and what takes their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Whether they are the same.
    pub is_same: bool,
    /// Number of the first old and of the first new line, from 1.
    pub first: (usize, usize),
    /// The old lines; bytes that are no UTF-8 are replaced.
    pub old: Vec<String>,
    /// The new lines.
    pub new: Vec<String>,
}

/// What `change` does, by hunk, with `context` lines around each change.
#[must_use]
pub fn blocks(change: &FileChange<'_>, context: usize) -> Vec<Vec<Block>> {
    let old = lines(change.old.unwrap_or_default());
    let new = lines(change.new);
    let texts = |all: &[&[u8]], range: Range<usize>| {
        let text = |line: &&[u8]| String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
        all[range].iter().map(text).collect()
    };
    let block = |op: &DiffOp| Block {
        is_same: matches!(op, DiffOp::Equal { .. }),
        first: (op.old_range().start + 1, op.new_range().start + 1),
        old: texts(&old, op.old_range()),
        new: texts(&new, op.new_range()),
    };
    let hunks = groups(&old, &new, context).into_iter();
    hunks.map(|ops| ops.iter().map(block).collect()).collect()
}

fn head(kind: Side, left: String) -> Row {
    Row {
        kind,
        left,
        right: String::new(),
    }
}

fn add_op(op: &DiffOp, old: &[&[u8]], new: &[&[u8]], half: usize, rows: &mut Vec<Row>) {
    let kind = match op {
        DiffOp::Equal { .. } => Side::Same,
        _ => Side::Differs,
    };
    let (left, right) = (op.old_range(), op.new_range());
    for at in 0..left.len().max(right.len()) {
        let left = cell(old, &left, at, half);
        let fill = half - columns(&left);
        rows.push(Row {
            kind,
            left: left + &" ".repeat(fill),
            right: cell(new, &right, at, half),
        });
    }
}

/// Line `at` of `range` in at most `half` columns; empty behind its end.
fn cell(lines: &[&[u8]], range: &Range<usize>, at: usize, half: usize) -> String {
    if at >= range.len() {
        return String::new();
    }
    let text = String::from_utf8_lossy(lines[range.start + at].trim_ascii_end()).into_owned();
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\t' => out += &" ".repeat(TAB - columns(&out) % TAB),
            _ if letter.is_control() => out.push('\u{fffd}'),
            _ => out.push(letter),
        }
    }
    if columns(&out) <= half {
        return out;
    }
    out.chars().take(half - 1).chain(['\u{2026}']).collect()
}

/// Columns, where every letter takes one: C is written so, but for some comments.
fn columns(text: &str) -> usize {
    text.chars().count()
}
