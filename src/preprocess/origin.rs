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

impl ItemTokens {
    /// The bytes of token `index`.
    #[must_use]
    pub fn text<'a>(&'a self, files: &'a FileSet, index: u32) -> &'a [u8] {
        match self.tokens[index as usize].spelling {
            Spelling::File(file, span) => files.get(file).slice(span),
            Spelling::Synthetic(span) => &self.synthetic[span.range()],
        }
    }
}
