//! `lang-c` behind a wall: expanded tokens of one top-level item to a `lang_c` tree.
//!
//! The parser never sees the file. It gets the *shadow*: a text with the structure of the item
//! and none of its words, after a prelude that declares one type.
//! [`ParsedItem::tokens_of`] is the only way back.
//!
//! `lang-c` keeps its table of type names private and gives up at the first error. So the names
//! are told apart before it runs: each type name is written `T`, every other name `x`, and what
//! the parser cannot read is replaced or left out:
//!
//! | source | shadow |
//! |---|---|
//! | `a ?: b` | `x?E:x` |
//! | `&&label` | `L(x)` |
//! | `goto *e;` | `G(x);` |
//! | string pieces `"a" NAME "b"` | `""` (the pieces' tokens are in the node's range) |
//! | numbers, characters | `0` (the text is in the node's tokens) |
//! | a type argument: `NEW(struct s *, 3)` | `x(sizeof(struct x*),0)` |
//! | a missing argument or type | `x`, `int` |
//! | `MACRO(x)` without `;`, a label before `}` | the `;` is added |
//! | `FOREACH(x) {` | `while(x(x)){` |
//! | attributes, calling conventions, `__extension__`, `_Pragma` | nothing |
//! | unknown words where no name can stand (`EXPORT int f(void) NOTHROW`) | nothing |
//! | `asm` as a statement | `__asm__("")`; elsewhere nothing |
//! | static assertions, macros that generate items | nothing |
//!
//! The names of types that headers declare are not known, as headers of the system are not read;
//! [`TypeNames`] has the common ones, and the others are inferred from where they stand.

mod clean;
mod item;
mod scopes;
mod shadow;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod type_names;
mod walk;
mod words;

pub use item::{ParsedItem, ShadowToken};
pub use type_names::TypeNames;

pub(crate) use scopes::Scopes;
pub(crate) use shadow::{COMPUTED_GOTO, ELVIS, LABEL_ADDRESS};
pub(crate) use words::is_keyword;

use lang_c::ast::TranslationUnit;
use lang_c::driver::{Config, Flavor, parse_preprocessed};

use crate::preprocess::ItemTokens;
use crate::source::FileSet;
use walk::Walker;

/// Why an item has no tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ParseFailure {
    /// Index of the first token that could not be understood.
    pub token: u32,
    /// What is wrong there, for people.
    pub reason: String,
}

/// Parses one top-level item.
///
/// An item without code (a static assertion, a lone `;`, a macro that generates something) gives
/// an empty unit.
///
/// # Errors
/// If the item is no C that is understood, or is nested deeper than the parser can follow. Needs
/// up to 64 MiB of stack.
pub fn parse_item(
    tokens: &ItemTokens,
    files: &FileSet,
    types: &TypeNames,
) -> Result<ParsedItem, ParseFailure> {
    let toks = clean::clean(tokens, files)?;
    let shadow = Walker::new(&toks, types).walk()?;
    if shadow.tokens.is_empty() {
        let unit = TranslationUnit(Vec::new());
        return Ok(ParsedItem {
            unit,
            prelude: 0,
            shadow: Vec::new(),
        });
    }
    let config = Config {
        cpp_command: String::new(),
        cpp_options: Vec::new(),
        flavor: Flavor::GnuC11,
    };
    match parse_preprocessed(&config, shadow.text.clone()) {
        Ok(parse) => Ok(ParsedItem {
            unit: parse.unit,
            prelude: shadow::PRELUDE_ITEMS,
            shadow: shadow.tokens,
        }),
        Err(error) => {
            let token = shadow.token_at(error.offset);
            let text = tokens
                .tokens
                .get(token as usize)
                .map(|_| String::from_utf8_lossy(tokens.text(files, token)).into_owned());
            let reason = match text {
                Some(text) => format!("unexpected `{text}`"),
                None => "unexpected end".to_owned(),
            };
            Err(ParseFailure { token, reason })
        }
    }
}
