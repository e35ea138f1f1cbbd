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
}
