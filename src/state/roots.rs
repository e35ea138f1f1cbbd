//! The variable that an expression names a part of.

use crate::ast::{ExprId, ExprKind, Name, Tree, UnaryOp};

/// Which part of a variable an expression names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// All of it: `cache`.
    Whole,
    /// An element or a part of it: `table[i]`, `*buffer`, `table[i].next`. Of a pointer this is
    /// something else than the variable.
    Element,
    /// A field: `state.count`.
    Field,
}

/// The variable that `expr` names (a part of): `table` for `table[i].next`. `None` for what is
/// reached through a pointer in a field, and for what is no place.
#[must_use]
pub fn root(tree: &Tree, expr: ExprId) -> Option<(&Name, Path)> {
    match &tree.expr(expr).kind {
        ExprKind::Name(name) => Some((name, Path::Whole)),
        ExprKind::Index { base, .. }
        | ExprKind::Unary {
            op: UnaryOp::Deref,
            operand: base,
        } => match root(tree, *base)? {
            (name, Path::Whole | Path::Element) => Some((name, Path::Element)),
            (_, Path::Field) => None,
        },
        ExprKind::Member {
            base, arrow: false, ..
        } => {
            let (name, path) = root(tree, *base)?;
            Some((
                name,
                if path == Path::Element {
                    path
                } else {
                    Path::Field
                },
            ))
        }
        _ => None,
    }
}

/// The place that an argument hands to a callee: `&x`, `&x[i]`, `x` and `x + n` of an array,
/// through casts.
pub(super) fn handed(tree: &Tree, arg: ExprId) -> Option<(&Name, Path)> {
    match &tree.expr(arg).kind {
        ExprKind::Unary {
            op: UnaryOp::AddressOf,
            operand,
        } => root(tree, *operand),
        ExprKind::Cast { operand, .. } => handed(tree, *operand),
        ExprKind::Binary {
            op: crate::ast::BinaryOp::Plus,
            lhs,
            ..
        } => handed(tree, *lhs),
        ExprKind::Name(name) => Some((name, Path::Element)),
        ExprKind::Member { arrow: false, .. } => root(tree, arg),
        _ => None,
    }
}
