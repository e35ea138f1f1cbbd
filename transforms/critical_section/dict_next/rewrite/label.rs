//! Labels that nothing jumps to any more: compilers warn of them.

use super::Rewrite;
use crate::ast::{ExprKind, StmtId, StmtKind, UnaryOp};
use crate::source::ByteSpan;
use crate::transforms::critical_section::dict_next::exits::ExitKind;

impl Rewrite<'_> {
    /// Takes out the label behind the region if every jump to it has become a `break`.
    ///
    /// ```c
    /// while (PyDict_Next(d, &pos, &k, &v)) {      /* in a section now */
    ///     if (look(v))
    ///         goto done;                          /* turns into `break;` */
    /// }
    /// done:
    /// ```
    pub(super) fn unused_label(&mut self) {
        let plan = self.section.plan;
        let Some(ExitKind::Goto(name)) = plan.exits.first().map(|exit| &exit.exit.kind) else {
            return;
        };
        if plan.happens_anyway && !self.is_used_elsewhere(name) {
            let label = self.label_text(name);
            self.draft
                .openers
                .extend(label.map(|label| self.draft.layout.remove(label)));
        }
    }

    /// Whether something beside the exits of the section names the label, in any branch of an
    /// `#if`.
    fn is_used_elsewhere(&self, name: &str) -> bool {
        let tree = self.section.scope.tree();
        let exits = &self.section.plan.exits;
        let stays = |id: StmtId| !exits.iter().any(|departure| departure.exit.stmt == id);
        let jumps = (0..).map(StmtId).zip(&tree.stmts).any(|(id, stmt)| {
            matches!(&stmt.kind, StmtKind::Goto(label) if &**label == name) && stays(id)
        });
        let takes_address = |op: &UnaryOp| matches!(op, UnaryOp::LabelAddress);
        let computed = tree
            .exprs
            .iter()
            .any(|expr| matches!(&expr.kind, ExprKind::Unary { op, .. } if takes_address(op)));
        // The jumps and the label itself.
        jumps || computed || self.words_in_function(name) != exits.len() + 1
    }

    /// How often the name stands in the text of the function.
    fn words_in_function(&self, name: &str) -> usize {
        let scope = self.section.scope;
        let (_, function) = scope.cx.item(scope.item).place;
        let words = self.draft.tokens.iter().filter(|token| {
            function.contains(token.span)
                && &self.draft.bytes[token.span.range()] == name.as_bytes()
        });
        words.count()
    }

    /// `done:`
    fn label_text(&self, name: &str) -> Option<ByteSpan> {
        let scope = self.section.scope;
        let mut stmts = (0..).map(StmtId).zip(&scope.tree().stmts);
        let (label, _) = stmts.find(
            |(_, stmt)| matches!(&stmt.kind, StmtKind::Label { name: own, .. } if &**own == name),
        )?;
        let start = self.draft.span(label).ok()?.start();
        let tokens = self.draft.tokens;
        let at = tokens.partition_point(|token| token.span.start() < start);
        let [word, colon] = tokens.get(at..at + 2)? else {
            return None;
        };
        (&self.draft.bytes[colon.span.range()] == b":").then(|| word.span.join(colon.span))
    }
}
