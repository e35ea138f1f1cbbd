//! Lookups behind `&&` or `||` in the condition of an `if`.
//!
//! ```c
//! if (n != 1 || !PyList_Check(PyList_GetItem(list, 0)))
//!     return -1;
//!
//! int holds = n != 1;
//! if (!holds) {
//!     PyObject *item = PyList_GetItemRef(list, 0);
//!     holds = !PyList_Check(item);
//!     Py_XDECREF(item);
//! }
//! if (holds)
//!     return -1;
//! ```
//!
//! What looks at the item gives true or false, so that nothing needs the item behind it.

use super::Draft;
use super::calls::{Parts, span_of};
use super::names::stem;
use super::nested::statement;
use crate::ast::{BinaryOp, ExprId, ExprKind, StmtId, StmtKind, UnaryOp};
use crate::capi::{Form, replacement};
use crate::source::ByteSpan;
use crate::strong::exits::exit::Failure;
use crate::strong::plan::Lookup;
use crate::strong::reason::Reason;
use crate::strong::scene::{Parent, Scene};
use crate::strong::types::is_number;

/// The parts of a condition `first || between && last`, or `first && last`.
pub(in crate::strong) struct Guarded {
    cond: ExprId,
    is_or: bool,
    first: ExprId,
    between: Vec<ExprId>,
    /// Begins with the lookup.
    last: ExprId,
}

/// The condition of `stmt` if the lookup `call` stands behind `&&` or `||` in it, and what runs
/// from there on does nothing but look at the item.
pub(in crate::strong) fn guarded(scene: &Scene<'_>, stmt: StmtId, call: ExprId) -> Option<Guarded> {
    let StmtKind::If { cond, .. } = scene.tree.stmt(stmt).kind else {
        return None;
    };
    let ExprKind::Binary { op, lhs, rhs } = scene.tree.expr(cond).kind else {
        return None;
    };
    let joins = matches!(op, BinaryOp::LogicalOr | BinaryOp::LogicalAnd);
    if !joins || scene.is_else_if(stmt) || !contains(scene, rhs, call) {
        return None;
    }
    // Only the operands move: a comment or a directive between them would get lost.
    let text = scene.text(scene.span(cond)?);
    if ["/*", "//", "#"].iter().any(|mark| text.contains(mark)) {
        return None;
    }
    let mut guarded = Guarded {
        cond,
        is_or: is_or(scene, cond),
        first: lhs,
        between: Vec::new(),
        last: rhs,
    };
    while let ExprKind::Binary {
        op: BinaryOp::LogicalAnd,
        lhs,
        rhs,
    } = scene.tree.expr(guarded.last).kind
        && guarded.is_or
        && contains(scene, rhs, call)
    {
        guarded.between.push(lhs);
        guarded.last = rhs;
    }
    let tells = truth(scene, guarded.first).is_some() && is_truth(scene, guarded.last);
    let looks = within(scene, guarded.last).all(|part| only_looks(scene, part, call));
    let alone = within(scene, cond).all(|part| part == call || !is_lookup(scene, part));
    let first = always_first(scene, guarded.last, call);
    (tells && looks && alone && first).then_some(guarded)
}

/// The text of `part` as a value of an `int` that is 0 or 1.
fn truth(scene: &Scene<'_>, part: ExprId) -> Option<String> {
    let text = scene.text(scene.span(part)?);
    if is_truth(scene, part) {
        return Some(text);
    }
    let ty = &scene.tree.local(scene.as_local(part)?).ty;
    match ty.pointee() {
        Some(_) => Some(format!("{text} != NULL")),
        None => is_number(ty).then(|| format!("{text} != 0")),
    }
}

/// Whether an expression is true or false, and fits into an `int`.
fn is_truth(scene: &Scene<'_>, part: ExprId) -> bool {
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

fn is_or(scene: &Scene<'_>, part: ExprId) -> bool {
    let kind = &scene.tree.expr(part).kind;
    matches!(kind, ExprKind::Binary { op, .. } if *op == BinaryOp::LogicalOr)
}

/// Whether `part` is no assignment, nor a lookup or condition beside `call`.
fn only_looks(scene: &Scene<'_>, part: ExprId, call: ExprId) -> bool {
    match scene.tree.expr(part).kind {
        ExprKind::Assign { .. } | ExprKind::Conditional { .. } => false,
        ExprKind::Binary { op, .. } => !matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr),
        ExprKind::Unary { op, .. } => matches!(
            op,
            UnaryOp::Not | UnaryOp::Minus | UnaryOp::Plus | UnaryOp::Complement | UnaryOp::Deref
        ),
        ExprKind::Call { .. } => part == call || scene.call(part).is_some(),
        _ => true,
    }
}

