//! Comments with a directive: where it stands, what it is about, and what it says of functions.

use memchr::memmem;

use super::{Reference, Stated};
use crate::lex::Token;
use crate::source::{ByteOffset, ByteSpan, LineNumber, SourceFile};

/// What our directives begin with.
pub const MARK: &[u8] = b"ungil:";

/// The marks of directives in comments of `file`, ascending.
pub(super) fn marks(file: &SourceFile, tokens: &[Token]) -> Vec<ByteOffset> {
    let marks = memmem::find_iter(file.bytes(), MARK)
        .map(|at| ByteOffset(u32::try_from(at).expect("files are at most MAX_FILE_BYTES long")));
    marks.filter(|mark| !is_in_token(tokens, *mark)).collect()
}

/// What a directive says of a function: `borrowed`, `new, steals(2) -- reason`.
pub(super) fn stated(text: &str) -> Option<Stated> {
    let text = text.split("*/").next().unwrap_or_default();
    let facts = text.split(" -- ").next().unwrap_or_default();
    let mut stated = Stated::default();
    for fact in facts.split(',') {
        match fact.trim() {
            "borrowed" => stated.returns = Some(Reference::Borrowed),
            "new" => stated.returns = Some(Reference::New),
            other => {
                let arg = other.strip_prefix("steals(")?.strip_suffix(')')?;
                // Arguments are counted from 1, as in cpychecker's attribute.
                stated.add_stolen(arg.trim().parse::<usize>().ok()?.checked_sub(1)?);
            }
        }
    }
    Some(stated)
}

/// The functions of which a directive says that threads may call them at once:
/// `thread-safe(uv_*, deflate) -- as their manual has it`. `None` for other directives.
pub(super) fn thread_safe(text: &str) -> Option<Vec<&str>> {
    let inner = text.trim().strip_prefix("thread-safe(")?;
    let (names, _) = inner.split_once(')')?;
    let names: Vec<&str> = names.split(',').map(str::trim).collect();
    let is_name = |name: &&str| {
        let name = name.strip_suffix('*').unwrap_or(name);
        !name.is_empty()
            && name
                .bytes()
                .all(|it| it == b'_' || it.is_ascii_alphanumeric())
    };
    names.iter().all(is_name).then_some(names)
}

/// What stands behind the mark, up to the end of the line.
#[must_use]
pub fn directive(file: &SourceFile, mark: ByteOffset) -> String {
    let text = &file.bytes()[mark.index() + MARK.len()..];
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line).trim_start().to_owned()
}

/// Whether a token of the code holds the byte at `offset`, so that it stands in no comment.
#[must_use]
pub fn is_in_token(tokens: &[Token], offset: ByteOffset) -> bool {
    let index = tokens.partition_point(|token| token.span.end() <= offset);
    tokens
        .get(index)
        .is_some_and(|token| token.span.start() <= offset)
}

/// The line of the comment; if it stands alone, also the statement or function behind it.
#[must_use]
pub fn covered_lines(
    file: &SourceFile,
    tokens: &[Token],
    mark: ByteOffset,
) -> (LineNumber, LineNumber) {
    let line = file.position(mark).line;
    let next = tokens.partition_point(|token| token.span.start() < mark);
    let line_of = |token: &Token| file.position(token.span.start()).line;
    let shares_line = next > 0 && line_of(&tokens[next - 1]) == line;
    match tokens.get(next) {
        Some(token) if !shares_line && is_adjacent(file, mark, token) => {
            (line, line_of(&tokens[last_of(file, tokens, next)]))
        }
        _ => (line, line),
    }
}

/// The last token of what begins at token `first`: a statement up to its `;`, the head of a block
/// up to its `{`, and outside of functions a whole definition.
fn last_of(file: &SourceFile, tokens: &[Token], first: usize) -> usize {
    let text = |at: usize| file.slice(tokens[at].span);
    let change = |at: usize| match text(at) {
        b"(" | b"[" | b"{" => 1,
        b")" | b"]" | b"}" => -1,
        _ => 0,
    };
    let braces = |at: &usize| matches!(text(*at), b"{" | b"}");
    let outside = (0..first).filter(braces).map(change).sum::<i32>() == 0;
    let line = file
        .lines()
        .span(file.position(tokens[first].span.start()).line);
    // What a directive holds ends with its line, not with a `;`.
    if text(first) == b"#" || file.slice(line).trim_ascii_end().ends_with(b"\\") {
        return first;
    }
    let mut depth = 0;
    for at in first..tokens.len() {
        depth += change(at);
        let ends = match text(at) {
            b";" => depth == 0,
            b"{" => !outside && depth == 1,
            b"}" => depth <= 0,
            _ => false,
        };
        if ends {
            return at;
        }
    }
    first
}

/// Whether `token` begins on the line after the comment around `mark`, or on its last line.
fn is_adjacent(file: &SourceFile, mark: ByteOffset, token: &Token) -> bool {
    let between = file.slice(ByteSpan::new(mark.0, token.span.start().0));
    let comment_end = memmem::find(between, b"*/").unwrap_or(0);
    memchr::memchr_iter(b'\n', &between[comment_end..]).count() <= 1
}

#[cfg(test)]
mod tests {
    use super::{Reference, Stated, stated};

    #[test]
    fn directives_say_what_is_returned_and_taken() {
        let new = Stated {
            returns: Some(Reference::New),
            steals: Some([1].into()),
        };
        assert_eq!(stated("new, steals( 2 ) -- see api.h */ int x;"), Some(new));
        let borrowed = Stated {
            returns: Some(Reference::Borrowed),
            steals: None,
        };
        assert_eq!(stated("borrowed */"), Some(borrowed));
        for wrong in [
            "steals(0)",
            "steals()",
            "steals",
            "borrow",
            "new steals(1)",
            "",
        ] {
            assert_eq!(stated(wrong), None, "{wrong}");
        }
    }
}
