//! Lookups that turn into the variable with their result.

use super::Draft;
use crate::ast::{BinaryOp, ExprKind};
use crate::source::ByteSpan;

impl Draft<'_, '_> {
    /// Replaces a lookup by the variable that has its result.
    pub(in crate::strong) fn name_result(&mut self, span: ByteSpan, name: &str) {
        let (span, name) = match self.up_to_comma(span) {
            Some(span) => (span, ""),
            None => (span, name),
        };
        self.replace(span, name);
        self.named.push((span, name.to_owned()));
    }

    /// The operand of a comma whose value nobody takes, up to the next one: `v = lookup(d, k), `. It
    /// may be in parentheses.
    fn up_to_comma(&self, operand: ByteSpan) -> Option<ByteSpan> {
        let (scene, tree) = (self.scene, self.scene.tree);
        let whole = tree.expr_ids().find(|&at| match tree.expr(at).kind {
            ExprKind::Binary {
                op: BinaryOp::Comma,
                lhs,
                ..
            } => scene.span(lhs).is_some_and(|span| operand.contains(span)),
            _ => false,
        })?;
        let rest = ByteSpan::new(operand.end().0, scene.span(whole)?.end().0);
        let rest = scene.text(rest);
        let next = rest
            .trim_start_matches(' ')
            .strip_prefix(',')?
            .trim_start_matches(' ');
        let gap = u32::try_from(rest.len() - next.len()).ok()?;
        Some(ByteSpan::new(operand.start().0, operand.end().0 + gap))
    }
}
