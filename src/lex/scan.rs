//! The scanner: one pass over the bytes, one match on the first byte of each token.

use memchr::{memchr, memmem};

use super::{Token, TokenKind};
use crate::source::ByteSpan;

/// Lists the tokens of `bytes`, in order.
#[must_use]
pub fn lex(bytes: &[u8]) -> Vec<Token> {
    let mut scanner = Scanner {
        bytes,
        at: 0,
        first_on_line: true,
        space_before: false,
    };
    let mut tokens = Vec::with_capacity(bytes.len() / 4);
    while let Some(token) = scanner.next_token() {
        tokens.push(token);
    }
    tokens
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    first_on_line: bool,
    space_before: bool,
}

impl Scanner<'_> {
    fn next_token(&mut self) -> Option<Token> {
        self.skip_trivia();
        let start = self.at;
        let kind = self.scan(*self.bytes.get(start)?);
        let token = Token {
            kind,
            first_on_line: std::mem::take(&mut self.first_on_line),
            space_before: std::mem::take(&mut self.space_before),
            span: ByteSpan::new(to_u32(start), to_u32(self.at)),
        };
        Some(token)
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_trivia(&mut self) {
        loop {
            match self.peek(0) {
                b'\n' => {
                    self.first_on_line = true;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'/' if self.peek(1) == b'*' => self.at = self.end_of_block_comment(),
                b'/' if self.peek(1) == b'/' => self.at = end_of_line(self.bytes, self.at),
                b'\\' => match self.continuation() {
                    Some(next) => self.at = next,
                    None => return,
                },
                // A byte order mark counts as blank.
                0xef if self.at == 0 && self.bytes.starts_with(b"\xef\xbb\xbf") => self.at = 3,
                _ => return,
            }
            self.space_before = true;
        }
    }

    fn end_of_block_comment(&self) -> usize {
        let body = self.at + 2;
        memmem::find(&self.bytes[body..], b"*/").map_or(self.bytes.len(), |n| body + n + 2)
    }

    /// Where the next line begins if a line continuation stands here. Blanks between the backslash
    /// and the line end are taken, as gcc does.
    fn continuation(&self) -> Option<usize> {
        let mut at = self.at + 1;
        while matches!(self.bytes.get(at), Some(b' ' | b'\t' | b'\r')) {
            at += 1;
        }
        (self.bytes.get(at) == Some(&b'\n')).then_some(at + 1)
    }

    fn scan(&mut self, first: u8) -> TokenKind {
        match first {
            b'"' => self.quoted(0, b'"', TokenKind::Str),
            b'\'' => self.quoted(0, b'\'', TokenKind::Char),
            b'0'..=b'9' => self.number(),
            b'.' if self.peek(1).is_ascii_digit() => self.number(),
            _ if is_ident(first) => self.ident_or_prefixed_literal(),
            _ => self.punct(),
        }
    }

    fn quoted(&mut self, prefix: usize, quote: u8, kind: TokenKind) -> TokenKind {
        let mut at = self.at + prefix + 1;
        // Invariant: `at` is behind the opening quote and before the end of the literal.
        while let Some(n) = self.bytes.get(at..).and_then(|rest| next_of(quote, rest)) {
            at += n;
            match self.bytes[at] {
                b'\\' => {
                    at += if self.bytes[at + 1..].starts_with(b"\r\n") {
                        3
                    } else {
                        2
                    }
                }
                b'\n' => {
                    // Unterminated: the literal ends with its line (an apostrophe in `#error`).
                    self.at = at;
                    return kind;
                }
                _ => {
                    self.at = at + 1;
                    return kind;
                }
            }
        }
        self.at = self.bytes.len();
        kind
    }

    fn number(&mut self) -> TokenKind {
        self.at += 1;
        loop {
            let byte = self.peek(0);
            let sign_of_exponent = matches!(byte, b'+' | b'-')
                && matches!(self.bytes[self.at - 1], b'e' | b'E' | b'p' | b'P');
            let separator = byte == b'\'' && is_ident(self.peek(1));
            if is_ident(byte) || byte == b'.' || sign_of_exponent || separator {
                self.at += 1;
            } else {
                return TokenKind::Number;
            }
        }
    }

    fn ident_or_prefixed_literal(&mut self) -> TokenKind {
        let start = self.at;
        let len = self.bytes[start..]
            .iter()
            .take_while(|&&b| is_ident(b))
            .count();
        let quote = self.peek(len);
        let word = &self.bytes[start..start + len];
        if matches!(quote, b'"' | b'\'') && matches!(word, b"L" | b"u" | b"U" | b"u8") {
            let kind = if quote == b'"' {
                TokenKind::Str
            } else {
                TokenKind::Char
            };
            return self.quoted(len, quote, kind);
        }
        self.at += len;
        TokenKind::Ident
    }

    fn punct(&mut self) -> TokenKind {
        let rest = &self.bytes[self.at..];
        let len = punct_len(rest);
        self.at += len.max(1);
        if len == 0 {
            TokenKind::Other
        } else {
            TokenKind::Punct
        }
    }
}

/// Length of the punctuator at the start of `rest`; 0 if there is none.
fn punct_len(rest: &[u8]) -> usize {
    let second = rest.get(1).copied().unwrap_or(0);
    let third = rest.get(2).copied().unwrap_or(0);
    match (rest[0], second, third) {
        (b'%', b':', b'%') if rest.get(3) == Some(&b':') => 4,
        (b'<', b'<', b'=') | (b'>', b'>', b'=') | (b'.', b'.', b'.') => 3,
        (b'-', b'>' | b'-' | b'=', _)
        | (b'+', b'+' | b'=', _)
        | (b'<', b'<' | b'=' | b':' | b'%', _)
        | (b'>', b'>' | b'=', _)
        | (b'=' | b'!' | b'*' | b'/' | b'%' | b'^', b'=', _)
        | (b'&', b'&' | b'=', _)
        | (b'|', b'|' | b'=', _)
        | (b'#', b'#', _)
        | (b'%', b':' | b'>', _)
        | (b':', b'>', _) => 2,
        (
            b'[' | b']' | b'(' | b')' | b'{' | b'}' | b'.' | b'&' | b'*' | b'+' | b'-' | b'~'
            | b'!' | b'/' | b'%' | b'<' | b'>' | b'^' | b'|' | b'?' | b':' | b';' | b'=' | b','
            | b'#',
            ..,
        ) => 1,
        _ => 0,
    }
}

fn next_of(quote: u8, rest: &[u8]) -> Option<usize> {
    memchr::memchr3(quote, b'\\', b'\n', rest)
}

/// Where a `//` comment that holds `at` ends: at its newline, or at the end of the file. A
/// backslash before the newline carries the comment on.
fn end_of_line(bytes: &[u8], at: usize) -> usize {
    let mut from = at;
    while let Some(n) = memchr(b'\n', &bytes[from..]) {
        let newline = from + n;
        let line = bytes[at..newline]
            .strip_suffix(b"\r")
            .unwrap_or(&bytes[at..newline]);
        if !line.ends_with(b"\\") {
            return newline;
        }
        from = newline + 1;
    }
    bytes.len()
}

/// Whether `byte` can stand in an identifier; `$` and foreign bytes count, as in gcc.
#[must_use]
pub(crate) fn is_ident(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).expect("files are at most MAX_FILE_BYTES long")
}

