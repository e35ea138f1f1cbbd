//! Comments that silence findings: `/* ungil: ignore[UG101] -- reason */`.

use memchr::memmem;

use super::{Rule, Selector};
use crate::lex::{Token, lex};
use crate::source::{ByteOffset, ByteSpan, LineNumber, SourceFile};

const MARK: &[u8] = b"ungil:";

/// One comment that silences findings, or tries to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// The mark in the comment.
    pub span: ByteSpan,
    /// First and last line whose findings it silences.
    lines: (LineNumber, LineNumber),
    /// Rules that it names, or what is wrong with it.
    rules: Result<Vec<Selector>, String>,
}

impl Suppression {
    /// Whether this silences findings of `rule` on `line`.
    #[must_use]
    pub fn covers(&self, rule: &Rule, line: LineNumber) -> bool {
        let names = self
            .rules
            .as_ref()
            .is_ok_and(|list| list.iter().any(|s| s.matches(rule)));
        names && self.lines.0 <= line && line <= self.lines.1
    }

    /// What is wrong with the comment; it silences nothing then.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.rules.as_ref().err().map(String::as_str)
    }
}

/// All such comments of `file`. `rules` are those a comment may name.
#[must_use]
pub fn suppressions(file: &SourceFile, rules: &[&Rule]) -> Vec<Suppression> {
    let bytes = file.bytes();
    let marks: Vec<_> = memmem::find_iter(bytes, MARK).collect();
    if marks.is_empty() {
        return Vec::new();
    }
    let tokens = lex(bytes);
    marks
        .into_iter()
        .map(to_offset)
        .filter(|&mark| !is_in_token(&tokens, mark))
        .map(|mark| Suppression {
            span: ByteSpan::new(mark.0, mark.0 + 6),
            lines: covered_lines(file, &tokens, mark),
            rules: parse(&bytes[mark.index() + MARK.len()..], rules),
        })
        .collect()
}

fn is_in_token(tokens: &[Token], offset: ByteOffset) -> bool {
    let index = tokens.partition_point(|token| token.span.end() <= offset);
    tokens
        .get(index)
        .is_some_and(|token| token.span.start() <= offset)
}

/// The line of the comment; the next one with code too if the comment stands alone.
fn covered_lines(
    file: &SourceFile,
    tokens: &[Token],
    mark: ByteOffset,
) -> (LineNumber, LineNumber) {
    let line = file.position(mark).line;
    let next = tokens.partition_point(|token| token.span.start() < mark);
    let line_of = |token: &Token| file.position(token.span.start()).line;
    let shares_line = next > 0 && line_of(&tokens[next - 1]) == line;
    match tokens.get(next) {
        Some(token) if !shares_line && is_adjacent(file, mark, token) => (line, line_of(token)),
        _ => (line, line),
    }
}

/// Whether `token` begins on the line after the comment around `mark`, or on its last line.
fn is_adjacent(file: &SourceFile, mark: ByteOffset, token: &Token) -> bool {
    let between = file.slice(ByteSpan::new(mark.0, token.span.start().0));
    let comment_end = memmem::find(between, b"*/").unwrap_or(0);
    memchr::memchr_iter(b'\n', &between[comment_end..]).count() <= 1
}

/// Reads ` ignore[UG101, borrowed-list-item] -- reason`.
fn parse(text: &[u8], rules: &[&Rule]) -> Result<Vec<Selector>, String> {
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let Some(rest) = line.trim_start().strip_prefix("ignore") else {
        return Err("unknown directive; write `ungil: ignore[CODE] -- reason`".to_owned());
    };
    let list = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((list, _)) = list.filter(|(list, _)| !list.trim().is_empty()) else {
        return Err("names no rule; write `ungil: ignore[CODE] -- reason`".to_owned());
    };
    list.split(',')
        .map(|text| Selector::new(text.trim(), rules).map_err(|error| error.to_string()))
        .collect()
}

fn to_offset(at: usize) -> ByteOffset {
    ByteOffset(u32::try_from(at).expect("files are at most MAX_FILE_BYTES long"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::suppressions;
    use crate::rule::Rule;
    use crate::source::{LineNumber, SourceFile};

    static LIST: Rule = Rule {
        code: "UG101",
        name: "borrowed-list-item",
        summary: "",
        docs: "",
        since: "0.1.0",
        best: None,
        triggers: &[],
        check: |_, _| {},
    };

    /// Lines on which a finding of `LIST` is silenced.
    fn silenced(text: &str) -> Vec<u32> {
        let file = SourceFile::new(PathBuf::from("m.c"), text.into());
        let found = suppressions(&file, &[&LIST]);
        let is_silenced = |&line: &u32| found.iter().any(|s| s.covers(&LIST, LineNumber(line)));
        (1..10).filter(is_silenced).collect()
    }

    fn errors(text: &str) -> Vec<String> {
        let file = SourceFile::new(PathBuf::from("m.c"), text.into());
        let found = suppressions(&file, &[&LIST]);
        found
            .iter()
            .filter_map(|s| s.error().map(str::to_owned))
            .collect()
    }

    #[test]
    fn a_comment_behind_code_is_for_its_own_line() {
        assert_eq!(
            silenced("a;\nb; /* ungil: ignore[UG101] -- why */\nc;\n"),
            [2]
        );
        assert_eq!(
            silenced("b; // ungil: ignore[borrowed-list-item]\nc;\n"),
            [1]
        );
    }

    #[test]
    fn a_comment_on_its_own_line_is_for_the_next() {
        assert_eq!(
            silenced("a;\n/* ungil: ignore[UG1] -- why */\nc;\nd;\n"),
            [2, 3]
        );
        assert_eq!(
            silenced("/* ungil: ignore[UG1] --\n * why */\nc;\nd;\n"),
            [1, 2, 3]
        );
        assert_eq!(silenced("/* ungil: ignore[UG1] */\n\nc;\n"), [1]);
    }

    #[test]
    fn strings_and_other_rules_silence_nothing() {
        assert_eq!(silenced("a(\"ungil: ignore[UG101]\");\n"), [0; 0]);
        assert_eq!(silenced("a; /* ungil: ignore[UG999] */\n"), [0; 0]);
    }

    #[test]
    fn a_comment_that_silences_nothing_is_an_error() {
        assert_eq!(errors("a; /* ungil: ignore[UG101] */"), [""; 0]);
        assert_eq!(
            errors("/* ungil: ignore */ /* ungil: skip */"),
            [
                "names no rule; write `ungil: ignore[CODE] -- reason`",
                "unknown directive; write `ungil: ignore[CODE] -- reason`"
            ]
        );
        assert_eq!(errors("a; /* ungil: ignore[UG999] */").len(), 1);
    }
}
