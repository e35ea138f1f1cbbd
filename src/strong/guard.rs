//! Lookups behind `&&` or `||`: what decides whether they run, and what looks at their items.

use std::collections::BTreeSet;

use super::order::is_within;
use super::scene::Scene;
use super::shape::{Shape, shape};
use super::types::is_number;
use crate::ast::{
    BinaryOp, ExprId, ExprKind, Init, LocalId, Parent, StmtId, StmtKind, Storage, UnaryOp,
};
use crate::capi::{self, Returns};
use crate::source::ByteSpan;

/// A value `first || between && last`, or `first && last`.
pub(super) struct Guarded {
    /// All of it.
    pub value: ByteSpan,
    /// The variable that gets it.
    pub local: Option<LocalId>,
    pub is_or: bool,
    /// With what makes it a value of an `int`.
    pub first: (ByteSpan, &'static str),
    pub between: Vec<ExprId>,
    /// Begins with the lookup.
    pub last: ByteSpan,
    /// Whether that is 0 or 1 as it stands.
    pub is_truth: bool,
}

/// The parts of what `stmt` tests, assigns or returns if the lookup `call` stands behind `&&` or
/// `||` in it, and what runs from there on does nothing but look at the item.
pub(super) fn guarded(scene: &Scene<'_>, stmt: StmtId, call: ExprId) -> Option<Guarded> {
    let (value, local) = value_of(scene, stmt)?;
    let op = joining(scene, value)?;
    let span = scene.span(value)?;
    let (first, mut rest) = split(scene, value, op, call)?;
    let is_end = matches!(scene.tree.expr(value).kind, ExprKind::Binary { rhs, .. } if rhs == rest);
    let is_or = op == BinaryOp::LogicalOr;
    let mut between = Vec::new();
    while let ExprKind::Binary {
        op: BinaryOp::LogicalAnd,
        lhs,
        rhs,
    } = scene.tree.expr(rest).kind
        && is_or
        && is_end
        && is_within(scene, call, rhs)
    {
        between.push(lhs);
        rest = rhs;
    }
    let last = match is_end {
        true => scene.span(rest)?,
        false => ByteSpan::new(scene.span(rest)?.start().0, span.end().0),
    };
    // Only the operands move: a comment or a directive between them would get lost.
    let text = scene.text(span);
    let is_bare = !["/*", "//", "#"].iter().any(|mark| text.contains(mark));
    let behind = scene.tree.expr_ids().filter(|&it| {
        let is_before = |part: &ExprId| is_within(scene, it, *part);
        let is_part = is_within(scene, it, value) && (it == rest || !is_within(scene, rest, it));
        is_part && !is_before(&first) && !between.iter().any(is_before)
    });
    let behind: Vec<ExprId> = behind.collect();
    let looks = behind.iter().all(|&part| only_looks(scene, part, call));
    let is_free = local.is_none_or(|local| {
        let mut parts = behind.iter().chain(&between);
        parts.all(|&part| scene.as_local(part) != Some(local))
    });
    let is_alone = looks_up_alone(scene, (value, first), call);
    let gives = !is_end || is_truth(scene, rest) || gives_number(scene, rest);
    let fits = gives && is_bare && is_balanced(&scene.text(last)) && looks && is_free && is_alone;
    fits.then_some(Guarded {
        value: span,
        local,
        is_or,
        first: (scene.span(first)?, truth(scene, first)?),
        between,
        last,
        is_truth: !is_end || is_truth(scene, rest),
    })
}

/// What `stmt` tests, returns, or assigns to a variable, with that variable.
fn value_of(scene: &Scene<'_>, stmt: StmtId) -> Option<(ExprId, Option<LocalId>)> {
    let holds_truth = |local: LocalId| {
        let variable = scene.tree.local(local);
        let is_plain = variable.storage == Storage::None && !variable.thread_local;
        let is_plain = is_plain && !variable.ty.is_const && scene.siblings(stmt).is_some();
        is_plain && is_number(&variable.ty) && scene.cfg.addressing(local).next().is_none()
    };
    match &scene.tree.stmt(stmt).kind {
        StmtKind::If { cond, .. } if !scene.is_else_if(stmt) => Some((*cond, None)),
        StmtKind::Return(Some(value)) if is_number(&scene.function.ret) => Some((*value, None)),
        StmtKind::Expr(assignment) => match scene.tree.expr(*assignment).kind {
            ExprKind::Assign { op: None, lhs, rhs } => {
                let local = scene.as_local(lhs).filter(|&local| holds_truth(local))?;
                Some((rhs, Some(local)))
            }
            _ => None,
        },
        StmtKind::Decl(decls) => match &decls[..] {
            [only] => {
                let Some(Init::Expr(value)) = only.init else {
                    return None;
                };
                let next = scene.next_sibling(stmt);
                let is_decl = |stmt| matches!(scene.tree.stmt(stmt).kind, StmtKind::Decl(_));
                let may_follow = !next.is_some_and(is_decl) || scene.file_mixes_declarations();
                (may_follow && holds_truth(only.local)).then_some((value, Some(only.local)))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The operator of `a && b` and `a || b`.
fn joining(scene: &Scene<'_>, value: ExprId) -> Option<BinaryOp> {
    match scene.tree.expr(value).kind {
        ExprKind::Binary { op, .. } => {
            matches!(op, BinaryOp::LogicalOr | BinaryOp::LogicalAnd).then_some(op)
        }
        _ => None,
    }
}

/// What stands in front of the operand of `a && b && c` that holds `call`, and that operand.
fn split(
    scene: &Scene<'_>,
    mut value: ExprId,
    joint: BinaryOp,
    call: ExprId,
) -> Option<(ExprId, ExprId)> {
    while let ExprKind::Binary { op, lhs, rhs } = scene.tree.expr(value).kind
        && op == joint
    {
        if is_within(scene, call, rhs) {
            return Some((lhs, rhs));
        }
        value = lhs;
    }
    None
}

/// Whether no other item is looked up in `value` but the same again, or one of `first`, whose lookup
/// moves in front of the statement.
fn looks_up_alone(scene: &Scene<'_>, (value, first): (ExprId, ExprId), call: ExprId) -> bool {
    let is_before = |it: ExprId, name: &str| {
        // Only of what stands further in front: the shape of that asks for this one's.
        let row = capi::replacement(name).filter(|_| is_within(scene, it, first));
        let shape = row.map(|row| shape(scene, it, row, &BTreeSet::new()));
        matches!(shape, Some(Ok(Shape::Nested(_))))
    };
    let calls = scene.tree.calls();
    let lookups = calls.filter(|&(_, name)| capi::replacement(name).is_some());
    let mut lookups = lookups.filter(|&(it, _)| is_within(scene, it, value));
    lookups.all(|(it, name)| {
        let first = scene.repeats().get(&it);
        let is_moved = || first.is_some_and(|&first| is_before(first, name));
        it == call || first == Some(&call) || is_moved() || is_before(it, name)
    })
}

/// Whether `part` changes nothing, nor runs before `call` or instead of it.
fn only_looks(scene: &Scene<'_>, part: ExprId, call: ExprId) -> bool {
    match scene.tree.expr(part).kind {
        ExprKind::Assign { .. } | ExprKind::Conditional { .. } => false,
        ExprKind::Binary {
            op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
            rhs,
            ..
        } => !is_within(scene, call, rhs),
        ExprKind::Unary { op, .. } => matches!(
            op,
            UnaryOp::Not | UnaryOp::Minus | UnaryOp::Plus | UnaryOp::Complement | UnaryOp::Deref
        ),
        ExprKind::Call { .. } => {
            let is_part = is_within(scene, part, call) || is_within(scene, call, part);
            scene.call(part).is_some() && (is_part || is_behind(scene, part, call))
        }
        _ => true,
    }
}

/// Whether `part` runs behind `call`, if at all: `call && part`.
fn is_behind(scene: &Scene<'_>, part: ExprId, call: ExprId) -> bool {
    let mut at = part;
    while let Some(Parent::Expr(outer)) = scene.parent_of_expr(at) {
        if joining(scene, outer).is_some()
            && let ExprKind::Binary { lhs, rhs, .. } = scene.tree.expr(outer).kind
            && rhs == at
            && is_within(scene, call, lhs)
        {
            return true;
        }
        at = outer;
    }
    false
}

/// What makes the text of `part` a value of an `int` that is 0 or 1.
fn truth(scene: &Scene<'_>, part: ExprId) -> Option<&'static str> {
    if is_truth(scene, part) {
        return Some("");
    }
    if gives_number(scene, part) {
        return Some(" != 0");
    }
    let ty = &scene.tree.local(scene.as_local(part)?).ty;
    match ty.pointee() {
        Some(_) => Some(" != NULL"),
        None => is_number(ty).then_some(" != 0"),
    }
}

/// Whether an expression is true or false, and fits into an `int`.
pub(super) fn is_truth(scene: &Scene<'_>, part: ExprId) -> bool {
    match scene.tree.expr(part).kind {
        ExprKind::Unary { op, .. } => op == UnaryOp::Not,
        ExprKind::Binary { op, .. } => matches!(
            op,
            BinaryOp::LogicalAnd
                | BinaryOp::LogicalOr
                | BinaryOp::Equals
                | BinaryOp::NotEquals
                | BinaryOp::Less
                | BinaryOp::LessOrEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterOrEqual
        ),
        ExprKind::Call { .. } => scene.call(part).is_some_and(|(name, _)| {
            name.starts_with("Py") && (name.ends_with("_Check") || name.ends_with("_CheckExact"))
        }),
        _ => false,
    }
}

/// Whether `part` is the call of a function that is known to give a number.
pub(super) fn gives_number(scene: &Scene<'_>, part: ExprId) -> bool {
    scene.call(part).is_some_and(|(name, _)| {
        let mut own = scene.cx.definitions(name).peekable();
        match own.peek() {
            Some(_) => own.all(|(_, function)| function.ret.is_number()),
            None => capi::effects(name)
                .is_some_and(|it| it.returns == Returns::Plain && it.derived_from.is_none()),
        }
    })
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0;
    let is_open = text.bytes().all(|byte| {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        depth >= 0
    });
    is_open && depth == 0
}
