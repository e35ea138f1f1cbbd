//! Whether a variable of a split function has the same value in each half that names it.

use std::collections::BTreeSet;

use super::steps::{called, words};
use super::{End, Halves, declared, own_stmts};
use crate::ast::{
    ExprId, ExprKind, Function, Init, LocalDecl, LocalId, Name, Storage, Tree, TypeKind, UnaryOp,
};
use crate::capi::{self, REPLACEMENTS};
use crate::ownership::summary::{Param, Summaries};
use crate::validate::proof::calls;
use crate::validate::wrapper::{Split, assigned, local};

impl Halves<'_> {
    /// Whether each variable of the function is one with the same value in each half that names it.
    pub(super) fn have_same_variables(&self, end: &End, lookup: usize) -> bool {
        let Split { old, body, .. } = self.split;
        let in_front = declared(old, &own_stmts(old)[..=lookup]);
        let is_handed = end.handed.len() == body.params.len()
            && end
                .handed
                .iter()
                .zip(&body.params)
                .all(|(&from, &to)| self.is_handed(from, to));
        let mut second = declared(body, &own_stmts(body)).into_iter();
        let names_other = body.tree.exprs.iter().any(|expr| match &expr.kind {
            ExprKind::Name(Name::Global(name)) => self.before(name).is_some(),
            _ => false,
        });
        let mut first = declared(self.first, &own_stmts(self.first)).into_iter();
        is_handed
            && !names_other
            && second.all(|decl| self.is_fresh(decl, &in_front, end))
            && first.all(|decl| {
                let is_result = Some(decl.local) == end.result;
                is_result
                    || self.keeps_exception(decl)
                    || self.is_as_before(&self.first.tree, decl.local)
            })
    }

    /// Whether nothing but an exception that is put away gets to a variable of the first half, and
    /// the function had none of its name.
    fn keeps_exception(&self, decl: &LocalDecl) -> bool {
        let tree = &self.first.tree;
        let is_saved = |value: &ExprId| {
            called(tree, *value).is_some_and(|(_, name)| name == "PyErr_GetRaisedException")
        };
        let name = tree.local(decl.local).name.as_bytes();
        let tokens = self.split.old.range;
        let old = words(self.split.old_item, self.old_files, tokens);
        !old.contains(&name)
            && matches!(&assigned(tree, decl.local)[..], [value] if is_saved(value))
    }

    /// The variable of the function's own block that has a name.
    fn before(&self, name: &str) -> Option<LocalId> {
        let old = self.split.old;
        let decls = declared(old, &own_stmts(old)).into_iter();
        let decls = decls.map(|decl| decl.local);
        let mut all = old.params.iter().copied().chain(decls);
        all.find(|&each| old.tree.local(each).name == name)
    }

    /// Whether the function had a variable like this one.
    fn is_as_before(&self, tree: &Tree, variable: LocalId) -> bool {
        let new = tree.local(variable);
        let before = self.before(&new.name);
        let before = before.map(|before| self.split.old.tree.local(before));
        before.is_some_and(|before| before.ty == new.ty && before.storage == new.storage)
    }

    /// Whether a parameter of the second half gets the variable of its name, by its value.
    fn is_handed(&self, from: LocalId, to: LocalId) -> bool {
        let body = &self.split.body.tree;
        let (outer, inner) = (self.first.tree.local(from), body.local(to));
        outer.name == inner.name
            && outer.ty == inner.ty
            && outer.storage == Storage::None
            && (outer.is_param || !matches!(outer.ty.kind, TypeKind::Array(..)))
            && self.is_as_before(body, to)
            && is_only_named(self.first, from, self.callees)
    }

    /// Whether a variable that the second half declares has there what it had behind the lookup: it
    /// was declared behind it, or got nothing but a constant before.
    fn is_fresh(&self, decl: &LocalDecl, in_front: &[&LocalDecl], end: &End) -> bool {
        let Split {
            old,
            old_item,
            body,
            item,
            ..
        } = self.split;
        let name = &body.tree.local(decl.local).name;
        let mut in_front = in_front.iter();
        let Some(before) = in_front.find(|other| old.tree.local(other.local).name == *name) else {
            return true;
        };
        let locals = (0u32..).map(LocalId).zip(&self.first.tree.locals);
        let mut namesakes = locals.filter(|(_, local)| local.name == *name);
        namesakes.all(|(id, _)| Some(id) == end.result)
            && self.is_as_before(&body.tree, decl.local)
            && words(item, self.files, decl.range) == words(old_item, self.old_files, before.range)
            && decl.init.as_ref().is_none_or(
                |init| matches!(init, Init::Expr(value) if is_constant(&body.tree, *value)),
            )
    }
}

fn is_constant(tree: &Tree, value: ExprId) -> bool {
    match tree.expr(value).kind {
        ExprKind::Int(_) | ExprKind::Str(_) => true,
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        }
        | ExprKind::Cast { operand, .. } => is_constant(tree, operand),
        _ => tree.is_null(value),
    }
}

/// Whether only its name leads to a variable: its address goes to functions that do not keep it.
fn is_only_named(function: &Function, variable: LocalId, callees: &Summaries) -> bool {
    let tree = &function.tree;
    let is_strong = |name: &str| REPLACEMENTS.iter().any(|row| row.strong == name);
    let lets_go = |name: &str, at: usize| {
        let is_api = name.starts_with("PyArg_") || capi::effects(name).is_some();
        is_api || is_strong(name) || callees.param(name, at) == Some(Param::Used)
    };
    let args = calls(function).flat_map(|(call, name)| {
        let args = match &tree.expr(call).kind {
            ExprKind::Call { args, .. } => &args[..],
            _ => &[],
        };
        let known = args.iter().enumerate();
        known.filter_map(move |(at, &arg)| lets_go(name, at).then_some(arg))
    });
    let args: BTreeSet<ExprId> = args.collect();
    let mut addresses = (0u32..).map(ExprId).zip(&tree.exprs).filter(|(_, expr)| {
        matches!(expr.kind, ExprKind::Unary { op: UnaryOp::AddressOf, operand }
            if owner(tree, operand) == Some(variable))
    });
    addresses.all(|(id, _)| args.contains(&id))
}

/// The variable that a place is, or is a part of.
fn owner(tree: &Tree, place: ExprId) -> Option<LocalId> {
    match tree.expr(place).kind {
        ExprKind::Member {
            base, arrow: false, ..
        }
        | ExprKind::Index { base, .. } => owner(tree, base),
        _ => local(tree, place),
    }
}
