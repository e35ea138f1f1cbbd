//! How the result of a lookup is used where it is called.

use std::collections::BTreeSet;

use super::follow::arms;
use super::guard::guarded;
use super::order::runs_first;
use super::reason::Reason;
use super::scene::Scene;
use crate::ast::{BinaryOp, ExprId, ExprKind, Init, LocalId, Parent, StmtId, StmtKind, UnaryOp};
use crate::capi::{Absent, Form, OldErrors, Replacement};
use crate::preprocess::Place;

/// Where the result of a call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `v = call();`
    Assigned(StmtId, LocalId),
    /// `PyObject *v = call();`
    Initialised(StmtId, LocalId),
    /// `(v = call())` as part of the expression of a statement; the assignment.
    Inside(StmtId, LocalId, ExprId),
    /// `f(call())`: the result gets a variable of its own in front of the statement.
    Nested(StmtId),
    /// `if (ok && f(call()))`: the result gets a variable in a block of its own, in front of the
    /// statement.
    Guarded(StmtId),
    /// `return call();` of a function that is changed to return a new reference.
    Returned,
    /// `if (call())`: only asked whether there is one. The expression that asks, and whether it
    /// is true if there is.
    Presence(ExprId, bool),
}

impl Shape {
    /// The variable that gets the result.
    pub(super) fn local(self) -> Option<LocalId> {
        match self {
            Self::Assigned(_, local) | Self::Initialised(_, local) | Self::Inside(_, local, _) => {
                Some(local)
            }
            Self::Nested(_) | Self::Guarded(_) | Self::Returned | Self::Presence(..) => None,
        }
    }
}

/// The shape of the lookup `call`; `moved` are lookups that run before it and move in front of
/// their statements.
///
/// # Errors
/// Why it cannot be rewritten where it stands.
pub(super) fn shape(
    scene: &Scene<'_>,
    call: ExprId,
    replacement: &Replacement,
    moved: &BTreeSet<ExprId>,
) -> Result<Shape, Reason> {
    let argument_of = in_own_text(scene, call)?;
    let shape = of_own_text(scene, call, replacement, moved)?;
    match (argument_of, shape) {
        // `CHECK(call())`: what the macro gets is the variable.
        (None, _) | (Some(_), Shape::Nested(_) | Shape::Guarded(_)) => Ok(shape),
        (Some(name), _) => Err(Reason::InMacro(name)),
    }
}

fn of_own_text(
    scene: &Scene<'_>,
    call: ExprId,
    replacement: &Replacement,
    moved: &BTreeSet<ExprId>,
) -> Result<Shape, Reason> {
    let at = scene.cfg.call(call).ok_or(Reason::Unreachable)?;
    if !scene.cfg.is_reachable(at.block) {
        return Err(Reason::Unreachable);
    }
    if scene.tree.is_asserted(call) {
        return Err(Reason::Asserted);
    }
    let stmt = scene.stmt_of(call).ok_or(Reason::Unreachable)?;
    let mut value = with_casts(scene, call);
    if replacement.form == (Form::Out { arg: 2 }) && is_truth(scene, call, value) {
        return Ok(Shape::Presence(value, true));
    }
    // `NULL` has to tell of the lookup where the code has not asked for it by now.
    let tells = || {
        replacement.errors != OldErrors::Unchecked
            || arms::other(scene, call).is_some_and(|other| scene.is_never_null(other))
    };
    if replacement.form == Form::Return
        && let Some(choice) = arms::choice(scene, call)
        && tells()
    {
        value = choice;
    }
    match scene.parent_of_expr(value) {
        Some(Parent::Stmt(stmt)) if returns(scene, stmt) && scene.hands_out => {
            let in_place =
                replacement.form == Form::Return && replacement.errors != OldErrors::Unchecked;
            Ok(if in_place {
                Shape::Returned
            } else {
                Shape::Nested(stmt)
            })
        }
        Some(Parent::Stmt(stmt)) => of_statement(scene, stmt, value),
        Some(Parent::Expr(outer)) => match &scene.tree.expr(outer).kind {
            ExprKind::Assign { op: None, lhs, rhs } if *rhs == value => {
                assigned(scene, stmt, outer, *lhs)
            }
            _ => nested(scene, stmt, call, replacement, moved),
        },
        None => Err(Reason::Unreachable),
    }
}

/// The call with the casts around it.
fn with_casts(scene: &Scene<'_>, call: ExprId) -> ExprId {
    let mut value = call;
    while let Some(Parent::Expr(outer)) = scene.parent_of_expr(value)
        && matches!(scene.tree.expr(outer).kind, ExprKind::Cast { .. })
    {
        value = outer;
    }
    value
}

/// Whether the pointer that `call` gives, under casts up to `value`, is only asked whether it is
/// `NULL`, as it is where it turns into a `bool`: `bool has = PyDict_GetItem(d, k);`.
fn is_truth(scene: &Scene<'_>, call: ExprId, value: ExprId) -> bool {
    let (tree, types) = (scene.tree, scene.cx.types());
    // The innermost cast decides: `(bool)(int)call()` has lost a part of the address before.
    let first = (value != call)
        .then(|| scene.parent_of_expr(call))
        .flatten();
    let ty = match (first, scene.parent_of_expr(value)) {
        (Some(Parent::Expr(cast)), _) => match &tree.expr(cast).kind {
            ExprKind::Cast { ty, .. } => Some(ty),
            _ => None,
        },
        (_, Some(Parent::Stmt(stmt))) => match &tree.stmt(stmt).kind {
            StmtKind::Return(Some(_)) => Some(&scene.function.ret),
            StmtKind::Decl(decls) => decls
                .iter()
                .find(|decl| matches!(decl.init, Some(Init::Expr(init)) if init == value))
                .map(|decl| &tree.local(decl.local).ty),
            _ => None,
        },
        (_, Some(Parent::Expr(outer))) => match tree.expr(outer).kind {
            ExprKind::Assign { op: None, lhs, rhs } if rhs == value => types.of(tree, lhs),
            _ => None,
        },
        (_, None) => None,
    };
    ty.is_some_and(|ty| types.is_truth(ty))
}

