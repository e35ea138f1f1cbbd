//! A parsed item and the map from parser offsets back to tokens.

use lang_c::ast::TranslationUnit;
use lang_c::span::Span;

use crate::ast::TokenRange;

/// A token of the shadow text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShadowToken {
    /// First byte in the shadow.
    pub start: u32,
    /// First byte after it.
    pub end: u32,
    /// First of the item's tokens it stands for.
    pub first: u32,
    /// First token after those; equals `first` for inserted stand-ins.
    pub last: u32,
}

/// The tree of one top-level item.
#[derive(Debug)]
pub struct ParsedItem {
    /// The prelude's typedefs and the item, in one translation unit.
    pub unit: TranslationUnit,
    /// How many external declarations of `unit` belong to the prelude.
    pub prelude: usize,
    /// Shadow tokens in order.
    pub shadow: Vec<ShadowToken>,
}

impl ParsedItem {
    /// The item's tokens under a span of the shadow. Blanks at either end of the span do not
    /// matter; a span over inserted stand-ins only gives an empty range at their place.
    #[must_use]
    pub fn tokens_of(&self, span: Span) -> TokenRange {
        let from = self
            .shadow
            .partition_point(|token| (token.start as usize) < span.start);
        let to = self
            .shadow
            .partition_point(|token| (token.end as usize) <= span.end);
        let inside = self.shadow.get(from..to).unwrap_or_default();
        match (inside.first(), inside.last()) {
            (Some(first), Some(last)) => TokenRange {
                start: first.first,
                end: last.last.max(first.first),
            },
            _ => {
                let at = self.shadow.get(from).map_or(0, |token| token.first);
                TokenRange { start: at, end: at }
            }
        }
    }
}
