//! Top-level items of a file by brackets and layout: what a fix is recognised by, and how far
//! "the whole function" reaches.

use std::ops::Range;

use sha1::{Digest, Sha1};

use crate::lex::{Token, lex};
use crate::source::{ByteSpan, SourceFile};

/// The items of one file.
///
/// Unlike the items of the preprocessor these are the same in every configuration, and they exist
/// also in text that was not understood.
#[derive(Debug)]
pub struct Items {
    tokens: Vec<Token>,
    /// Token indices of each item; they cover all tokens, in order.
    items: Vec<Range<usize>>,
}

impl Items {
    /// Splits the text of `file`.
    #[must_use]
    pub fn new(file: &SourceFile) -> Self {
        let tokens = lex(file.bytes());
        let mut splitter = Splitter::default();
        for at in 0..tokens.len() {
            splitter.push(file, &tokens, at);
        }
        if splitter.start < tokens.len() {
            splitter.items.push(splitter.start..tokens.len());
        }
        Self {
            items: splitter.items,
            tokens,
        }
    }

    /// The item around `span`: its index in the file.
    #[must_use]
    pub fn around(&self, span: ByteSpan) -> usize {
        let starts_before =
            |item: &Range<usize>| self.tokens[item.start].span.start() <= span.start();
        self.items.partition_point(starts_before).saturating_sub(1)
    }

    /// Bytes of an item; empty for a file without tokens.
    #[must_use]
    pub fn span(&self, item: usize) -> ByteSpan {
        let Some(range) = self.items.get(item) else {
            return ByteSpan::new(0, 0);
        };
        let (first, last) = (&self.tokens[range.start], &self.tokens[range.end - 1]);
        first.span.join(last.span)
    }

    /// Hash of the item's tokens: blind to comments, blanks and lines.
    pub(super) fn hash(&self, file: &SourceFile, item: usize) -> [u8; 20] {
        let mut hasher = Sha1::new();
        for token in &self.tokens[self.items.get(item).cloned().unwrap_or_default()] {
            hasher.update(file.slice(token.span));
            hasher.update([0]);
        }
        hasher.finalize().into()
    }
}

#[derive(Default)]
struct Splitter {
    items: Vec<Range<usize>>,
    start: usize,
    depth: u32,
    in_directive: bool,
}

impl Splitter {
    fn push(&mut self, file: &SourceFile, tokens: &[Token], at: usize) {
        let token = &tokens[at];
        let text = file.slice(token.span);
        if token.first_on_line {
            self.in_directive = text == b"#";
        }
        if self.in_directive {
            return;
        }
        // A `}` in the first column ends an item whatever branches of `#if` opened.
        let closes_all = text == b"}" && begins_line(file, token);
        match text {
            // `extern "C" {` is no body.
            b"{" if self.depth == 0 && at > 0 && is_string(file, &tokens[at - 1]) => {}
            b"{" => self.depth += 1,
            b"}" if closes_all => self.depth = 0,
            b"}" => self.depth = self.depth.saturating_sub(1),
            b";" => {}
            _ => return,
        }
        if self.depth == 0 && text != b"{" {
            self.items.push(self.start..at + 1);
            self.start = at + 1;
        }
    }
}

fn begins_line(file: &SourceFile, token: &Token) -> bool {
    let start = token.span.range().start;
    start == 0 || file.bytes()[start - 1] == b'\n'
}

fn is_string(file: &SourceFile, token: &Token) -> bool {
    file.slice(token.span).starts_with(b"\"")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::Items;
    use crate::source::{ByteSpan, SourceFile};

    fn items(text: &str) -> (SourceFile, Items) {
        let file = SourceFile::new(PathBuf::from("m.c"), text.into());
        let items = Items::new(&file);
        (file, items)
    }

    fn around(text: &str, needle: &str) -> String {
        let (file, items) = items(text);
        let at = u32::try_from(text.find(needle).unwrap()).unwrap();
        let item = items.around(ByteSpan::new(at, at + 1));
        file.text(items.span(item)).into_owned()
    }

    #[test]
    fn an_item_is_a_function_or_declaration() {
        let text = "int a;\nint f(void) { if (a) { x(); } return 1; }\nint b;\n";
        let function = "int f(void) { if (a) { x(); } return 1; }";
        assert_eq!(around(text, "x()"), function);
        assert_eq!(around(text, "int b"), "int b;");
        assert_eq!(around(text, "int a"), "int a;");
    }

    #[test]
    fn brackets_that_branches_open_twice_cost_one_item() {
        let text = "#define B {\nint f(void)\n{\n#if A\n  if (a) {\n#else\n  if (b) {\n#endif\n  \
                    x(); }\n}\nint g;\n";
        assert!(around(text, "x()").ends_with("}\n}"));
        assert_eq!(around(text, "int g"), "int g;");
    }

    #[test]
    fn a_linkage_block_is_looked_into() {
        let text = "extern \"C\" {\nint f(void) { x(); }\nint g;\n}\n";
        assert_eq!(around(text, "int g"), "int g;");
    }

    #[test]
    fn a_hash_is_blind_to_layout_and_comments() {
        let hash = |text: &str| {
            let (file, items) = items(text);
            items.hash(&file, 0)
        };
        let plain = hash("int f(void) { return 1; }");
        assert_eq!(plain, hash("int f(void)\n{\n    return 1; /* one */\n}"));
        assert_ne!(plain, hash("int f(void) { return 2; }"));
        assert_eq!(hash(""), hash("/* nothing */"));
    }
}