/// The macro that gets the call as an argument, if one does.
fn in_own_text(scene: &Scene<'_>, call: ExprId) -> Result<Option<String>, Reason> {
    match scene.cx.place(scene.item, call) {
        Some(Place::File(file, _)) if file == scene.file => plain_name(scene, call).map(|()| None),
        Some(Place::Argument { name, .. }) if scene.written(call).is_some() => {
            Ok(Some(name.to_string()))
        }
        Some(Place::Macro { name, .. } | Place::Argument { name, .. }) => {
            Err(Reason::InMacro(name.to_string()))
        }
        _ => Err(Reason::InMacro("of another file".to_owned())),
    }
}

/// The name of the function is one word: `F(PyList_GetItem)(l, i)` would lose its macro.
fn plain_name(scene: &Scene<'_>, call: ExprId) -> Result<(), Reason> {
    let ExprKind::Call { callee, .. } = scene.tree.expr(call).kind else {
        return Ok(());
    };
    let text = scene.span(callee).map(|span| scene.text(span));
    let Some((name, rest)) = text.as_deref().and_then(|text| text.split_once('(')) else {
        return Ok(());
    };
    let (name, whole) = (name.trim().to_owned(), rest.trim_end_matches(')').trim());
    match scene.tree.callee_name(callee) == Some(whole) {
        _ if name.is_empty() => Ok(()),
        true => Err(Reason::NameInMacro(name)),
        false => Err(Reason::InMacro(name)),
    }
}

/// Why a call stays as it is whose `callee` a macro makes.
pub(super) fn made_by(scene: &Scene<'_>, callee: ExprId) -> Reason {
    match scene.cx.place(scene.item, callee) {
        Some(Place::Macro { name, .. }) => Reason::ByMacro(name.to_string()),
        _ => Reason::InMacro("of another file".to_owned()),
    }
}

fn returns(scene: &Scene<'_>, stmt: StmtId) -> bool {
    matches!(scene.tree.stmt(stmt).kind, StmtKind::Return(_))
}

fn of_statement(scene: &Scene<'_>, stmt: StmtId, value: ExprId) -> Result<Shape, Reason> {
    match &scene.tree.stmt(stmt).kind {
        StmtKind::Decl(decls) => {
            let decl = decls
                .iter()
                .find(|decl| matches!(decl.init, Some(Init::Expr(init)) if init == value));
            let in_for = scene.siblings(stmt).is_none();
            match decl {
                Some(decl) if !in_for => Ok(Shape::Initialised(stmt, decl.local)),
                _ => Err(Reason::StoredBorrowed),
            }
        }
        StmtKind::Expr(_) => Err(Reason::Discarded),
        StmtKind::Return(_) => Err(Reason::ReturnedBorrowed),
        StmtKind::If { .. } => Ok(Shape::Presence(value, true)),
        StmtKind::While { .. } | StmtKind::DoWhile { .. } | StmtKind::For { .. } => {
            Ok(Shape::Presence(value, true))
        }
        _ => Err(Reason::NotEvaluatedFirst("something else".to_owned())),
    }
}

fn assigned(
    scene: &Scene<'_>,
    stmt: StmtId,
    assignment: ExprId,
    lhs: ExprId,
) -> Result<Shape, Reason> {
    let Some(local) = scene.as_local(lhs) else {
        return Err(Reason::Field);
    };
    match scene.tree.stmt(stmt).kind {
        StmtKind::Expr(expr) if expr == assignment => Ok(Shape::Assigned(stmt, local)),
        _ => Ok(Shape::Inside(stmt, local, assignment)),
    }
}

fn nested(
    scene: &Scene<'_>,
    stmt: StmtId,
    call: ExprId,
    replacement: &Replacement,
    moved: &BTreeSet<ExprId>,
) -> Result<Shape, Reason> {
    let presence = null_test(scene, call).filter(|_| replacement.form == Form::Out { arg: 2 });
    let presence = presence.map(|(test, when)| Shape::Presence(test, when));
    if let Some(presence) = presence.filter(|_| !scene.is_repeated(call)) {
        return Ok(presence);
    }
    match runs_first(scene, stmt, call, moved) {
        Ok(()) => Ok(Shape::Nested(stmt)),
        Err(_) if replacement.absent != Absent::None && guarded(scene, stmt, call).is_some() => {
            Ok(Shape::Guarded(stmt))
        }
        Err(reason) => presence.ok_or(reason),
    }
}

/// The expression that compares `value` with `NULL`, and its outcome if `value` is not.
pub(super) fn null_test(scene: &Scene<'_>, value: ExprId) -> Option<(ExprId, bool)> {
    let Some(Parent::Expr(outer)) = scene.parent_of_expr(value) else {
        return None;
    };
    match scene.tree.expr(outer).kind {
        ExprKind::Unary {
            op: UnaryOp::Not, ..
        } => Some((outer, false)),
        ExprKind::Binary { op, lhs, rhs } => {
            let other = if lhs == value { rhs } else { lhs };
            match op {
                BinaryOp::Equals if scene.is_null(other) => Some((outer, false)),
                BinaryOp::NotEquals if scene.is_null(other) => Some((outer, true)),
                BinaryOp::LogicalAnd | BinaryOp::LogicalOr => Some((value, true)),
                _ => None,
            }
        }
        _ => None,
    }
}
