//! A list that is read through `PySequence_Fast` turns into a tuple: a copy that never changes.

use super::exits::reach::reaches;
use super::scene::{Parent, Scene};
use crate::ast::{BinaryOp, ExprId, ExprKind, Init, LocalId, StmtKind, UnaryOp};
use crate::cfg::{Cfg, Point};
use crate::edit::Fix;
use crate::source::ByteSpan;

/// The fix that makes `read`, a `PySequence_Fast_GET_ITEM`, read from a tuple; `None` if the
/// sequence is not made in this function, or is not only read.
///
/// It is the same for all reads of one variable.
pub(super) fn fix(scene: &Scene<'_>, read: ExprId) -> Option<Fix> {
    let ("PySequence_Fast_GET_ITEM", [sequence, _]) = scene.call(read)? else {
        return None;
    };
    let local = scene.as_local(*sequence)?;
    let variable = scene.tree.local(local);
    let is_plain = variable.storage == crate::ast::Storage::None && !variable.is_param;
    if !is_plain || scene.cfg.address_taken().contains(&local) {
        return None;
    }
    let made = makers(scene, local)?;
    if made.is_empty() || !is_only_read(scene, local) {
        return None;
    }
    let mut fix = Fix::safe("take a snapshot: `PySequence_Tuple`");
    for call in made {
        let ("PySequence_Fast", [argument, _]) = scene.call(call)? else {
            return None;
        };
        let (whole, argument) = (scene.span(call)?, scene.span(*argument)?);
        let ExprKind::Call { callee, .. } = scene.tree.expr(call).kind else {
            return None;
        };
        let callee = scene.span(callee)?;
        fix.replace(scene.file, callee, "PySequence_Tuple");
        let message = ByteSpan::new(argument.end().0, whole.end().0 - 1);
        // The parenthesis of `PySequence_Fast((x), "…")` is not part of the argument.
        if !scene.text(message).trim_start().starts_with(',') {
            return None;
        }
        fix.replace(scene.file, message, "");
    }
    fix.assume("the text of the TypeError for what cannot be iterated may change");
    fix.assume("a list is copied, once");
    Some(fix)
}

/// Whether `read` is a `PySequence_Fast_GET_ITEM` of what only `PySequence_Fast` made: a list or a
/// tuple, and of no subclass with items of its own.
pub(super) fn is_made_here(scene: &Scene<'_>, read: ExprId) -> bool {
    let Some((_, [sequence, _])) = scene.call(read) else {
        return false;
    };
    let Some((local, read)) = scene.as_local(*sequence).zip(scene.cfg.call(read)) else {
        return false;
    };
    let made = makers(scene, local).unwrap_or_default();
    let points: Option<Vec<_>> = made.iter().map(|&call| scene.cfg.call(call)).collect();
    // `items = PySequence_Fast(items, "no sequence");`
    let entry = Point {
        block: Cfg::ENTRY,
        index: 0,
    };
    let is_passed_in = scene.tree.local(local).is_param
        && points.is_none_or(|points| reaches(scene.cfg, entry, read, &points));
    !made.is_empty() && !is_passed_in
}

/// The calls whose results `local` gets; `None` if it gets anything else but `NULL`.
fn makers(scene: &Scene<'_>, local: LocalId) -> Option<Vec<ExprId>> {
    let mut made = Vec::new();
    for expr in &scene.tree.exprs {
        if let ExprKind::Assign { lhs, rhs, .. } = expr.kind
            && scene.as_local(lhs) == Some(local)
        {
            made.push(rhs);
        }
    }
    for stmt in &scene.tree.stmts {
        let StmtKind::Decl(decls) = &stmt.kind else {
            continue;
        };
        for decl in decls.iter().filter(|decl| decl.local == local) {
            match decl.init {
                Some(Init::Expr(value)) => made.push(value),
                Some(_) => return None,
                None => {}
            }
        }
    }
    made.retain(|&value| !scene.is_null(value));
    let is_made = |value: &ExprId| {
        scene
            .call(*value)
            .is_some_and(|(name, _)| name == "PySequence_Fast")
    };
    made.iter().all(is_made).then_some(made)
}

/// Whether nothing is done with the variable but reading items, testing and releasing it.
fn is_only_read(scene: &Scene<'_>, local: LocalId) -> bool {
    (0u32..)
        .zip(&scene.tree.exprs)
        .map(|(at, _)| ExprId(at))
        .filter(|&expr| scene.as_local(expr) == Some(local))
        .all(|name| match scene.parent_of_expr(name) {
            Some(Parent::Stmt(stmt)) => {
                matches!(scene.tree.stmt(stmt).kind, StmtKind::If { .. })
            }
            Some(Parent::Expr(outer)) => is_harmless(scene, name, outer),
            // It is no part of the function's body: the size of a type.
            None => true,
        })
}

fn is_harmless(scene: &Scene<'_>, name: ExprId, outer: ExprId) -> bool {
    match scene.tree.expr(outer).kind {
        ExprKind::Call { .. } => scene.call(outer).is_some_and(|(callee, _)| {
            matches!(
                callee,
                "PySequence_Fast_GET_ITEM"
                    | "PySequence_Fast_GET_SIZE"
                    | "PySequence_Fast_ITEMS"
                    | "Py_DECREF"
                    | "Py_XDECREF"
                    | "Py_CLEAR"
            )
        }),
        ExprKind::Assign { lhs, .. } => lhs == name,
        ExprKind::Unary { op, .. } => op == UnaryOp::Not,
        ExprKind::Binary { op, lhs, rhs } => match op {
            BinaryOp::Equals | BinaryOp::NotEquals => scene.is_null(lhs) || scene.is_null(rhs),
            BinaryOp::LogicalAnd | BinaryOp::LogicalOr => true,
            _ => false,
        },
        _ => false,
    }
}
