//! What the text around statements shows that the tree does not: directives, comments, words.

use crate::capi;
use crate::lex::{Token, TokenKind, open_branches};
use crate::source::ByteSpan;

/// Whether every `#if` that begins in `span` ends there, and none of its branches begins or ends
/// the statement.
pub(super) fn is_whole_in_every_branch(bytes: &[u8], tokens: &[Token], span: ByteSpan) -> bool {
    open_branches(bytes, tokens, span) == Some(0)
}

/// Whether a directive begins in `span`.
pub(super) fn has_directive(bytes: &[u8], tokens: &[Token], span: ByteSpan) -> bool {
    let mut inside = tokens.iter().filter(|token| span.contains(token.span));
    inside.any(|token| token.first_on_line && bytes[token.span.range()] == *b"#")
}

/// The token in front of `statement`, if a comment of its own lines stands between the two: what
/// is said there is said of the statement.
pub(super) fn token_before_comment<'t>(
    bytes: &[u8],
    tokens: &'t [Token],
    statement: ByteSpan,
) -> Option<&'t Token> {
    let next = tokens.partition_point(|token| token.span.start() < statement.start());
    let before = tokens.get(next.checked_sub(1)?)?;
    let between = &bytes[before.span.end().index()..statement.start().index()];
    let line = memchr::memchr(b'\n', between)?;
    let is_blank = between[line..].iter().all(u8::is_ascii_whitespace);
    (!is_blank).then_some(before)
}

/// A word in `span`, outside of `except`, that tells of the GIL: what it stands for may detach the
/// thread, after which no section may end. Where `goto gil_error` leads to is not done here.
pub(super) fn gil_word<'b>(
    bytes: &'b [u8],
    tokens: &[Token],
    span: ByteSpan,
    except: &[ByteSpan],
) -> Option<&'b [u8]> {
    let text = |token: &Token| &bytes[token.span.range()];
    let is_target = |at: usize| at > 0 && text(&tokens[at - 1]) == b"goto";
    let is_looked_at = |(at, token): &(usize, &Token)| {
        let is_word = token.kind == TokenKind::Ident && span.contains(token.span);
        is_word && !is_target(*at) && !except.iter().any(|other| other.contains(token.span))
    };
    let words = tokens.iter().enumerate().filter(is_looked_at);
    let mut words = words.map(|(_, token)| text(token));
    words.find(|word| is_gil_word(word))
}

/// Whether a word tells of the GIL, or of what lets other threads run: `NPY_BEGIN_THREADS`. What
/// the macros of `Python.h` do shows in the tree.
pub(super) fn is_gil_word(word: &[u8]) -> bool {
    const LETS: [&[u8]; 5] = [b"BEGIN", b"END", b"ALLOW", b"BLOCK", b"UNBLOCK"];
    let parts: Vec<&[u8]> = word.split(|byte| *byte == b'_').collect();
    let lets_others = !word.starts_with(b"Py_")
        && parts.contains(&&b"THREADS"[..])
        && LETS.iter().any(|other| parts.contains(other));
    capi::gives_up_thread(&String::from_utf8_lossy(word))
        || lets_others
        || parts.iter().any(|part| matches!(*part, b"GIL" | b"gil"))
}

/// Whether a word that tells of the GIL says that the GIL is given up: behind one that takes it, the
/// thread was detached already.
pub(super) fn gives_up(word: &[u8]) -> bool {
    let word = String::from_utf8_lossy(word).to_ascii_lowercase();
    let parts = ["release", "save", "unlock", "leave", "drop", "give"];
    parts.iter().any(|part| word.contains(part))
}

/// Whether a statement that leaves says that something went wrong: `goto error;`, `return NULL;`,
/// `RAISE(PyExc_TypeError);`.
pub(super) fn fails(statement: &str) -> bool {
    let name = statement.split('(').next().unwrap_or_default();
    let name = name.to_ascii_uppercase();
    let words = ["ERR", "FAIL", "RAISE"];
    statement.starts_with("goto")
        || matches!(statement, "return NULL;" | "return -1;")
        || words.iter().any(|word| name.contains(word))
}
