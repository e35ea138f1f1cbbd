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

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn tabs_reach_their_stops_and_control_characters_are_dots() {
        let mut column = 0;
        assert_eq!(printable("ab\tc\u{1b}[", &mut column), "ab      c·[");
        assert_eq!(printable("\t|", &mut column), "     |");
        assert_eq!(column, 17);
    }
}
