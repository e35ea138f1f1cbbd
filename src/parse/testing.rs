//! Items from plain text, for tests.

use std::path::PathBuf;

use crate::lex::lex;
use crate::preprocess::{ItemTokens, PpToken, Spelling};
use crate::source::{FileSet, SourceFile};

/// The tokens of `text`, nothing expanded.
pub(crate) fn item(text: &str) -> (FileSet, ItemTokens) {
    let mut files = FileSet::default();
    let file = files.add(SourceFile::new(
        PathBuf::from("a.c"),
        text.as_bytes().to_vec(),
    ));
    let tokens = lex(text.as_bytes())
        .into_iter()
        .map(|token| PpToken {
            kind: token.kind,
            spelling: Spelling::File(file, token.span),
            expansion: None,
            from_argument: false,
        })
        .collect();
    (
        files,
        ItemTokens {
            tokens,
            ..ItemTokens::default()
        },
    )
}
