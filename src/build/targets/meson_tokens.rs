//! The tokens of `meson.build`.

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A name or keyword.
    Name(String),
    /// A string.
    Text(String),
    /// A whole number.
    Number(usize),
    /// Anything else.
    Sign(char),
    /// The end of a line, outside of brackets.
    Line,
}

/// The tokens of `text`. A string with parts that are computed is a sign.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut depth = 0u32;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '#' => length = rest.find('\n').unwrap_or(rest.len()),
            '\n' if depth == 0 => found.push(Token::Line),
            '\\' | ' ' | '\t' | '\r' | '\n' => {}
            '\'' => {
                let (text, end) = string(rest);
                let is_computed = found.last() == Some(&Token::Name("f".to_owned()));
                if is_computed {
                    found.pop();
                    found.push(Token::Sign('f'));
                } else {
                    found.push(Token::Text(text));
                }
                length = end;
            }
            _ if c.is_alphanumeric() || c == '_' => {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
                let word = &rest[..length];
                found.push(match word.parse() {
                    Ok(number) => Token::Number(number),
                    Err(_) => Token::Name(word.to_owned()),
                });
            }
            _ => {
                match c {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                found.push(Token::Sign(c));
            }
        }
        rest = &rest[length..];
    }
    found
}

/// The string that `text` begins with, and its length with quotes.
fn string(text: &str) -> (String, usize) {
    if let Some(inner) = text.strip_prefix("'''") {
        let end = inner.find("'''");
        let length = end.map_or(text.len(), |end| end + 6);
        return (inner[..end.unwrap_or(inner.len())].to_owned(), length);
    }
    let mut held = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' => return (held, at + 1),
            '\\' => held.extend(chars.next().map(|(_, c)| c)),
            _ => held.push(c),
        }
    }
    (held, text.len())
}
