//! The words of build files whose languages are not parsed: CMake, Meson, INI, YAML.

use std::ops::Range;

/// A word: letters, digits, `_` and `-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its bytes in the file.
    pub range: Range<usize>,
    /// The rest of its line behind it, up to a comment.
    pub rest: &'a str,
}

/// All words of `bytes` in order, those of `#` comments left out. Lines that are not UTF-8 have
/// none.
#[must_use]
pub fn words(bytes: &[u8]) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        if let Ok(line) = std::str::from_utf8(line) {
            add_words(code(line), start, &mut found);
        }
        start += line.len();
    }
    found
}

/// Where the `#` of the comment of a line stands; `None` if there is none, or the line is not UTF-8.
#[must_use]
pub fn comment(line: &[u8]) -> Option<usize> {
    let line = std::str::from_utf8(line).ok()?;
    let code = code(line).len();
    (code < line.len()).then_some(code)
}

/// The line without its comment. A `#` in quotes begins none, nor one behind a letter, as in
/// `a#b`.
fn code(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') if before.is_whitespace() || before == ')' => return &line[..at],
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        before = c;
    }
    line
}

fn add_words<'a>(line: &'a str, start: usize, found: &mut Vec<Word<'a>>) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut at = 0;
    while let Some(skipped) = line[at..].find(is_part) {
        let begin = at + skipped;
        let length = line[begin..].find(|c| !is_part(c));
        let end = length.map_or(line.len(), |length| begin + length);
        found.push(Word {
            text: &line[begin..end],
            range: start + begin..start + end,
            rest: line[end..].trim_end(),
        });
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn comments_have_no_words() {
        let text = b"a(b-c \"#d\") # e\n# f\ng\xff\nh: i#j\n";
        let texts: Vec<_> = words(text).into_iter().map(|w| w.text).collect();
        assert_eq!(texts, ["a", "b-c", "d", "h", "i", "j"]);
    }

    #[test]
    fn words_know_their_place_and_what_follows() {
        let found = words(b"x\n  key: value # note\n");
        assert_eq!((found[1].text, found[1].range.clone()), ("key", 4..7));
        assert_eq!(found[1].rest, ": value");
    }
}
