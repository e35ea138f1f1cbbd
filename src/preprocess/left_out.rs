//! What the use of a macro leaves out of its arguments.
//!
//! ```c
//! #ifdef TRACING
//! #define TRACE(...) fprintf(stderr, __VA_ARGS__)
//! #else
//! #define TRACE(...)
//! #endif
//!     TRACE("%s", Py_TYPE(item)->tp_name);      /* reads `item` in other builds */
//! ```

use super::origin::{Expansion, ItemTokens, Spelling};
use crate::ast::TokenRange;
use crate::lex::{self, Token, TokenKind};
use crate::source::{ByteSpan, FileId, FileSet};

impl ItemTokens {
    /// The words in the arguments of the macro use that is all of the statement `range`, without
    /// those that are tokens of the statement.
    #[must_use]
    pub fn left_out<'f>(&self, files: &'f FileSet, range: TokenRange) -> Vec<&'f [u8]> {
        let Some(first) = self.tokens.get(range.start as usize) else {
            return Vec::new();
        };
        let use_ = match (first.expansion, first.spelling) {
            (Some(id), _) => {
                let root = self.root(id);
                self.is_all_of(root, range).then_some(root.call)
            }
            (None, Spelling::File(file, end)) if range.end == range.start + 1 => self
                .use_in_front(files, range.start, file, end)
                .map(|span| (file, span)),
            (None, _) => None,
        };
        let Some((file, span)) = use_ else {
            return Vec::new();
        };
        let text = files.get(file).slice(span);
        let words = lex::lex(text).into_iter().skip(1);
        let words = words.filter(|word| {
            let at = |kept: &Spelling| {
                matches!(*kept, Spelling::File(of, kept)
                    if of == file && kept.start().0 == span.start().0 + word.span.start().0)
            };
            let tokens = &self.tokens[range.start as usize..range.end as usize];
            word.kind == TokenKind::Ident && !tokens.iter().any(|token| at(&token.spelling))
        });
        words.map(|word| &text[word.span.range()]).collect()
    }

    /// Whether a statement is what `root` made, with a `;` behind it or not.
    fn is_all_of(&self, root: &Expansion, range: TokenRange) -> bool {
        let behind = self.tokens.get(root.tokens.end as usize);
        let ends = range.end == root.tokens.end
            || range.end == root.tokens.end + 1 && behind.is_some_and(|it| it.expansion.is_none());
        range.start == root.tokens.start && ends
    }

    /// The macro use without a token in front of the lone `;` at `end`.
    fn use_in_front(
        &self,
        files: &FileSet,
        semicolon: u32,
        file: FileId,
        end: ByteSpan,
    ) -> Option<ByteSpan> {
        let before = self.tokens.get(semicolon.checked_sub(1)? as usize)?;
        let before = match (before.expansion, before.spelling) {
            (Some(id), _) => self.root(id).call,
            (None, Spelling::File(of, span)) => (of, span),
            (None, Spelling::Synthetic(_)) => return None,
        };
        if before.0 != file || before.1.end() > end.start() {
            return None;
        }
        let gap = ByteSpan::new(before.1.end().0, end.start().0);
        let text = files.get(file).slice(gap);
        let tokens = lex::lex(text);
        let name = name_of_use(text, &tokens)?;
        let at = |offset: u32| gap.start().0 + offset;
        let last = tokens.last()?.span.end().0;
        Some(ByteSpan::new(at(tokens[name].span.start().0), at(last)))
    }
}

/// The token that names what is called at the end of `tokens`.
fn name_of_use(text: &[u8], tokens: &[Token]) -> Option<usize> {
    let mut depth = 0u32;
    for at in (0..tokens.len()).rev() {
        match &text[tokens[at].span.range()] {
            b")" => depth += 1,
            b"(" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            let name = at.checked_sub(1)?;
            return (tokens[name].kind == TokenKind::Ident).then_some(name);
        }
    }
    None
}
