//! Expanded tokens and the way back to the bytes they came from.

use std::sync::Arc;

use crate::ast::TokenRange;
use crate::lex::TokenKind;
use crate::source::{ByteSpan, FileId, FileSet};

/// Names an [`Expansion`] of one item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExpansionId(pub u32);

/// Where the spelling of a token stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// Bytes of a file of the run.
    File(FileId, ByteSpan),
    /// Bytes of the item's own `synthetic` text: results of `#` and `##`, the built-in model.
    Synthetic(ByteSpan),
}

/// One token after expansion.
#[derive(Debug, Clone, Copy)]
pub struct PpToken {
    /// Its kind.
    pub kind: TokenKind,
    /// Where its text stands.
    pub spelling: Spelling,
    /// The innermost expansion it came out of; `None` for text of the file.
    pub expansion: Option<ExpansionId>,
    /// Whether it was written in an argument of that expansion (and not in the macro's body).
    pub from_argument: bool,
}

/// One use of a macro, written in a file or produced by another expansion.
#[derive(Debug, Clone)]
pub struct Expansion {
    /// The macro's name.
    pub name: Arc<str>,
    /// Where the `#define` stands; `None` for macros of the built-in model and `-D`.
    pub definition: Option<(FileId, ByteSpan)>,
    /// The outermost use as written in a file: name and arguments.
    pub call: (FileId, ByteSpan),
    /// The expansion this one was produced by.
    pub parent: Option<ExpansionId>,
    /// The item's tokens that this expansion produced.
    pub tokens: TokenRange,
}

/// The expanded tokens of one top-level item.
#[derive(Debug, Clone, Default)]
pub struct ItemTokens {
    /// The tokens.
    pub tokens: Vec<PpToken>,
    /// Expansions by [`ExpansionId`].
    pub expansions: Vec<Expansion>,
    /// Text of the tokens that stand in no file.
    pub synthetic: Vec<u8>,
}

/// What a range of expanded tokens is in the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Text of one file; complete macro uses may lie inside. Only this may be edited.
    File(FileId, ByteSpan),
    /// Text written in a file as (part of) one argument of a macro.
    Argument {
        /// File of the use.
        file: FileId,
        /// The argument's text.
        span: ByteSpan,
        /// Name of the macro it is an argument of.
        name: Arc<str>,
    },
    /// (Partly) made by the body of a macro.
    Macro {
        /// The macro's name.
        name: Arc<str>,
        /// Where the `#define` stands, if in a file.
        definition: Option<(FileId, ByteSpan)>,
        /// The outermost use.
        call: (FileId, ByteSpan),
    },
}

impl Place {
    /// Its text, or the outermost use of the macro that made it.
    #[must_use]
    pub fn written_at(&self) -> (FileId, ByteSpan) {
        match *self {
            Self::File(file, span) | Self::Argument { file, span, .. } => (file, span),
            Self::Macro { call, .. } => call,
        }
    }
}

impl ItemTokens {
    /// The bytes of token `index`.
    #[must_use]
    pub fn text<'a>(&'a self, files: &'a FileSet, index: u32) -> &'a [u8] {
        match self.tokens[index as usize].spelling {
            Spelling::File(file, span) => files.get(file).slice(span),
            Spelling::Synthetic(span) => &self.synthetic[span.range()],
        }
    }

    /// What `range` (not empty) is in the files.
    #[must_use]
    pub fn place(&self, range: TokenRange) -> Place {
        let tokens = &self.tokens[range.start as usize..range.end as usize];
        let (first, last) = (tokens[0], tokens[tokens.len() - 1]);
        if let (Some(from), Some(to)) = (self.written(&first, range), self.written(&last, range))
            && from.0 == to.0
            && from.1.start() <= to.1.start()
        {
            return Place::File(from.0, from.1.join(to.1));
        }
        self.argument(tokens)
            .unwrap_or_else(|| self.macro_place(tokens))
    }

    /// The span of `range` in its file, if it is [`Place::File`].
    #[must_use]
    pub fn file_span(&self, range: TokenRange) -> Option<(FileId, ByteSpan)> {
        if range.start >= range.end {
            return None;
        }
        match self.place(range) {
            Place::File(file, span) => Some((file, span)),
            Place::Argument { .. } | Place::Macro { .. } => None,
        }
    }

    /// The text of the file that `token` stands for: its own, or the whole use of the macro that
    /// made it if `range` holds all that the use made.
    fn written(&self, token: &PpToken, range: TokenRange) -> Option<(FileId, ByteSpan)> {
        match (token.expansion, token.spelling) {
            (None, Spelling::File(file, span)) => Some((file, span)),
            (None, Spelling::Synthetic(_)) => None,
            (Some(id), _) => {
                let root = self.root(id);
                let whole = root.tokens.start >= range.start && root.tokens.end <= range.end;
                whole.then_some(root.call)
            }
        }
    }

    /// The outermost expansion around `id`.
    #[must_use]
    pub fn root(&self, id: ExpansionId) -> &Expansion {
        let mut expansion = &self.expansions[id.0 as usize];
        while let Some(parent) = expansion.parent {
            expansion = &self.expansions[parent.0 as usize];
        }
        expansion
    }

    /// All tokens written in one argument of one outermost use, and made from it only once.
    fn argument(&self, tokens: &[PpToken]) -> Option<Place> {
        let id = tokens[0].expansion?;
        let root = self.root(id);
        let mut span: Option<ByteSpan> = None;
        for token in tokens {
            let Spelling::File(file, at) = token.spelling else {
                return None;
            };
            let same = token.from_argument
                && file == root.call.0
                && root.call.1.contains(at)
                && token
                    .expansion
                    .is_some_and(|id| std::ptr::eq(self.root(id), root));
            if !same {
                return None;
            }
            span = Some(span.map_or(at, |span| span.join(at)));
        }
        let span = span?;
        let made = &self.tokens[root.tokens.start as usize..root.tokens.end as usize];
        let copies = made
            .iter()
            .filter(|token| token.spelling == tokens[0].spelling)
            .count();
        (copies == 1).then(|| Place::Argument {
            file: root.call.0,
            span,
            name: root.name.clone(),
        })
    }

    /// Whether nothing that is spelled otherwise, as `#` and `##` do, comes of the macro uses that
    /// made `range`.
    #[must_use]
    pub fn is_spelled_out(&self, range: TokenRange) -> bool {
        let tokens = &self.tokens[range.start as usize..range.end as usize];
        let uses = tokens.iter().filter_map(|token| token.expansion);
        let mut made = uses.flat_map(|id| {
            let all = self.root(id).tokens;
            &self.tokens[all.start as usize..all.end as usize]
        });
        made.all(|token| matches!(token.spelling, Spelling::File(..)))
    }

    fn macro_place(&self, tokens: &[PpToken]) -> Place {
        let made = tokens
            .iter()
            .find_map(|token| token.expansion.filter(|_| !token.from_argument));
        let any = made.or_else(|| tokens.iter().find_map(|token| token.expansion));
        let innermost = any.map(|id| &self.expansions[id.0 as usize]);
        let call = any.map_or((FileId(0), ByteSpan::default()), |id| self.root(id).call);
        Place::Macro {
            name: innermost.map_or_else(|| Arc::from(""), |expansion| expansion.name.clone()),
            definition: innermost.and_then(|expansion| expansion.definition),
            call,
        }
    }
}
