//! `lang-c` behind a wall: expanded tokens of one top-level item to a `lang_c` tree.
//!
//! The parser never sees the file. It gets the *shadow*: text made of the item's tokens in which
//! what `lang-c` cannot read is replaced by stand-ins, after a prelude with the type names the item
//! uses. [`ParsedItem::tokens_of`] is the only way back.
//!
//! Stand-ins that `lower` resolves:
//!
//! | source | shadow |
//! |---|---|
//! | `a ?: b` | `a ? __ungil_elvis : b` |
//! | `&&label` | `__ungil_label_address(label)` |
//! | `goto *e;` | `__ungil_computed_goto(e);` |
//! | string pieces `"a" "b"` | `""` (the pieces' tokens are in the node's range) |
//! | `'x'` | `'a'` |
//! | numbers `lang-c` cannot read | `0` (the text is in the node's tokens) |
//! | `$`, non-ASCII identifiers | `__ungil_id_N`, N the token's index |
//! | attributes, `asm`, `__extension__`, `_Pragma` | nothing |

mod item;

pub use item::{ParsedItem, ShadowToken};
