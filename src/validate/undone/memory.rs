//! Memory that is the function's own: its variables, and what it allocated and nobody else has.

use super::super::original::Original;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Name, Tree, TypeKind, UnaryOp};
use crate::capi::{self, words_of};

/// How many variables a pointer is followed through.
const MAX_DEPTH: usize = 4;

/// The places of a function.
pub(super) struct Memory<'a> {
    pub(super) original: &'a Original<'a>,
    pub(super) tree: &'a Tree,
}

impl Memory<'_> {
    /// Whether a pointer leads into the function's own memory, and nowhere else: `&view`,
    /// `buffer + 4`, `text` behind `text = malloc(n)`.
    pub(super) fn is_own(&self, pointer: ExprId) -> bool {
        self.leads_inside(pointer, MAX_DEPTH)
    }

    fn leads_inside(&self, pointer: ExprId, depth: usize) -> bool {
        match self.tree.expr(pointer).kind {
            ExprKind::Cast { operand, .. } => self.leads_inside(operand, depth),
            ExprKind::Unary { op, operand } => match op {
                UnaryOp::AddressOf => self.is_inside(operand, depth),
                _ => op.is_step() && self.leads_inside(operand, depth),
            },
            ExprKind::Binary { op, lhs, .. } => {
                matches!(op, BinaryOp::Plus | BinaryOp::Minus) && self.leads_inside(lhs, depth)
            }
            ExprKind::Conditional {
                then: Some(then),
                otherwise,
                ..
            } => self.leads_inside(then, depth) && self.leads_inside(otherwise, depth),
            ExprKind::Name(Name::Local(local)) => self.is_own_pointer(local, depth),
            // `record.name`, `names[i]`: an array, or a pointer to who knows what.
            ExprKind::Member { .. } | ExprKind::Index { .. } => {
                let ty = self.original.types.of(self.tree, pointer);
                let is_array = ty.is_some_and(|ty| matches!(ty.kind, TypeKind::Array(..)));
                is_array && self.is_inside(pointer, depth)
            }
            ExprKind::Call { .. } => self.tree.called(pointer).is_some_and(allocates),
            _ => false,
        }
    }

    /// Whether a place lies in the function's own memory.
    fn is_inside(&self, place: ExprId, depth: usize) -> bool {
        match self.tree.expr(place).kind {
            ExprKind::Name(Name::Local(local)) => self.tree.local(local).is_automatic(),
            ExprKind::Member {
                base, arrow: false, ..
            } => self.is_inside(base, depth),
            ExprKind::Member { base: pointer, .. }
            | ExprKind::Index { base: pointer, .. }
            | ExprKind::Unary {
                op: UnaryOp::Deref,
                operand: pointer,
            } => self.leads_inside(pointer, depth),
            _ => false,
        }
    }

    fn is_own_pointer(&self, local: LocalId, depth: usize) -> bool {
        let tree = self.tree;
        let variable = tree.local(local);
        if variable.is_param || !variable.is_automatic() {
            return false;
        }
        if matches!(variable.ty.kind, TypeKind::Array(..)) {
            return true;
        }
        let mut exprs = tree.expr_ids();
        let is_set_by_others = exprs.any(|expr| tree.as_address(expr) == Some(local));
        let mut stores = tree.stores().filter(|(given, _)| *given == local);
        let is_like = |value: ExprId| {
            // `text += length` stays where it is.
            tree.is_null(value) || self.is_step(value) || self.leads_inside(value, depth - 1)
        };
        depth > 0 && !is_set_by_others && stores.all(|(_, value)| is_like(value))
    }

    /// Whether a value is added to what a variable holds.
    fn is_step(&self, value: ExprId) -> bool {
        let mut exprs = self.tree.expr_ids();
        exprs.any(|expr| match self.tree.expr(expr).kind {
            ExprKind::Assign { op, rhs, .. } => op.is_some() && rhs == value,
            _ => false,
        })
    }
}

/// Whether a function gives memory that nobody else has.
pub(super) fn allocates(name: &str) -> bool {
    const WORDS: [&str; 5] = ["alloc", "alloca", "calloc", "malloc", "realloc"];
    let is_plain = matches!(name, "PyMem_New" | "PyMem_NEW");
    is_plain || capi::gives_other_memory(name) || words_of(name).any(|it| WORDS.contains(&&*it))
}
