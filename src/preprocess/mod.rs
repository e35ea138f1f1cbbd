//! C preprocessing that never loses where a token came from.
//!
//! See `docs/preprocessing.md`. The result for one translation unit in one configuration is a list
//! of top-level items, each a list of expanded tokens with their origins.

mod origin;

pub use origin::{Expansion, ExpansionId, ItemTokens, Place, PpToken, Spelling};
