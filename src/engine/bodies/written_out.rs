//! The body of a macro as it would be written in the place of one use.

use crate::preprocess::{BodyToken, MacroDef};
use crate::source::{ByteOffset, ByteSpan};

/// The text, and which bytes of the definition it came from.
#[derive(Debug, Clone)]
pub(super) struct WrittenOut {
    pub(super) text: Vec<u8>,
    pieces: Vec<Piece>,
    /// What parameters became, in the order of the body.
    pub(super) words: Vec<Word>,
}

/// A word of the body that arguments are in: `key`, `#key`, `get_##key`.
#[derive(Debug, Clone)]
pub(super) struct Word {
    /// What it is in this use.
    pub(super) text: ByteSpan,
    /// Where it stands in the definition.
    pub(super) body: ByteSpan,
    has_param: bool,
}

/// A stretch of the text and what it stands for: the same bytes, or an argument, or the end of a
/// line.
#[derive(Debug, Clone)]
struct Piece {
    text: ByteSpan,
    body: ByteSpan,
    verbatim: bool,
}

impl WrittenOut {
    /// The body of `def`, whose file has `bytes`, with `arguments` for its parameters.
    pub(super) fn new(bytes: &[u8], def: &MacroDef, arguments: &[Vec<u8>]) -> Option<Self> {
        let mut written = Self {
            text: Vec::new(),
            pieces: Vec::new(),
            words: Vec::new(),
        };
        let name_end = def.name.end().index();
        let mut at = match def.params {
            None => name_end,
            Some(_) => name_end + memchr::memchr(b')', bytes.get(name_end..)?)? + 1,
        };
        for token in &def.body {
            at = written.token(bytes, at, token, arguments)?;
        }
        if written.text.contains(&b'\n') {
            let end = to_u32(at);
            written.piece(b"\n", ByteSpan::new(end, end), false);
        }
        written.words.retain(|word| word.has_param);
        Some(written)
    }

    /// Writes `token` and what stands between it and `at`; gives its end.
    fn token(
        &mut self,
        bytes: &[u8],
        at: usize,
        token: &BodyToken,
        arguments: &[Vec<u8>],
    ) -> Option<usize> {
        let span = token.token.span.range();
        let hash = match token.stringize {
            true => at + memchr::memchr(b'#', bytes.get(at..span.start)?)?,
            false => span.start,
        };
        if !token.paste {
            self.gap(bytes, at, hash);
        }
        let body = ByteSpan::new(to_u32(hash), to_u32(span.end));
        let start = to_u32(self.text.len());
        match token.param {
            None => self.piece(&bytes[span.clone()], body, true),
            Some(number) => {
                let argument = arguments.get(number as usize)?;
                let quoted = match token.stringize {
                    true if argument
                        .iter()
                        .any(|byte| matches!(byte, b'"' | b'\\' | b'\n')) =>
                    {
                        return None;
                    }
                    true => [b"\"", &argument[..], b"\""].concat(),
                    false => argument.clone(),
                };
                self.piece(&quoted, body, false);
            }
        }
        self.word(token, ByteSpan::new(start, to_u32(self.text.len())), body);
        Some(span.end)
    }

    fn word(&mut self, token: &BodyToken, text: ByteSpan, body: ByteSpan) {
        let has_param = token.param.is_some();
        match self.words.last_mut().filter(|_| token.paste) {
            Some(word) => {
                word.text = word.text.join(text);
                word.body = word.body.join(body);
                word.has_param |= has_param;
            }
            None => self.words.push(Word {
                text,
                body,
                has_param,
            }),
        }
    }

    /// Blanks and comments; the end of a continued line without its backslash.
    fn gap(&mut self, bytes: &[u8], from: usize, to: usize) {
        let mut at = from;
        while let Some(backslash) = memchr::memchr(b'\\', &bytes[at..to]).map(|it| it + at) {
            let ending = match &bytes[backslash + 1..to] {
                [b'\n', ..] => &b"\n"[..],
                [b'\r', b'\n', ..] => b"\r\n",
                _ => {
                    self.verbatim(bytes, at, backslash + 1);
                    at = backslash + 1;
                    continue;
                }
            };
            let blanks = bytes[at..backslash].iter().rev();
            let blanks = blanks
                .take_while(|byte| matches!(byte, b' ' | b'\t'))
                .count();
            self.verbatim(bytes, at, backslash - blanks);
            at = backslash + 1 + ending.len();
            let body = ByteSpan::new(to_u32(backslash - blanks), to_u32(at));
            self.piece(ending, body, false);
        }
        self.verbatim(bytes, at, to);
    }

    fn verbatim(&mut self, bytes: &[u8], from: usize, to: usize) {
        if from < to {
            let body = ByteSpan::new(to_u32(from), to_u32(to));
            self.piece(&bytes[from..to], body, true);
        }
    }

    fn piece(&mut self, text: &[u8], body: ByteSpan, verbatim: bool) {
        let start = to_u32(self.text.len());
        self.text.extend_from_slice(text);
        self.pieces.push(Piece {
            text: ByteSpan::new(start, to_u32(self.text.len())),
            body,
            verbatim,
        });
    }

    /// What an edit of the text is in the definition: its bytes, and the new text.
    pub(super) fn in_body(&self, span: ByteSpan, text: &[u8]) -> Option<(ByteSpan, Vec<u8>)> {
        let is_behind = span.start().index() == self.text.len() && self.text.ends_with(b"\n");
        let text = match text.strip_suffix(b"\n") {
            // The last line of a body has no end: lines behind it begin with one.
            Some(line) if is_behind => [b"\n", line].concat(),
            _ => text.to_vec(),
        };
        Some((self.bytes_of(span)?, text))
    }

    fn bytes_of(&self, span: ByteSpan) -> Option<ByteSpan> {
        let start = self.offset(span.start())?;
        let end = self.offset(span.end())?;
        (start <= end).then(|| ByteSpan::new(start.0, end.0))
    }

    fn offset(&self, at: ByteOffset) -> Option<ByteOffset> {
        self.pieces.iter().find_map(
            |Piece {
                 text,
                 body,
                 verbatim,
             }| {
                if at == text.start() {
                    return Some(body.start());
                }
                if at == text.end() {
                    return Some(body.end());
                }
                let inside = text.start() < at && at < text.end() && *verbatim;
                inside.then(|| ByteOffset(body.start().0 + at.0 - text.start().0))
            },
        )
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).expect("files are at most MAX_FILE_BYTES long")
}
