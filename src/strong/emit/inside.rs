//! Lookups that assign within the expression of a statement.

use std::collections::BTreeSet;

use super::Draft;
use super::calls::{Parts, span_of};
use crate::ast::{ExprId, StmtId};
use crate::source::ByteSpan;
use crate::strong::reason::Reason;
use crate::strong::scene::Parent;
use crate::strong::shape::{null_test, runs_first};

/// `if ((v = call(d, k)) == NULL)` turns into `if (callRef(d, k, &v) <= 0)`; where errors are to
/// be cleared the lookup moves in front of the statement.
pub(in crate::strong) fn inside(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    stmt: StmtId,
    assignment: ExprId,
) -> Result<(), Reason> {
    let made = || Reason::InMacro("around it".to_owned());
    let whole = draft.scene.span(assignment).ok_or_else(made)?;
    if parts.is_statement() {
        runs_first(draft.scene, stmt, parts.call, &BTreeSet::new())?;
        let lines = parts.statement(draft, name, span_of(draft, stmt)?);
        draft.before(stmt, lines);
        let whole = with_parentheses(draft, whole);
        draft.replace(whole, name);
        return Ok(());
    }
    let Some((test, when)) = tested(draft, assignment) else {
        return Err(Reason::NotEvaluatedFirst("another part".to_owned()));
    };
    let span = draft.scene.span(test).ok_or_else(made)?;
    let comparison = if when { "> 0" } else { "<= 0" };
    let span = if test == assignment { whole } else { span };
    let column = draft.scene.layout.column(span.start());
    let call = format!("{} {comparison}", parts.out_call(draft, name, column));
    draft.replace(span, call);
    Ok(())
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
fn with_parentheses(draft: &Draft<'_, '_>, mut span: ByteSpan) -> ByteSpan {
    let bytes = draft.scene.cx.file(draft.scene.file).bytes();
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
