//! First pass: the item's tokens without noise, strings joined, brackets matched.
//!
//! Gone after this: attributes, calling conventions, `asm`, `_Pragma`, digraphs, and string
//! pieces. Limits are checked here too, because all later stages recurse.

use super::ParseFailure;
use super::words::{Kind, Noise, classify, noise, punctuator};
use crate::lex::TokenKind;
use crate::preprocess::{ItemTokens, PpToken, Spelling};
use crate::source::FileSet;

/// Deepest nesting of `(`, `[` and `{` that is parsed.
const MAX_NESTING: usize = 200;

/// Longest run of operators, `else if`s or labels within one expression or statement. The parser
/// goes one level deeper for each, and 64 MiB of stack must hold them.
const MAX_CHAIN: u32 = 4000;

/// A token of the item that matters to the parser.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tok<'a> {
    pub(super) kind: Kind,
    /// Its text; of the first piece for strings.
    pub(super) text: &'a [u8],
    /// First of the item's tokens it stands for.
    pub(super) first: u32,
    /// First token after those.
    pub(super) last: u32,
    /// Index of the matching bracket in the list; its own index for all other tokens.
    pub(super) mate: usize,
    /// Whether a line end stands between it and the token before.
    pub(super) newline_before: bool,
}

/// The cleaned tokens with an `End` after them.
pub(super) fn clean<'a>(
    item: &'a ItemTokens,
    files: &'a FileSet,
) -> Result<Vec<Tok<'a>>, ParseFailure> {
    let mut cleaner = Cleaner {
        item,
        files,
        toks: Vec::with_capacity(item.tokens.len()),
        open: Vec::new(),
        chain: 0,
    };
    let mut at = 0;
    while (at as usize) < item.tokens.len() {
        at = cleaner.step(at)?;
    }
    cleaner.finish()
}

/// An open bracket.
struct Open {
    index: usize,
    /// Chain length around it, to go on with after it.
    chain: u32,
}

struct Cleaner<'a> {
    item: &'a ItemTokens,
    files: &'a FileSet,
    toks: Vec<Tok<'a>>,
    open: Vec<Open>,
    chain: u32,
}

