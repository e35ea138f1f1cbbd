//! Text with C names in backticks, made fit for HTML and Markdown.

use minijinja::Value;

/// HTML: everything escaped, names in backticks as code.
pub(super) fn code(text: &str) -> Value {
    let mut out = String::new();
    for (is_code, part) in parts(text) {
        let escaped = escape(part);
        out += &match is_code {
            true => format!("<code>{escaped}</code>"),
            false => escaped,
        };
    }
    Value::from_safe_string(out)
}

/// Markdown for a cell of a table: names in backticks stay, other marks are escaped.
#[must_use]
pub fn cell(text: &str) -> String {
    let mut out = String::new();
    for (is_code, part) in parts(text) {
        let part = part.replace('\n', " ").replace('|', "\\|");
        if is_code {
            out += &format!("`{part}`");
            continue;
        }
        for letter in part.chars() {
            if matches!(letter, '*' | '_' | '<' | '>' | '[' | ']' | '`') {
                out.push('\\');
            }
            out.push(letter);
        }
    }
    out
}

/// The text between backticks and outside of them; a backtick without its other half is text.
fn parts(text: &str) -> Vec<(bool, &str)> {
    let mut pieces: Vec<&str> = text.split('`').collect();
    if pieces.len().is_multiple_of(2) {
        let last = pieces.last().map_or(0, |last| last.len() + 1);
        let before = pieces.iter().rev().nth(1).map_or(0, |piece| piece.len());
        pieces.truncate(pieces.len() - 2);
        pieces.push(&text[text.len() - last - before..]);
    }
    let parts = pieces.into_iter().enumerate();
    parts
        .map(|(at, piece)| (at % 2 == 1, piece))
        .filter(|(_, piece)| !piece.is_empty())
        .collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::{cell, code};

    #[test]
    fn names_in_backticks_are_code() {
        assert_eq!(
            code("`a<b>` & <c>").to_string(),
            "<code>a&lt;b&gt;</code> &amp; &lt;c&gt;"
        );
        assert_eq!(cell("`a_b|c` x_y*"), "`a_b\\|c` x\\_y\\*");
    }

    #[test]
    fn a_lonely_backtick_is_text() {
        assert_eq!(code("`a` b`c").to_string(), "<code>a</code> b`c");
        assert_eq!(cell("b`c"), "b\\`c");
    }
}
