//! Variables that new text names and nobody declares, or that are declared twice or for nothing.

use super::original::Original;
use super::proof::is_inserted;
use std::collections::BTreeMap;

use crate::ast::{ExprId, ExprKind, Function, LocalId, Name, Stmt, StmtKind, Tree, UnaryOp};
use crate::capi::REPLACEMENTS;
use crate::edit::Applied;
use crate::program::{Program, ProgramItem};

/// A variable that new text sets or releases and that is not declared there: fixes that put a
/// declaration and the beginning of a block at the same place can hide one from the other.
pub(super) fn undeclared(
    original: &Original<'_>,
    result: &Program<'_>,
    item: &ProgramItem,
    function: &Function,
    applied: &Applied,
) -> Option<String> {
    let tree = &function.tree;
    let of_file = |name: &str| {
        let all = original.program.declarations().chain(result.declarations());
        let mut own = all.filter(|(other, _)| other.unit == item.unit);
        own.any(|(_, declaration)| {
            let mut names = declaration.declarators.iter();
            names.any(|declarator| declarator.name == name)
        })
    };
    // `busy = 0;` may be copied from another exit.
    let names_itself = |name: &str| {
        tree.exprs.iter().any(|expr| {
            matches!(&expr.kind, ExprKind::Name(Name::Global(other)) if **other == *name)
                && !is_inserted(item, applied, expr.range.start)
        })
    };
    let unknown = |expr: ExprId| {
        let target = tree.expr(expr);
        let is_new = || is_inserted(item, applied, target.range.start);
        match &target.kind {
            ExprKind::Name(Name::Global(name)) if is_new() && !names_itself(name) => {
                (!of_file(name)).then_some(name)
            }
            _ => None,
        }
    };
    let name = tree.exprs.iter().find_map(|expr| match &expr.kind {
        ExprKind::Assign { lhs, .. } => unknown(*lhs),
        ExprKind::Call { callee, args } => match (tree.callee_name(*callee)?, &args[..]) {
            ("Py_DECREF" | "Py_XDECREF" | "PyErr_SetRaisedException", [arg]) => unknown(*arg),
            (name, [.., last]) if REPLACEMENTS.iter().any(|row| row.strong == name) => {
                match tree.expr(*last).kind {
                    ExprKind::Unary {
                        op: UnaryOp::AddressOf,
                        operand,
                    } => unknown(operand),
                    _ => None,
                }
            }
            _ => None,
        },
        _ => None,
    })?;
    Some(format!(
        "in `{}`, `{name}` is not declared where it is used",
        function.name
    ))
}

/// A variable of new text that a block declares twice: one for each of two configurations, in text
/// that both have.
pub(super) fn declared_twice(
    item: &ProgramItem,
    function: &Function,
    applied: &Applied,
) -> Option<String> {
    let tree = &function.tree;
    let is_new = |stmt: &Stmt| is_inserted(item, applied, stmt.range.start);
    let name = tree
        .stmts
        .iter()
        .find_map(|block| twice_in(tree, block, is_new))?;
    Some(format!(
        "in `{}`, `{name}` is declared twice",
        function.name
    ))
}

/// A variable of new text that a configuration has no use for, as another one of that name hides it.
pub(super) fn unused(item: &ProgramItem, function: &Function, applied: &Applied) -> Option<String> {
    let tree = &function.tree;
    let declared = tree.stmts.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Decl(decls) if is_inserted(item, applied, stmt.range.start) => Some(decls),
        _ => None,
    });
    let is_used = |local: LocalId| {
        let mut exprs = tree.exprs.iter();
        exprs.any(|expr| matches!(expr.kind, ExprKind::Name(Name::Local(it)) if it == local))
    };
    let is_hidden = |name: &str| tree.locals.iter().filter(|it| &*it.name == name).count() > 1;
    let mut names = declared
        .flatten()
        .filter(|decl| !is_used(decl.local))
        .map(|decl| &*tree.local(decl.local).name);
    let name = names.find(|name| is_hidden(name))?;
    Some(format!("in `{}`, `{name}` is not used", function.name))
}

fn twice_in<'t>(tree: &'t Tree, block: &Stmt, is_new: impl Fn(&Stmt) -> bool) -> Option<&'t str> {
    let StmtKind::Block(stmts) = &block.kind else {
        return None;
    };
    let mut known = BTreeMap::new();
    for stmt in stmts.iter().map(|&stmt| tree.stmt(stmt)) {
        let StmtKind::Decl(decls) = &stmt.kind else {
            continue;
        };
        for decl in decls {
            let name = &*tree.local(decl.local).name;
            let before = known.insert(name, stmt);
            if before.is_some_and(|before| is_new(before) || is_new(stmt)) {
                return Some(name);
            }
        }
    }
    None
}
