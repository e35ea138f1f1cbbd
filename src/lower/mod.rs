//! A `lang_c` tree and the tokens it was made from to our own tree.
//!
//! The parser saw a shadow without words: structure comes from `lang_c`, every name, number and
//! string from the item's tokens.

mod declaration;
mod declarator;
mod expression;
mod initializer;
mod literal;
mod operators;
mod specifiers;
mod statement;
#[cfg(test)]
mod tests;

use lang_c::ast::{ExternalDeclaration, Identifier};
use lang_c::span::{Node, Span};

use crate::ast::{ExprId, ExprKind, Item, LocalId, Stmt, StmtId, StmtKind, TokenRange, Tree};
use crate::parse::{ParseFailure, ParsedItem, Scopes, TypeNames, parse_item};
use crate::preprocess::ItemTokens;
use crate::source::FileSet;

/// Parses and lowers one top-level item.
///
/// # Errors
/// Those of [`parse_item`].
pub fn parse_and_lower(
    tokens: &ItemTokens,
    files: &FileSet,
    types: &TypeNames,
) -> Result<Item, ParseFailure> {
    parse_item(tokens, files, types).map(|parsed| lower(&parsed, tokens, files, types))
}

/// Turns a parsed item into our own tree.
///
/// If the tokens hold more than one external declaration, the first function is the item; without
/// a function all declarations become one, with the storage class of the first.
#[must_use]
pub fn lower(parsed: &ParsedItem, tokens: &ItemTokens, files: &FileSet, types: &TypeNames) -> Item {
    let mut merged = None;
    for external in parsed.unit.0.iter().skip(parsed.prelude) {
        let mut lowerer = Lowerer::new(parsed, tokens, files, types);
        match &external.node {
            ExternalDeclaration::FunctionDefinition(function) => {
                return Item::Function(lowerer.function(function));
            }
            ExternalDeclaration::Declaration(declaration) => {
                if let Some(before) = merged.take() {
                    lowerer.resume(before);
                }
                merged = Some(lowerer.external_declaration(declaration));
            }
            ExternalDeclaration::StaticAssert(_) => {}
        }
    }
    merged.map_or(Item::Other, Item::Declaration)
}

/// The lowering of one item.
struct Lowerer<'a> {
    parsed: &'a ParsedItem,
    tokens: &'a ItemTokens,
    files: &'a FileSet,
    types: &'a TypeNames,
    tree: Tree,
    /// Block-scope names; `None` for those that are no variables of the function.
    scopes: Scopes<'a, Option<LocalId>>,
    /// What an earlier external declaration of the item gave.
    before: Option<crate::ast::Declaration>,
}

impl<'a> Lowerer<'a> {
    fn new(
        parsed: &'a ParsedItem,
        tokens: &'a ItemTokens,
        files: &'a FileSet,
        types: &'a TypeNames,
    ) -> Self {
        Self {
            parsed,
            tokens,
            files,
            types,
            tree: Tree::default(),
            scopes: Scopes::new(),
            before: None,
        }
    }

    /// The item's tokens under a span of the shadow.
    fn range(&self, span: Span) -> TokenRange {
        self.parsed.tokens_of(span)
    }

    fn text(&self, index: u32) -> &'a [u8] {
        self.tokens.text(self.files, index)
    }

    /// The text of all tokens of `range`, without blanks; borrowed if there is only one.
    fn range_text(&self, range: TokenRange) -> Box<str> {
        let mut text = Vec::new();
        for index in range.start..range.end {
            text.extend_from_slice(self.text(index));
        }
        String::from_utf8_lossy(&text).into()
    }

    fn name(&self, identifier: &Node<Identifier>) -> Box<str> {
        self.range_text(self.range(identifier.span))
    }

    /// The name as it is looked up in a scope: its first token.
    fn scope_key(&self, range: TokenRange) -> &'a [u8] {
        if range.start < range.end {
            self.text(range.start)
        } else {
            b""
        }
    }

    fn push_expr(&mut self, kind: ExprKind, range: TokenRange) -> ExprId {
        self.tree.push_expr(kind, range)
    }

    fn push_stmt(&mut self, kind: StmtKind, range: TokenRange) -> StmtId {
        let id = StmtId(to_u32(self.tree.stmts.len()));
        self.tree.stmts.push(Stmt { kind, range });
        id
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).expect("a tree has fewer nodes than its item has bytes")
}
