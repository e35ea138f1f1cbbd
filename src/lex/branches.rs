//! Where the branches of `#if` begin and end, as far as tokens show it.

use super::Token;
use crate::source::ByteSpan;

/// How many `#if`s that begin in `span` are open at its end; `None` if one that began before, or a
/// branch of it, ends there.
#[must_use]
pub fn open_branches(bytes: &[u8], tokens: &[Token], span: ByteSpan) -> Option<u32> {
    let inside = tokens.windows(2).filter(|pair| span.contains(pair[0].span));
    let mut open = 0u32;
    for pair in inside {
        if !pair[0].first_on_line || bytes[pair[0].span.range()] != *b"#" {
            continue;
        }
        match &bytes[pair[1].span.range()] {
            b"if" | b"ifdef" | b"ifndef" => open += 1,
            b"endif" => open = open.checked_sub(1)?,
            b"else" | b"elif" if open == 0 => return None,
            _ => {}
        }
    }
    Some(open)
}