#[cfg(test)]
mod tests {
    use super::lex;
    use crate::lex::TokenKind;

    fn show(text: &str) -> String {
        let tokens = lex(text.as_bytes());
        let words: Vec<String> = tokens
            .iter()
            .map(|t| {
                let line = if t.first_on_line { "^" } else { "" };
                let kind = match t.kind {
                    TokenKind::Ident => "i",
                    TokenKind::Number => "n",
                    TokenKind::Str => "s",
                    TokenKind::Char => "c",
                    TokenKind::Punct => "p",
                    TokenKind::Other => "o",
                };
                format!("{line}{kind}:{}", &text[t.span.range()])
            })
            .collect();
        words.join(" ")
    }

    #[test]
    fn tokens_of_common_c() {
        insta::assert_snapshot!(show("x->y /* a\n b */ <<= 0x1p-3f;\n#if 1 // c"), @"^i:x p:-> i:y p:<<= n:0x1p-3f p:; ^p:# i:if n:1");
    }

    #[test]
    fn literals_keep_prefix_escapes_and_continuations() {
        insta::assert_snapshot!(show("L\"a\\\"b\" 'x' '\\'' \"c\\\r\nd\" u8R"), @r#"^s:L"a\"b" c:'x' c:'\'' s:"c\
d" i:u8R"#);
    }

    #[test]
    fn an_open_quote_ends_with_its_line() {
        insta::assert_snapshot!(show("#error don't\nint x;"), @"^p:# i:error i:don c:'t ^i:int i:x p:;");
    }

    #[test]
    fn continuations_join_lines() {
        insta::assert_snapshot!(show("#define A \\\n  b // c \\\n d\ne"), @"^p:# i:define i:A i:b ^i:e");
    }

    #[test]
    fn junk_never_panics() {
        for text in ["\"", "'", "/*", "\\", "\"\\", "@`\u{1}", "1e+", "L'"] {
            assert!(lex(text.as_bytes()).len() <= text.len());
        }
        insta::assert_snapshot!(show("a@b\\c"), @"^i:a o:@ i:b o:\\ i:c");
    }
}
