//! Text of files as a terminal can show it.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::draw::Palette;
use crate::review::{self, LineKind};

/// Columns between tab stops.
const TAB: usize = 8;

/// A line of a diff with its sign and colours.
pub(super) fn diff_line(line: &review::Line, palette: Palette) -> Line<'static> {
    let (sign, style) = match line.kind {
        LineKind::File => ("", palette.file),
        LineKind::Hunk => ("", palette.hunk),
        LineKind::Context => (" ", Style::new()),
        LineKind::Old => ("-", palette.old),
        LineKind::New => ("+", palette.new),
    };
    let mut column = 0;
    let mut spans = vec![Span::styled(sign, style)];
    for part in &line.parts {
        let style = match part.differs {
            true => style.patch(palette.differs),
            false => style,
        };
        spans.push(Span::styled(printable(&part.text, &mut column), style));
    }
    Line::from(spans)
}

/// `text` with blanks for tabs and dots for control characters, which would move the cursor.
/// `column` is where it begins in its line, and then where it ends.
pub(super) fn printable(text: &str, column: &mut usize) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if char == '\t' {
            let blanks = TAB - *column % TAB;
            out.extend(std::iter::repeat_n(' ', blanks));
            *column += blanks;
            continue;
        }
        out.push(if char.is_control() { '·' } else { char });
        *column += 1;
    }
    out
}

/// `text` in lines of at most `width` characters, broken at blanks where there are some; what goes
/// on is moved in by `indent` blanks.
pub(super) fn wrapped(text: &str, width: usize, indent: usize) -> Vec<String> {
    let width = width.max(1);
    let indent = if indent * 2 < width { indent } else { 0 };
    let mut rest: Vec<char> = text.chars().collect();
    let mut lines = Vec::new();
    while rest.len() > width {
        // A line of nothing but the indent would go on for ever.
        let least = if lines.is_empty() { 0 } else { indent };
        let blank = rest[..=width].iter().rposition(|&char| char == ' ');
        let end = blank.filter(|&at| at > least).unwrap_or(width);
        lines.push(rest[..end].iter().collect());
        let next = rest[end..].iter().skip_while(|&&char| char == ' ');
        rest = std::iter::repeat_n(&' ', indent)
            .chain(next)
            .copied()
            .collect();
    }
    lines.push(rest.into_iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::{printable, wrapped};

    #[test]
    fn text_is_broken_at_blanks_and_nothing_is_lost() {
        assert_eq!(
            wrapped(" y  accept, next fix", 12, 4),
            [" y  accept,", "    next fix"]
        );
        assert_eq!(wrapped("", 10, 4), [""]);
        for width in 1..20 {
            let text = "one two  three-and-a-long-word four";
            let lines = wrapped(text, width, 3);
            assert!(lines.iter().all(|line| line.chars().count() <= width));
            let kept: String = lines.concat().split(' ').collect();
            assert_eq!(kept, text.replace(' ', ""));
        }
    }

    #[test]
    fn tabs_reach_their_stops_and_control_characters_are_dots() {
        let mut column = 0;
        assert_eq!(printable("ab\tc\u{1b}[", &mut column), "ab      c·[");
        assert_eq!(printable("\t|", &mut column), "     |");
        assert_eq!(column, 17);
    }
}
