//! The text of expressions, that of arguments of macros included: `PyInt_Check(PyList_GetItem(l, 0))`.

use super::scene::Scene;
use crate::ast::ExprId;
use crate::preprocess::Place;
use crate::source::ByteSpan;

impl Scene<'_> {
    /// The text that an expression is written as: the file's own, or that of an argument which its
    /// macro uses once, and for nothing but its value.
    pub(super) fn written(&self, expr: ExprId) -> Option<ByteSpan> {
        match self.cx.place(self.item, expr)? {
            Place::File(file, span) => (file == self.file).then_some(span),
            Place::Argument { file, span, .. } => {
                let is_spelled = || {
                    self.cx
                        .item(self.item)
                        .tokens
                        .is_spelled_out(self.tree.expr(expr).range)
                };
                (file == self.file && is_spelled()).then_some(span)
            }
            Place::Macro { .. } => None,
        }
    }

    /// The use of the macro that makes an expression, and nothing but that in parentheses:
    /// `#define ITEMS(box) ((box)->items)`.
    pub(super) fn made_whole(&self, expr: ExprId) -> Option<ByteSpan> {
        let tokens = &self.cx.item(self.item).tokens;
        let range = self.tree.expr(expr).range;
        let root = tokens.root(tokens.tokens.get(range.start as usize)?.expansion?);
        let mut around = (root.tokens.start..range.start).chain(range.end..root.tokens.end);
        let files = self.cx.program.files;
        let is_whole = root.tokens.contains(range)
            && around.all(|at| matches!(tokens.text(files, at), b"(" | b")"));
        let (file, span) = root.call;
        (is_whole && file == self.file).then_some(span)
    }
}
