//! The shadow text and what each piece of it stands for.

use super::ShadowToken;

/// The only type name of the shadow.
pub(super) const TYPE: &str = "T";
/// Every other name.
pub(super) const NAME: &str = "x";
/// The name a `typedef` declares; never used as a type, as its uses become [`TYPE`].
pub(super) const TYPEDEF: &str = "D";
/// The missing middle of `a ?: b`.
pub(crate) const ELVIS: &str = "E";
/// `&&label` is a call of this.
pub(crate) const LABEL_ADDRESS: &str = "L";
/// `goto *e;` is a call of this.
pub(crate) const COMPUTED_GOTO: &str = "G";

/// Declares [`TYPE`].
const PRELUDE: &str = "typedef int T;";
/// How many external declarations the prelude is.
pub(super) const PRELUDE_ITEMS: usize = 1;

/// The text for `lang-c` under construction.
#[derive(Debug)]
pub(super) struct Shadow {
    pub(super) text: String,
    pub(super) tokens: Vec<ShadowToken>,
}

impl Shadow {
    /// The prelude, with room for an item of `tokens` tokens.
    pub(super) fn new(tokens: usize) -> Self {
        let mut text = String::with_capacity(PRELUDE.len() + 2 * tokens);
        text.push_str(PRELUDE);
        Self {
            text,
            tokens: Vec::with_capacity(tokens),
        }
    }

    /// Writes `text` for the tokens from `first` up to `last`.
    pub(super) fn put(&mut self, text: &str, first: u32, last: u32) {
        if needs_blank(self.text.as_bytes(), text.as_bytes()) {
            self.text.push(' ');
        }
        let start = offset(self.text.len());
        self.text.push_str(text);
        self.tokens.push(ShadowToken {
            start,
            end: offset(self.text.len()),
            first,
            last,
        });
    }

    /// The item's token at, or next after, an offset into the text.
    pub(super) fn token_at(&self, offset: usize) -> u32 {
        let at = self
            .tokens
            .partition_point(|token| (token.end as usize) <= offset);
        self.tokens.get(at).map_or_else(
            || {
                self.tokens
                    .last()
                    .map_or(0, |token| token.last.saturating_sub(1))
            },
            |token| token.first,
        )
    }
}

/// Whether the two would be read as one token, or might.
fn needs_blank(before: &[u8], after: &[u8]) -> bool {
    let class = |byte: u8| match byte {
        b'(' | b')' | b'[' | b']' | b'{' | b'}' | b';' | b',' => 0,
        // `case 0 ...0:` must not become `0.`
        _ if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') => 1,
        _ => 2,
    };
    match (before.last(), after.first()) {
        (Some(&before), Some(&after)) => class(before) != 0 && class(before) == class(after),
        _ => false,
    }
}

fn offset(n: usize) -> u32 {
    u32::try_from(n).expect("a token is replaced by no more text than it has")
}
