//! Lookups behind `&&` or `||` in what a statement tests, assigns or returns.
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
use super::calls::{Parts, name_again, span_of};
use super::names::stem;
use super::nested::statement;
use crate::ast::{BinaryOp, ExprId, ExprKind, StmtId};
use crate::capi::Form;
use crate::source::ByteSpan;
use crate::strong::exits::exit::Failure;
use crate::strong::guard::{gives_number, guarded, is_truth};
use crate::strong::plan::Lookup;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;

/// Rewrites the value of `stmt`; `answer` is the variable for what it says.
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
    let found = guarded(scene, stmt, lookup.call).ok_or_else(in_macro)?;
    let between = found.between.iter().map(|&part| operand(scene, part));
    let between: Option<Vec<String>> = between.collect();
    let test = if found.is_or { "!" } else { "" };
    let test = [
        vec![format!("{test}{answer}")],
        between.ok_or_else(in_macro)?,
    ]
    .concat();

    let span = span_of(draft, stmt)?;
    draft.name_result(parts.whole, &name);
    name_again(draft, lookup, &name)?;
    let last = draft.text(found.last);
    let last = if found.is_truth {
        last
    } else {
        format!("{last} != 0")
    };
    let mut body = looked_up(draft, parts, &name, lookup, span);
    body.push(format!("{answer} = {last};"));
    body.push(format!("{}({name});", release(lookup)));
    let first = format!("{}{}", draft.text(found.first.0), found.first.1);
    let open = draft.scene.layout.if_open();
    let block = draft.block_of(&format!("{open}{})", test.join(" && ")), &body, span);
    if found.local.is_some() {
        draft.after_first(stmt, block);
        draft.replace(found.value, first);
    } else {
        let head = draft.declare(stmt, "int ", answer);
        draft.before(stmt, [format!("{head} {first};")]);
        draft.before(stmt, block);
        draft.replace(found.value, answer);
        draft.answered.insert(stmt);
    }
    Ok(())
}

/// The text of an operand of `&&`.
fn operand(scene: &Scene<'_>, part: ExprId) -> Option<String> {
    let text = scene.text(scene.span(part)?);
    let binds = matches!(
        scene.tree.expr(part).kind,
        ExprKind::Name(_)
            | ExprKind::Call { .. }
            | ExprKind::Member { .. }
            | ExprKind::Index { .. }
            | ExprKind::Unary { .. }
    );
    let is_or = matches!(
        scene.tree.expr(part).kind,
        ExprKind::Binary {
            op: BinaryOp::LogicalOr,
            ..
        }
    );
    let is_whole = binds || is_truth(scene, part) && !is_or || gives_number(scene, part);
    Some(if is_whole { text } else { format!("({text})") })
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
