//! Colours for patches on a terminal.

use anstyle::{AnsiColor, Effects, Style};
use similar::{ChangeTag, DiffableStr, TextDiff};

use crate::diff::{Row, Side};

/// How much of two lines is the same where the words that differ are worth marking.
const MIN_ALIKE: f32 = 0.5;

/// The patch with the colours that git uses, and the words that differ within a line reversed.
/// Nothing but styles is added.
pub(super) fn diff(patch: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = patch.split_inclusive(|&byte| byte == b'\n').collect();
    let mut out = Vec::with_capacity(patch.len() * 2);
    let mut at = 0;
    while at < lines.len() {
        let old = run(&lines[at..], b"-", b"--- ");
        let new = run(&lines[at + old..], b"+", b"+++ ");
        let (old, new) = (&lines[at..at + old], &lines[at + old..at + old + new]);
        // Only a block of as many new lines says which line became which.
        if old.is_empty() || old.len() != new.len() {
            styled(lines[at], &mut out);
            at += 1;
            continue;
        }
        paired(old, new, ChangeTag::Delete, &mut out);
        paired(old, new, ChangeTag::Insert, &mut out);
        at += old.len() + new.len();
    }
    out
}

/// Lines at the beginning that start with `sign`, but are no `header`.
fn run(lines: &[&[u8]], sign: &[u8], header: &[u8]) -> usize {
    let is_part = |line: &&&[u8]| line.starts_with(sign) && !line.starts_with(header);
    lines.iter().take_while(is_part).count()
}

/// The lines of one side with what differs from the other side marked.
fn paired(old: &[&[u8]], new: &[&[u8]], side: ChangeTag, out: &mut Vec<u8>) {
    for (old, new) in old.iter().zip(new) {
        let diff = TextDiff::configure().diff_unicode_words(&old[1..], &new[1..]);
        let line = if side == ChangeTag::Delete { old } else { new };
        if diff.ratio() <= MIN_ALIKE {
            styled(line, out);
            continue;
        }
        let base = style(line);
        span(base, &line[..1], out);
        for change in diff.iter_all_changes() {
            let text = change.value().as_bytes();
            match change.tag() {
                ChangeTag::Equal => span(base, text, out),
                tag if tag == side => span(base.effects(Effects::INVERT), text, out),
                _ => {}
            }
        }
    }
}

fn styled(line: &[u8], out: &mut Vec<u8>) {
    span(style(line), line, out);
}

/// `text` in `style`, which ends before the end of the line.
fn span(style: Style, text: &[u8], out: &mut Vec<u8>) {
    let visible = text.strip_suffix(b"\n").unwrap_or(text);
    out.extend(format!("{style}").into_bytes());
    out.extend(visible);
    out.extend(format!("{style:#}").into_bytes());
    out.extend(&text[visible.len()..]);
}

fn style(line: &[u8]) -> Style {
    let header: [&[u8]; 5] = [b"diff ", b"index ", b"--- ", b"+++ ", b"new file "];
    if header.iter().any(|start| line.starts_with(start)) {
        return Style::new().bold();
    }
    match line.first() {
        Some(b'+') => color(AnsiColor::Green),
        Some(b'-') => color(AnsiColor::Red),
        Some(b'@') => color(AnsiColor::Cyan),
        _ => Style::new(),
    }
}

fn color(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(color.into()))
}

/// A side by side view as text; in colours if it is `styled`.
pub(super) fn sides(rows: &[Row], styled: bool) -> String {
    let mut out = String::new();
    for row in rows {
        let (left, right, mark) = match row.kind {
            Side::File => (Style::new().bold(), Style::new(), ""),
            Side::Hunk => (color(AnsiColor::Cyan), Style::new(), ""),
            Side::Same => (Style::new(), Style::new(), "   "),
            Side::Differs => (color(AnsiColor::Red), color(AnsiColor::Green), " | "),
        };
        let line = match styled {
            true => format!(
                "{left}{}{left:#}{mark}{right}{}{right:#}",
                row.left, row.right
            ),
            false => format!("{}{mark}{}", row.left, row.right),
        };
        out += line.trim_end();
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::diff;

    fn plain(painted: &[u8]) -> String {
        let text = String::from_utf8_lossy(painted);
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn only_styles_are_added() {
        let patch =
            b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\xe9 same\r\n+b same\r\n c\n-d\n+e\n+f\n-- x\n\
                      ++ y\n\\ No newline at end of file\n-x";
        let painted = diff(patch);
        assert_ne!(painted, patch);
        assert_eq!(plain(&painted), String::from_utf8_lossy(patch));
    }

    #[test]
    fn words_that_differ_are_reversed() {
        let painted = diff(b"-a = old(x);\n+a = new(x);\n");
        let text = String::from_utf8(painted).unwrap();
        let marked = text.split("\u{1b}[7m").skip(1).map(|part| {
            let part = part.split_once('m').expect("the end of the colour").1;
            part.split('\u{1b}').next().unwrap()
        });
        assert_eq!(marked.collect::<Vec<_>>(), ["old", "new"]);
    }

    #[test]
    fn lines_with_nothing_in_common_are_not_marked() {
        let text = String::from_utf8(diff(b"-one two\n+three four\n")).unwrap();
        assert!(!text.contains("\u{1b}[7m"), "{text}");
    }
}
