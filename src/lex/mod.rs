//! C tokens from bytes, without loss.
//!
//! Only tokens are listed; the bytes between two tokens are trivia (blanks, comments, line
//! continuations, form feeds, foreign bytes outside tokens stay tokens of kind `Other`). The lexer
//! cannot fail: an unterminated string or comment ends at the end of its line or of the file.

mod branches;
mod scan;

pub use branches::open_branches;
pub(crate) use scan::is_ident;
pub use scan::lex;

use crate::source::ByteSpan;

/// Kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// Identifier or keyword; bytes above 0x7f and `$` belong to identifiers.
    Ident,
    /// Preprocessing number.
    Number,
    /// String literal with its prefix and quotes.
    Str,
    /// Character constant with its prefix and quotes.
    Char,
    /// A punctuator of one to four bytes; digraphs are told apart by their text.
    Punct,
    /// A byte that starts no C token (`@`, `` ` ``, a lone backslash, control bytes).
    Other,
}

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Whether it is the first token of its (logical) line.
    pub first_on_line: bool,
    /// Whether trivia stands between it and the token before.
    pub space_before: bool,
    /// Its bytes.
    pub span: ByteSpan,
}
