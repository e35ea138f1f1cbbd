//! Lookups that assign within the expression of a statement.

use std::collections::BTreeSet;

use super::Draft;
use super::calls::{Parts, span_of};
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Parent, StmtId, StmtKind};
use crate::capi::{Absent, replacement};
use crate::cfg::reaches;
use crate::source::ByteSpan;
use crate::strong::follow::web::{Given, definitions, webs};
use crate::strong::order::runs_first;
use crate::strong::plan::Lookup;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::shape::null_test;

/// `if ((v = call(d, k)) == NULL)` turns into `if (callRef(d, k, &v) <= 0)`, or `< 0` where the new
/// function always gives something but for errors; where errors are to be cleared the lookup moves in
/// front of the statement.
pub(in crate::strong) fn inside(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    lookup: &Lookup,
    name: &str,
    (stmt, assignment): (StmtId, ExprId),
) -> Result<(), Reason> {
    let made = || Reason::InMacro("around it".to_owned());
    let whole = draft.scene.span(assignment).ok_or_else(made)?;
    if parts.is_statement() {
        let whole = with_parentheses(draft.scene, whole);
        if let Err(why) = runs_first(draft.scene, stmt, parts.call, &BTreeSet::new()) {
            let front = front(draft.scene, (stmt, assignment)).ok_or(why)?;
            let lines = behind(draft, parts, name, stmt, front)?;
            draft.before(stmt, lines);
            let test = draft.scene.span(front.test).ok_or_else(made)?;
            let is_value = front.test == assignment && ends_value(draft.scene, stmt, assignment);
            let [before, after] = [
                ByteSpan::new(test.start().0, whole.start().0.max(test.start().0)),
                ByteSpan::new(whole.end().0.min(test.end().0), test.end().0),
            ]
            .map(|span| draft.text(span));
            let value = if is_value { " != NULL" } else { "" };
            let left = format!("{before}{name}{after}{value}");
            let end = with_parentheses(draft.scene, test).end().max(whole.end());
            draft.replace(ByteSpan::new(front.span.start().0, end.0), left);
            return Ok(());
        }
        let lines = parts.statement(draft, name, span_of(draft, stmt)?);
        draft.before(stmt, lines);
        draft.name_result(whole, name);
        return Ok(());
    }
    let Some((test, when)) = tested(draft, assignment) else {
        return Err(Reason::NotEvaluatedFirst("another part".to_owned()));
    };
    let span = draft.scene.span(test).ok_or_else(made)?;
    // `PyDict_SetDefaultRef` gives 0 where it has put the value in.
    let comparison = match (lookup.replacement.absent, when) {
        (Absent::Error, true) => ">= 0",
        (Absent::Error, false) => "< 0",
        (_, true) => "> 0",
        (_, false) => "<= 0",
    };
    let span = if test == assignment { whole } else { span };
    let column = draft.scene.layout.column(span.start());
    let call = format!("{} {comparison}", parts.out_call(draft, name, column));
    draft.replace(span, call);
    Ok(())
}

/// What decides whether the lookup in a condition runs.
#[derive(Clone, Copy)]
pub(in crate::strong) struct Front {
    decides: ExprId,
    /// With the parentheses around it.
    span: ByteSpan,
    /// Whether the lookup runs where that is false.
    is_or: bool,
    /// What asks for the result of the lookup.
    test: ExprId,
}

/// What decides whether the lookup in the condition of an `if`, or in the value of an assignment,
/// runs, if `NULL` in its variable stands for all else: `dict != NULL` in `if (dict != NULL && (v =
/// call(dict, k)) && i)`, `ok` in `ok = ok && (v = call(dict, k));`, and `dict == NULL` in `if (dict
/// == NULL || (v = call(dict, k)) == NULL)`.
pub(in crate::strong) fn front(
    scene: &Scene<'_>,
    (stmt, assignment): (StmtId, ExprId),
) -> Option<Front> {
    let tree = &scene.tree;
    let cond = asked(scene, stmt)?;
    let (test, when) = null_test(scene, assignment)?;
    let joining = match when {
        true => BinaryOp::LogicalAnd,
        false => BinaryOp::LogicalOr,
    };
    let (mut at, mut front) = (test, None);
    while at != cond {
        let Some(Parent::Expr(outer)) = scene.parent_of_expr(at) else {
            return None;
        };
        match tree.expr(outer).kind {
            ExprKind::Binary { op, lhs, rhs }
                if op == joining && (front.is_none() || lhs == at) =>
            {
                front = front.or((rhs == at).then_some(lhs));
            }
            _ => return None,
        }
        at = outer;
    }
    let ExprKind::Assign { lhs, rhs, .. } = tree.expr(assignment).kind else {
        return None;
    };
    let (decides, variable) = (front?, scene.as_local(lhs)?);
    let span = with_parentheses(scene, scene.span(decides)?);
    let is_plain = [decides, rhs].into_iter().all(|part| {
        let range = tree.expr(part).range;
        tree.exprs_in(range).all(|(id, _)| {
            let is_lookup = scene
                .call(id)
                .is_some_and(|(name, _)| replacement(name).is_some());
            scene.as_local(id) != Some(variable) && (part == rhs || !is_lookup)
        })
    });
    // A comment or a directive between the two would get lost.
    let between = ByteSpan::new(span.end().0, scene.span(assignment)?.start().0);
    let joins = |c: char| c.is_whitespace() || matches!(c, '&' | '|' | '!' | '(');
    let is_bare = scene.text(between).chars().all(joins) && !scene.text(span).contains('\n');
    let is_new = starts_anew(scene, variable, rhs) || !when && is_unread(scene, stmt, variable);
    (is_plain && is_bare && is_new).then_some(Front {
        decides,
        span,
        is_or: !when,
        test,
    })
}

