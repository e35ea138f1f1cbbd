//! The function that fills the struct: each field gets nothing but new references, each once.

use std::collections::BTreeMap;

use super::super::made::filled;
use super::super::original::Original;
use super::super::proof::{graph, seeds};
use super::owner::leads;
use crate::ast::{ExprId, ExprKind, Function, Init, LocalId};
use crate::cfg::Point;
use crate::edit::Applied;
use crate::ownership::track::{Origin, Seed};
use crate::program::{Program, ProgramItem};

/// Whether the function stores objects in just these fields of what parameter `param` points to.
pub(super) fn is_right(
    item: &ProgramItem,
    function: &Function,
    applied: &Applied,
    param: usize,
    fields: &BTreeMap<Box<str>, Vec<ExprId>>,
) -> bool {
    let tree = &function.tree;
    let Some(&param) = function.params.get(param) else {
        return false;
    };
    let graph = graph(function);
    let seeds = seeds(item, function, applied, &Default::default());
    let mut stores: Vec<(&str, bool, Point)> = Vec::new();
    for id in tree.expr_ids() {
        let ExprKind::Assign { op: None, lhs, rhs } = tree.expr(id).kind else {
            continue;
        };
        let ExprKind::Member {
            base,
            field,
            arrow: true,
        } = &tree.expr(lhs).kind
        else {
            continue;
        };
        if tree.as_local(*base) != Some(param) {
            continue;
        }
        let is_null = tree.is_null(rhs);
        let is_new = tree
            .as_local(rhs)
            .is_some_and(|local| is_strong(function, local, &seeds));
        match (fields.contains_key(field), graph.store(id)) {
            (true, Some(at)) if is_null || is_new => stores.push((field, !is_null, at)),
            (true, _) => return false,
            (false, _) if is_new => return false,
            (false, _) => {}
        }
    }
    let mut set = stores.iter().filter(|(_, is_set, _)| *is_set);
    set.all(|(field, _, at)| {
        let same = stores.iter().filter(|(other, ..)| other == field);
        !same
            .into_iter()
            .any(|(.., to)| leads(&graph, *at, *to, &[]))
    })
}

/// Whether the function took a reference that it does not take any more: code that goes by another
/// field may release it.
pub(super) fn drops_a_reference(original: &Original<'_>, result: &Program<'_>, name: &str) -> bool {
    let takes = |program: &Program<'_>| {
        let functions = program.functions_named(name);
        let of = |function: &Function| {
            let calls = function.tree.calls();
            calls
                .filter(|(_, name)| name.ends_with("INCREF") || name.ends_with("NewRef"))
                .count()
        };
        functions.map(|(_, function)| of(function)).sum::<usize>()
    };
    takes(result) < takes(original.program)
}

/// Whether the function sets one of the fields through parameter `param`.
pub(super) fn sets(
    function: &Function,
    param: usize,
    fields: &BTreeMap<Box<str>, Vec<ExprId>>,
) -> bool {
    let tree = &function.tree;
    let Some(&local) = function.params.get(param) else {
        return false;
    };
    tree.exprs.iter().any(|expr| match expr.kind {
        ExprKind::Assign { lhs, .. } => match &tree.expr(lhs).kind {
            ExprKind::Member { base, field, .. } => {
                tree.as_local(*base) == Some(local) && fields.contains_key(field)
            }
            _ => false,
        },
        _ => false,
    })
}

/// Whether the variable gets nothing but `NULL` and what the seeds give.
fn is_strong(function: &Function, local: LocalId, seeds: &[Seed]) -> bool {
    let tree = &function.tree;
    let is_given = |value: ExprId| {
        let mut results = seeds.iter().filter(|it| it.gives.out().is_none());
        results.any(|seed| seed.origin == Origin::Call(value))
    };
    let is_good = |value: ExprId| tree.is_null(value) || is_given(value);
    let exprs = tree.expr_ids();
    let given = exprs.filter(|&expr| tree.as_address(expr) == Some(local));
    let fills = seeds.iter().map(|seed| filled(function, seed));
    let filled = fills.filter(|&filled| filled == Some(local)).count();
    let mut declared = tree.declarations().filter(|it| it.local == local);
    !tree.local(local).is_param
        && given.count() == filled
        && declared.all(|it| match it.init {
            Some(Init::Expr(value)) => is_good(value),
            Some(Init::List(_)) => false,
            None => true,
        })
        && tree.exprs.iter().all(|expr| match expr.kind {
            ExprKind::Assign { op, lhs, rhs } if tree.as_local(lhs) == Some(local) => {
                op.is_none() && is_good(rhs)
            }
            _ => true,
        })
}