fn is_lookup(scene: &Scene<'_>, part: ExprId) -> bool {
    let called = scene.call(part);
    called.is_some_and(|(name, _)| replacement(name).is_some())
}

/// Whether no other call of `whole` runs before `call`: all others have it as their argument.
fn always_first(scene: &Scene<'_>, whole: ExprId, call: ExprId) -> bool {
    let calls = within(scene, whole)
        .filter(|&part| matches!(scene.tree.expr(part).kind, ExprKind::Call { .. }));
    let mut calls = calls.filter(|&part| !contains(scene, call, part));
    calls.all(|part| contains(scene, part, call))
}

/// All parts of an expression, with itself.
fn within<'s>(scene: &'s Scene<'_>, whole: ExprId) -> impl Iterator<Item = ExprId> + 's {
    let parts = scene.tree.expr_ids();
    parts.filter(move |&part| contains(scene, whole, part))
}

fn contains(scene: &Scene<'_>, whole: ExprId, part: ExprId) -> bool {
    let mut at = part;
    while at != whole {
        match scene.parent_of_expr(at) {
            Some(Parent::Expr(outer)) => at = outer,
            _ => return false,
        }
    }
    true
}

/// Rewrites the condition of `stmt`; `answer` is a variable for what it says.
///
/// # Errors
/// A macro makes a part of it.
pub(in crate::strong) fn rewrite(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    answer: &str,
    lookup: &Lookup,
    stmt: StmtId,
) -> Result<(), Reason> {
    let name = draft.unused_name(&[stem(lookup.replacement)]);
    let scene = draft.scene;
    let in_macro = || Reason::InMacro("around it".to_owned());
    let text = |part| {
        let text = scene.text(scene.span(part)?);
        let joins = !is_truth(scene, part) || is_or(scene, part);
        Some(if joins { format!("({text})") } else { text })
    };
    let found = guarded(scene, stmt, lookup.call).ok_or_else(in_macro)?;
    let (cond, last) = (scene.span(found.cond), scene.span(found.last));
    let (cond, last) = cond.zip(last).ok_or_else(in_macro)?;
    let first = truth(scene, found.first).ok_or_else(in_macro)?;
    let between: Option<Vec<String>> = found.between.iter().map(|&part| text(part)).collect();
    let test = if found.is_or { "!" } else { "" };
    let test = [
        vec![format!("{test}{answer}")],
        between.ok_or_else(in_macro)?,
    ]
    .concat();

    let span = span_of(draft, stmt)?;
    let before = scene.text(ByteSpan::new(last.start().0, parts.whole.start().0));
    let behind = scene.text(ByteSpan::new(parts.whole.end().0, last.end().0));
    let mut body = looked_up(draft, parts, &name, lookup, span);
    body.push(format!("{answer} = {before}{name}{behind};"));
    body.push(format!("{}({name});", release(lookup)));

    let head = draft.declare(stmt, "int ", answer);
    let open = draft.scene.layout.if_open();
    let block = draft.block_of(&format!("{open}{})", test.join(" && ")), &body, span);
    draft.before(stmt, [format!("{head} {first};")]);
    draft.before(stmt, block);
    draft.replace(cond, answer);
    Ok(())
}

/// The statements that look up into the new variable `name`.
fn looked_up(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    lookup: &Lookup,
    stmt: ByteSpan,
) -> Vec<String> {
    let pointer = draft.scene.layout.pointer("PyObject *");
    match lookup.replacement.form {
        Form::Return => {
            let head = format!("{pointer}{name} =");
            let column = draft.step(stmt).len() + head.len() + 1;
            let mut lines = statement(&head, parts.call_lines(draft, column, stmt));
            lines.extend(draft.null_exit(lookup, name, stmt));
            lines
        }
        Form::Out { .. } => {
            let mut lines = vec![format!("{pointer}{name};")];
            lines.extend(parts.statement(draft, name, stmt));
            lines
        }
    }
}

/// The function that releases the item.
fn release(lookup: &Lookup) -> &'static str {
    match lookup.failure {
        Failure::Exit(_) | Failure::Break(..) | Failure::Stop(_)
            if lookup.replacement.form == Form::Return =>
        {
            "Py_DECREF"
        }
        _ => "Py_XDECREF",
    }
}
