//! Initialisers.

use lang_c::ast;
use lang_c::span::{Node, Span};

use super::Lowerer;
use crate::ast::{Designator, Init, InitEntry, InitList};

impl Lowerer<'_> {
    pub(super) fn initializer(&mut self, node: &Node<ast::Initializer>) -> Init {
        match &node.node {
            ast::Initializer::Expression(value) => Init::Expr(self.expression(value)),
            ast::Initializer::List(items) => Init::List(self.initializer_list(items, node.span)),
        }
    }

    /// The list that stands, with its braces, under `span`.
    pub(super) fn initializer_list(
        &mut self,
        items: &[Node<ast::InitializerListItem>],
        span: Span,
    ) -> InitList {
        let entries = items
            .iter()
            .map(|item| InitEntry {
                designators: item
                    .node
                    .designation
                    .iter()
                    .map(|node| self.designator(node))
                    .collect(),
                value: self.initializer(&item.node.initializer),
                range: self.range(item.span),
            })
            .collect();
        let mut range = self.range(span);
        // `lang_c` counts the `=` of a declaration in.
        if range.start < range.end && self.text(range.start) == b"=" {
            range.start += 1;
        }
        InitList { entries, range }
    }

    fn designator(&mut self, node: &Node<ast::Designator>) -> Designator {
        match &node.node {
            ast::Designator::Index(index) => Designator::Index(self.expression(index)),
            ast::Designator::Member(name) => Designator::Field(self.name(name).into()),
            ast::Designator::Range(range) => {
                let from = self.expression(&range.node.from);
                Designator::Range(from, self.expression(&range.node.to))
            }
        }
    }
}