/// Whether nothing reads what `variable` holds in front of `stmt` where its condition holds without
/// the lookup: `if (dict == NULL || (v = call(dict, k)) == NULL) v = make(k);`.
fn is_unread(scene: &Scene<'_>, stmt: StmtId, variable: LocalId) -> bool {
    let StmtKind::If { then, .. } = scene.tree.stmt(stmt).kind else {
        return false;
    };
    let start = scene.cfg.before(then);
    start.is_some_and(|start| !scene.is_live(variable, start))
}

/// What `stmt` asks: the condition of an `if`, or the value that a variable gets.
fn asked(scene: &Scene<'_>, stmt: StmtId) -> Option<ExprId> {
    match scene.tree.stmt(stmt).kind {
        StmtKind::If { cond, .. } => Some(cond),
        StmtKind::Expr(expr) => match scene.tree.expr(expr).kind {
            ExprKind::Assign { op: None, lhs, rhs } => scene.as_local(lhs).map(|_| rhs),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the lookup of `assignment` is the last part of a value: `ok = ok && (v = call(d, k));`,
/// which gets a pointer no more than a number.
fn ends_value(scene: &Scene<'_>, stmt: StmtId, assignment: ExprId) -> bool {
    let is_if = matches!(scene.tree.stmt(stmt).kind, StmtKind::If { .. });
    let outer = null_test(scene, assignment).and_then(|(test, _)| scene.parent_of_expr(test));
    let is_last = match outer {
        Some(Parent::Expr(outer)) => asked(scene, stmt) == Some(outer),
        _ => false,
    };
    !is_if && is_last
}

/// Whether nothing reads what `variable` holds in front of its lookup but `NULL`.
fn starts_anew(scene: &Scene<'_>, variable: LocalId, lookup: ExprId) -> bool {
    let lookup = scene.tree.without_casts(lookup);
    let own = [Given::Lookup(lookup), Given::Null];
    let webs = webs(scene, variable, &BTreeSet::from([lookup]));
    webs.iter()
        .all(|web| web.values().all(|given| own.contains(given)))
}

/// `if (front && (v = call(d, k)))` turns into `if ((v = v_ref))`, with the lookup in front of it,
/// for which `name` is a variable of its own; whether it is such a statement.
///
/// # Errors
/// A macro makes it.
pub(in crate::strong) fn inside_apart(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    stmt: StmtId,
) -> Result<bool, Reason> {
    let Some(assignment) = assignment_of(draft.scene, parts.call) else {
        return Ok(false);
    };
    if runs_first(draft.scene, stmt, parts.call, &BTreeSet::new()).is_ok() {
        return Ok(false);
    }
    let made = || Reason::InMacro("around it".to_owned());
    if ends_value(draft.scene, stmt, assignment) {
        return Err(Reason::NotEvaluatedFirst("a condition".to_owned()));
    }
    let front = front(draft.scene, (stmt, assignment)).ok_or_else(made)?;
    let whole = draft.scene.span(assignment).ok_or_else(made)?;
    let whole = with_parentheses(draft.scene, whole);
    if front.is_or {
        return Err(Reason::NotEvaluatedFirst("a condition".to_owned()));
    }
    let lines = behind(draft, parts, name, stmt, front)?;
    draft.before(stmt, lines);
    draft.replace(ByteSpan::new(front.span.start().0, whole.start().0), "");
    draft.name_result(parts.whole, name);
    Ok(true)
}

/// The assignment of what `call` gives.
fn assignment_of(scene: &Scene<'_>, call: ExprId) -> Option<ExprId> {
    let mut value = call;
    while let Some(Parent::Expr(outer)) = scene.parent_of_expr(value) {
        match scene.tree.expr(outer).kind {
            ExprKind::Cast { .. } => value = outer,
            ExprKind::Assign { op: None, rhs, .. } => return (rhs == value).then_some(outer),
            _ => return None,
        }
    }
    None
}

/// The statements in front of `if (front && (v = call(d, k)))`, of which `if (v)` is left.
fn behind(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    stmt: StmtId,
    front: Front,
) -> Result<Vec<String>, Reason> {
    let made = || Reason::InMacro("around it".to_owned());
    let (span, front) = (
        span_of(draft, stmt)?,
        match front.is_or {
            true => draft.negated(front.decides).ok_or_else(made)?,
            false => draft.text(front.span),
        },
    );
    let open = draft.scene.layout.if_open();
    let block = match &parts.handled {
        Some(handled) if parts.kept.is_none() => {
            let head = format!("{open}{front} && ");
            let call = parts.out_call(draft, name, head.len());
            draft.block_of(
                &format!("{head}{call} {})", handled.status),
                &handled.body,
                span,
            )
        }
        _ => {
            let lines = parts.statement(draft, name, span);
            draft.block_of(&format!("{open}{front})"), &lines, span)
        }
    };
    let mut lines = Vec::new();
    let is_null = match draft.apart.contains(name) {
        true => draft.emptied.contains(name) || !is_repeated(draft.scene, parts.call),
        false => is_null_before(draft, parts.call),
    };
    if !is_null {
        lines.push(format!("{name} = NULL;"));
    }
    lines.extend(block);
    Ok(lines)
}

/// Whether the variable of a lookup has got nothing but the `NULL` of its declaration before.
fn is_null_before(draft: &Draft<'_, '_>, lookup: ExprId) -> bool {
    let scene = draft.scene;
    let stored = scene.tree.stores();
    let mut stored = stored.filter(|&(_, value)| scene.tree.without_casts(value) == lookup);
    let Some((variable, _)) = stored.next() else {
        return false;
    };
    let defs = definitions(scene, variable, &BTreeSet::from([lookup]));
    let starts = draft.starts_null.contains(&variable);
    let is_declared = starts || scene.undefined_at_declaration(variable).is_none();
    // The one of the declaration is a new one, or there by now.
    let nulls = usize::from(!starts);
    let found = defs.iter().filter(|(_, given)| *given == Given::Null);
    is_declared && found.count() == nulls && defs.len() == nulls + 1 && !is_repeated(scene, lookup)
}

/// Whether the function may come to `lookup` again.
fn is_repeated(scene: &Scene<'_>, lookup: ExprId) -> bool {
    let at = scene.cfg.call(lookup);
    at.is_none_or(|at| reaches(scene.cfg, at.next(), at, &[]))
}

/// The expression that tests the value of `value` for `NULL`, and its outcome if it is not.
fn tested(draft: &Draft<'_, '_>, value: ExprId) -> Option<(ExprId, bool)> {
    match draft.scene.parent_of_expr(value) {
        Some(Parent::Stmt(_)) => Some((value, true)),
        Some(Parent::Expr(_)) => null_test(draft.scene, value),
        None => None,
    }
}

/// The span with the parentheses directly around it.
pub(super) fn with_parentheses(scene: &Scene<'_>, mut span: ByteSpan) -> ByteSpan {
    let bytes = scene.cx.file(scene.file).bytes();
    while let Some(wider) = parenthesized(bytes, span) {
        span = wider;
    }
    span
}

fn parenthesized(bytes: &[u8], span: ByteSpan) -> Option<ByteSpan> {
    let is_text = |byte: &u8| !byte.is_ascii_whitespace();
    let open = bytes[..span.start().index()].iter().rposition(is_text)?;
    let behind = bytes[span.end().index()..].iter().position(is_text)?;
    let close = span.end().index() + behind;
    // The parentheses of `if (…)` and of calls stay: a name or keyword stands before them.
    let before = bytes[..open].iter().rfind(|byte| is_text(byte))?;
    let is_own = !before.is_ascii_alphanumeric() && *before != b'_';
    let offset = |at: usize| u32::try_from(at).expect("files are indexed by u32");
    (is_own && bytes[open] == b'(' && bytes[close] == b')')
        .then(|| ByteSpan::new(offset(open), offset(close + 1)))
}
