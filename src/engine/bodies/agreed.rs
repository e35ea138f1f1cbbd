//! What the uses of a macro ask for, in the words of its body.
//!
//! ```c
//! #define SET(name) self->name##_func = Py_NewRef(PyList_GET_ITEM(list, OF_##name));
//!
//! SET(step)      self->step_func = PyList_GetItemRef(list, OF_step);
//! SET(end)       self->end_func = PyList_GetItemRef(list, OF_end);
//! ```

use super::BodyEdits;
use super::uses::{Target, Use};
use crate::lex::{Token, TokenKind, lex};

/// The edits of the body of `target`, whose file has `bytes`, that are for each use those of
/// `asked`; `None` if there are none.
pub(super) fn edits(target: &Target<'_>, bytes: &[u8], asked: &[BodyEdits]) -> Option<BodyEdits> {
    let (first, others) = asked.split_first()?;
    let is_like = |other: &BodyEdits| {
        let mut pairs = first.iter().zip(other);
        first.len() == other.len() && pairs.all(|((one, _), (other, _))| one == other)
    };
    if !others.iter().all(is_like) {
        return None;
    }
    let spans = first.iter().map(|(span, _)| *span);
    let edits = spans.enumerate().map(|(at, span)| {
        let texts = asked.iter().map(|edits| &*edits[at].1);
        let reading = Reading::new(target, bytes, texts.collect());
        Some((span, reading.text()?))
    });
    edits.collect()
}

/// New text as the uses have it, read word by word side by side.
struct Reading<'r> {
    target: &'r Target<'r>,
    /// The file of the definition.
    bytes: &'r [u8],
    texts: Vec<Text<'r>>,
}

struct Text<'r> {
    used: &'r Use,
    text: &'r [u8],
    tokens: Vec<Token>,
    /// Number of the token that is next.
    next: usize,
}

impl<'r> Reading<'r> {
    fn new(target: &'r Target<'r>, bytes: &'r [u8], texts: Vec<&'r [u8]>) -> Self {
        let texts = texts.into_iter().zip(&target.uses);
        let texts = texts.map(|(text, used)| Text {
            used,
            text,
            tokens: lex(text),
            next: 0,
        });
        Self {
            target,
            bytes,
            texts: texts.collect(),
        }
    }

    /// The text with the words of the body for what arguments are in; `None` if the uses differ.
    fn text(mut self) -> Option<Vec<u8>> {
        let mut new = Vec::new();
        loop {
            new.extend_from_slice(same(self.texts.iter().map(Text::gap))?);
            let left = self.texts.iter().map(|text| text.tokens.len() - text.next);
            match left.max()? {
                0 => return Some(new),
                _ => new.extend_from_slice(self.word()?),
            }
        }
    }

    /// The next word.
    fn word(&mut self) -> Option<&'r [u8]> {
        let count = self.target.uses[0].written.words.len();
        // What a use has in no place where it could be an argument is none.
        if self.texts.iter().all(Text::may_be_argument) {
            for word in 0..count {
                let lengths = self.texts.iter().map(|text| text.length_of(word));
                if let Some(lengths) = lengths.collect::<Option<Vec<usize>>>() {
                    let texts = self.texts.iter_mut().zip(lengths);
                    texts.for_each(|(text, length)| text.next += length);
                    let body = self.target.uses[0].written.words[word].body;
                    return Some(&self.bytes[body.range()]);
                }
            }
        }
        let words = self.texts.iter().map(Text::word);
        let word = same(words.collect::<Option<Vec<&[u8]>>>()?.into_iter())?;
        self.texts.iter_mut().for_each(|text| text.next += 1);
        Some(word)
    }
}

impl<'r> Text<'r> {
    /// What stands between the last token and the next.
    fn gap(&self) -> &'r [u8] {
        let start = self.next.checked_sub(1);
        let start = start.map_or(0, |last| self.tokens[last].span.end().index());
        let next = self.tokens.get(self.next);
        let end = next.map_or(self.text.len(), |next| next.span.start().index());
        &self.text[start..end]
    }

    fn word(&self) -> Option<&'r [u8]> {
        let token = self.tokens.get(self.next)?;
        Some(&self.text[token.span.range()])
    }

    /// `0` and `NULL` are what new text compares with as well: `if (item == NULL)`.
    fn may_be_argument(&self) -> bool {
        let is_number = self
            .tokens
            .get(self.next)
            .is_some_and(|token| token.kind == TokenKind::Number);
        let before = self.next.checked_sub(1).map(|last| self.tokens[last].span);
        let is_listed = before.is_some_and(|span| matches!(&self.text[span.range()], b"(" | b","));
        is_listed || !is_number && self.word() != Some(b"NULL")
    }

    /// How many tokens a word of the body is, if it is next.
    fn length_of(&self, word: usize) -> Option<usize> {
        let written = &self.used.written;
        let wanted = &written.text[written.words[word].text.range()];
        let start = self.tokens.get(self.next)?.span.start().index();
        let rest = self.text.get(start..)?;
        let tokens = self.tokens[self.next..].iter();
        let is_it = !wanted.is_empty() && rest.starts_with(wanted);
        let ends = tokens.map(|token| token.span.end().index());
        let at = ends.take_while(|&end| end <= start + wanted.len());
        let ends: Vec<usize> = at.collect();
        (is_it && ends.last() == Some(&(start + wanted.len()))).then_some(ends.len())
    }
}

/// The one that all are.
fn same<'t>(mut all: impl Iterator<Item = &'t [u8]>) -> Option<&'t [u8]> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}