impl<'a> Cleaner<'a> {
    fn text(&self, at: u32) -> &'a [u8] {
        if (at as usize) < self.item.tokens.len() {
            self.item.text(self.files, at)
        } else {
            b""
        }
    }

    /// Takes the token `at` and what belongs to it; gives the next one.
    fn step(&mut self, at: u32) -> Result<u32, ParseFailure> {
        let text = self.text(at);
        match noise(text) {
            Some(Noise::Word) => return Ok(at + 1),
            Some(Noise::Call) => return self.attribute(at),
            Some(Noise::Asm) => return self.asm(at),
            None => {}
        }
        // `[[nodiscard]]`; nothing else in C has two.
        if text == b"[" && self.text(at + 1) == b"[" {
            return self.group_end(at);
        }
        match text {
            b"_BitInt" => {
                let end = self.group_end(at + 1)?;
                self.push(Kind::TypeWord("int"), at, end);
                return Ok(end);
            }
            b"auto" => {
                // C23 `auto x = f();`, and not `auto int x`
                if self.text(at + 2) == b"=" {
                    self.push(Kind::TypeWord(super::shadow::TYPE), at, at + 1);
                }
                return Ok(at + 1);
            }
            _ => {}
        }
        let kind = classify(self.item.tokens[at as usize].kind, text);
        self.take(kind, at)?;
        Ok(at + 1)
    }

    /// Leaves an attribute out, but for the one that is a storage class:
    ///
    /// ```c
    /// static __declspec(thread) int depth;
    /// ```
    fn attribute(&mut self, at: u32) -> Result<u32, ParseFailure> {
        let end = self.group_end(at + 1)?;
        let is_thread_local = self.text(at).ends_with(b"declspec")
            && (at + 2..end).any(|inner| self.text(inner) == b"thread");
        if is_thread_local {
            self.push(Kind::Storage("_Thread_local"), at, end);
        }
        // `__attribute__((cleanup(py_decref))) PyObject *item`: a call that stands nowhere.
        if (at..end).any(|inner| matches!(self.text(inner), b"cleanup" | b"__cleanup__")) {
            let reason = "a function that runs where a variable ends (`cleanup`)".to_owned();
            return Err(ParseFailure { token: at, reason });
        }
        Ok(end)
    }

    fn take(&mut self, kind: Kind, at: u32) -> Result<(), ParseFailure> {
        let text = self.text(at);
        match kind {
            Kind::Str => self.take_string(at),
            // `"%" PRId64 "d"`: a name beside a string can only be another piece of it.
            Kind::Name if self.last_kind() == Some(Kind::Str) => self.extend_string(at + 1),
            Kind::Name => match self.quoted_argument() {
                Some(name) => self.turn_into_string(name, at + 1),
                None => self.push(kind, at, at + 1),
            },
            Kind::Punct => match punctuator(text) {
                b"(" | b"[" | b"{" => self.take_open(at)?,
                close @ (b")" | b"]" | b"}") => self.take_close(close, at)?,
                b";" | b"," => {
                    self.push(kind, at, at + 1);
                    // `if (a) b; else if …` is one statement.
                    if self.text(at + 1) != b"else" {
                        self.chain = 0;
                    }
                }
                _ => {
                    self.count(at)?;
                    self.push(kind, at, at + 1);
                }
            },
            Kind::Flow(_) | Kind::SizeOf(_) => {
                self.count(at)?;
                self.push(kind, at, at + 1);
            }
            _ => self.push(kind, at, at + 1),
        }
        Ok(())
    }

    fn count(&mut self, at: u32) -> Result<(), ParseFailure> {
        self.chain += 1;
        if self.chain > MAX_CHAIN {
            let reason = format!("an expression or statement with more than {MAX_CHAIN} operators");
            return Err(ParseFailure { token: at, reason });
        }
        Ok(())
    }

    fn take_open(&mut self, at: u32) -> Result<(), ParseFailure> {
        if self.open.len() >= MAX_NESTING {
            let reason = format!("more than {MAX_NESTING} levels of brackets");
            return Err(ParseFailure { token: at, reason });
        }
        self.count(at)?;
        self.open.push(Open {
            index: self.toks.len(),
            chain: self.chain,
        });
        self.chain = 0;
        self.push(Kind::Punct, at, at + 1);
        Ok(())
    }

    fn take_close(&mut self, close: &[u8], at: u32) -> Result<(), ParseFailure> {
        let Some(open) = self.open.pop() else {
            return Err(unbalanced(close, at));
        };
        let opener = &self.toks[open.index];
        if !matches!(
            (opener.text, close),
            (b"(", b")") | (b"[", b"]") | (b"{", b"}")
        ) {
            return Err(unbalanced(close, at));
        }
        if close == b")" && open.index > 0 && self.is_string_with_name(open.index - 1) {
            // `"a" QUOTE(b)`
            self.toks.truncate(open.index);
            self.extend_string(at + 1);
            return Ok(());
        }
        let index = self.toks.len();
        self.toks[open.index].mate = index;
        self.push(Kind::Punct, at, at + 1);
        self.toks[index].mate = open.index;
        let ends_statement = close == b"}" && self.text(at + 1) != b"else";
        self.chain = if ends_statement { 0 } else { open.chain };
        Ok(())
    }

    /// Whether the piece at `index` is a string that ends in a name.
    fn is_string_with_name(&self, index: usize) -> bool {
        let tok = &self.toks[index];
        tok.kind == Kind::Str && self.item.tokens[tok.last as usize - 1].kind == TokenKind::Ident
    }

    /// If an argument so far is `_T("a")`, its first token: a name can only go on with the string.
    fn quoted_argument(&self) -> Option<usize> {
        let [.., name, open, string, close] = &self.toks[..] else {
            return None;
        };
        let in_parentheses = self
            .open
            .last()
            .is_some_and(|open| self.toks[open.index].text == b"(");
        let is_call = name.kind == Kind::Name && open.text == b"(" && close.text == b")";
        (in_parentheses && is_call && string.kind == Kind::Str).then(|| self.toks.len() - 4)
    }

    fn take_string(&mut self, at: u32) {
        match self.last_kind() {
            Some(Kind::Str) => self.extend_string(at + 1),
            Some(Kind::Name) => self.turn_into_string(self.toks.len() - 1, at + 1),
            _ => {
                // `QUOTE(a) "b"`, and not `(char *)"b"` or `if (a) "b";`
                let call = self
                    .toks
                    .last()
                    .filter(|last| last.text == b")")
                    .map(|last| last.mate);
                match call {
                    Some(open) if open > 0 && self.toks[open - 1].kind == Kind::Name => {
                        self.turn_into_string(open - 1, at + 1);
                    }
                    _ => self.push(Kind::Str, at, at + 1),
                }
            }
        }
    }

    fn turn_into_string(&mut self, index: usize, last: u32) {
        self.toks.truncate(index + 1);
        self.toks[index].kind = Kind::Str;
        self.toks[index].last = last;
    }

    fn extend_string(&mut self, last: u32) {
        if let Some(string) = self.toks.last_mut() {
            string.last = last;
        }
    }

    fn last_kind(&self) -> Option<Kind> {
        self.toks.last().map(|tok| tok.kind)
    }

    /// `asm volatile (…)` as a statement stays; after a declarator it is noise.
    fn asm(&mut self, at: u32) -> Result<u32, ParseFailure> {
        let mut open = at + 1;
        while matches!(
            self.text(open),
            b"volatile" | b"__volatile__" | b"goto" | b"inline"
        ) {
            open += 1;
        }
        if !matches!(self.text(open), b"(" | b"{") {
            let reason = "inline assembly without parentheses or braces".to_owned();
            return Err(ParseFailure { token: at, reason });
        }
        let end = self.group_end(open)?;
        let in_body = self
            .open
            .first()
            .is_some_and(|open| self.toks[open.index].text == b"{");
        let starts_statement = match self.toks.last() {
            Some(before) => match before.kind {
                Kind::Punct => {
                    matches!(before.text, b"{" | b"}" | b";" | b":")
                        || (before.text == b")" && in_body)
                }
                Kind::Flow(_) => true,
                _ => false,
            },
            None => true,
        };
        if starts_statement {
            self.push(Kind::Asm, at, end);
        }
        Ok(end)
    }

    /// First token after the bracket group that begins at `at`; `at` itself if none does.
    fn group_end(&self, at: u32) -> Result<u32, ParseFailure> {
        let mut depth = 0_usize;
        let mut next = at;
        loop {
            match punctuator(self.text(next)) {
                b"(" | b"[" | b"{" => depth += 1,
                b")" | b"]" | b"}" if depth > 0 => depth -= 1,
                b"" => return Err(unbalanced(b"end of the item", at)),
                _ if depth == 0 => return Ok(next),
                _ => {}
            }
            next += 1;
            if depth == 0 {
                return Ok(next);
            }
        }
    }

    fn push(&mut self, kind: Kind, first: u32, last: u32) {
        let text = self.text(first);
        let text = if kind == Kind::Punct {
            punctuator(text)
        } else {
            text
        };
        let newline_before = first > 0 && self.newline_between(first - 1, first);
        self.toks.push(Tok {
            kind,
            text,
            first,
            last,
            mate: self.toks.len(),
            newline_before,
        });
    }

    fn newline_between(&self, before: u32, after: u32) -> bool {
        let place = |at: u32| -> PpToken { self.item.tokens[at as usize] };
        match (place(before).spelling, place(after).spelling) {
            (Spelling::File(one, first), Spelling::File(two, second))
                if one == two && first.end() <= second.start() =>
            {
                let between = first.end().index()..second.start().index();
                memchr::memchr(b'\n', &self.files.get(one).bytes()[between]).is_some()
            }
            _ => false,
        }
    }

    fn finish(mut self) -> Result<Vec<Tok<'a>>, ParseFailure> {
        if let Some(open) = self.open.last() {
            let tok = &self.toks[open.index];
            return Err(unbalanced(tok.text, tok.first));
        }
        let end =
            u32::try_from(self.item.tokens.len()).expect("an item has fewer than 2^32 tokens");
        let mate = self.toks.len();
        self.toks.push(Tok {
            kind: Kind::End,
            text: b"",
            first: end,
            last: end,
            mate,
            newline_before: true,
        });
        Ok(self.toks)
    }
}

fn unbalanced(bracket: &[u8], token: u32) -> ParseFailure {
    let reason = format!(
        "unbalanced brackets at `{}`",
        String::from_utf8_lossy(bracket)
    );
    ParseFailure { token, reason }
}
