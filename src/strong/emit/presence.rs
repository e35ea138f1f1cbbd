//! Lookups of which only the presence of the key is asked.
//!
//! ```c
//! if (PyDict_GetItem(d, k) != NULL)       int found = PyDict_Contains(d, k);
//!     return 1;                           if (found < 0) {
//!                                             PyErr_WriteUnraisable(NULL);
//!                                         }
//!                                         if (found == 1)
//!                                             return 1;
//! ```

use std::collections::BTreeSet;

use super::Draft;
use super::calls::Parts;
use super::declarations;
use super::inside::with_parentheses;
use crate::ast::{BinaryOp, ExprId, ExprKind, Parent, StmtId, StmtKind, UnaryOp};
use crate::capi::{OldErrors, Replacement};
use crate::program::CallSite;
use crate::source::ByteSpan;
use crate::strong::order::runs_first;
use crate::strong::plan::Lookup;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;

/// The function that answers whether a key is there.
pub(in crate::strong) fn contains(lookup: &Lookup) -> &'static str {
    match lookup.replacement.strong {
        "PyDict_GetItemStringRef" => "PyDict_ContainsString",
        _ => "PyDict_Contains",
    }
}

/// Rewrites an expression, which is true or false (the second of `test`) if the key is there;
/// `name` is a variable for the answer.
///
/// # Errors
/// A macro makes the test.
pub(in crate::strong) fn rewrite(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    lookup: &Lookup,
    test: (ExprId, bool),
) -> Result<(), Reason> {
    let in_macro = || Reason::InMacro("around it".to_owned());
    let (test, when) = negated(draft.scene, test);
    let span = draft.scene.span(test).ok_or_else(in_macro)?;
    let args = draft.text(ByteSpan::new(parts.callee.end().0, parts.whole.end().0));
    let call = format!("{}{args}", contains(lookup));
    let comparison = if when { "== 1" } else { "!= 1" };
    let mut behind = None;
    let answer = match front(draft.scene, parts.call) {
        Some(stmt) if parts.is_statement() => {
            let at = draft.scene.stmt_span(stmt).ok_or_else(in_macro)?;
            let head = draft.declare(stmt, "int ", name);
            let mut lines = vec![format!("{head} {call};")];
            if let Some(handled) = &parts.handled {
                let open = draft.scene.layout.if_open();
                let block = draft.block_of(&format!("{open}{name} < 0)"), &handled.body, at);
                match &draft.scene.tree.stmt(stmt).kind {
                    StmtKind::Decl(decls)
                        if parts.kept.is_none() && !draft.scene.mixes_declarations() =>
                    {
                        behind = Some((stmt, decls, block));
                    }
                    _ => lines.extend(block),
                }
            }
            draft.before(stmt, parts.within_kept(lines));
            name.to_owned()
        }
        _ => call,
    };
    let is_bare = with_parentheses(draft.scene, span) == span;
    let text = match is_bare && binds_closer(draft.scene, test) {
        true => format!("({answer} {comparison})"),
        false => format!("{answer} {comparison}"),
    };
    if let Some((stmt, decls, clear)) = behind {
        draft.name_result(span, &text);
        return declarations::assign_behind(draft, stmt, decls, clear);
    }
    draft.replace(span, text);
    Ok(())
}

/// The test with what negates it: `!!PyDict_GetItem(d, k)` is `found == 1`.
fn negated(scene: &Scene<'_>, (mut test, mut when): (ExprId, bool)) -> (ExprId, bool) {
    while let Some(Parent::Expr(outer)) = scene.parent_of_expr(test)
        && let ExprKind::Unary {
            op: UnaryOp::Not, ..
        } = scene.tree.expr(outer).kind
    {
        (test, when) = (outer, !when);
    }
    (test, when)
}

/// Whether a comparison in the place of `test` needs parentheses: `-!PyDict_GetItem(d, k)` is
/// `-(found != 1)`.
fn binds_closer(scene: &Scene<'_>, test: ExprId) -> bool {
    let Some(Parent::Expr(outer)) = scene.parent_of_expr(test) else {
        return false;
    };
    !matches!(
        scene.tree.expr(outer).kind,
        ExprKind::Assign { .. }
            | ExprKind::Binary {
                op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr | BinaryOp::Comma,
                ..
            }
            | ExprKind::Call { .. }
            | ExprKind::Conditional { .. }
            | ExprKind::Index { .. }
    )
}

/// Whether `PyDict_Contains` can answer for the lookup `call`: it is made of a dict, which the
/// function does not check up to Python 3.13, and its errors can be cleared.
pub(in crate::strong) fn is_possible(
    scene: &Scene<'_>,
    call: ExprId,
    replacement: &Replacement,
) -> bool {
    let site = CallSite {
        item: scene.item,
        expr: call,
    };
    let has_place = replacement.errors != OldErrors::Swallowed || front(scene, call).is_some();
    has_place && scene.cx.is_dict(site, 0)
}

/// The statement of the lookup, if the lookup can as well be made in front of it.
fn front(scene: &Scene<'_>, call: ExprId) -> Option<StmtId> {
    let stmt = scene.stmt_of(call)?;
    runs_first(scene, stmt, call, &BTreeSet::new()).ok()?;
    (!is_asserted(scene, call)).then_some(stmt)
}

/// Whether the compiler may leave the call out.
fn is_asserted(scene: &Scene<'_>, call: ExprId) -> bool {
    let mut at = scene.parent_of_expr(call);
    while let Some(Parent::Expr(outer)) = at {
        if scene.call(outer).is_some_and(|(name, _)| name == "assert") {
            return true;
        }
        at = scene.parent_of_expr(outer);
    }
    false
}
