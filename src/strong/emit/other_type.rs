//! Results for variables of other types than `PyObject *`.
//!
//! ```c
//! t = (Thing *)PyDict_GetItem(d, k);      PyObject *object;
//!                                         if (PyDict_GetItemRef(d, k, &object) < 0) {
//!                                             PyErr_Clear();
//!                                         }
//!                                         t = (Thing *)object;
//! ```

use super::Draft;
use super::calls::{Parts, last_declaration, span_of, take_value};
use super::nested::nested_out;
use crate::ast::{Init, LocalId, StmtId, StmtKind};
use crate::source::ByteSpan;
use crate::strong::reason::Reason;

/// Rewrites a lookup whose result `stmt` casts and stores in `local`.
///
/// # Errors
/// The lookup or the declaration comes from a macro.
pub(in crate::strong) fn rewrite(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    stmt: StmtId,
    local: LocalId,
) -> Result<(), Reason> {
    let name = draft.unused_name(&["object", "obj"]);
    if let StmtKind::Decl(_) = draft.scene.tree.stmt(stmt).kind {
        return initialised(draft, parts, &name, stmt, local);
    }
    close_up(draft, parts);
    nested_out(draft, parts, &name, stmt)
}

/// `Thing *t = (Thing *)call(d, k);` turns into declarations, the lookup, and an assignment.
fn initialised(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    stmt: StmtId,
    local: LocalId,
) -> Result<(), Reason> {
    let made = || Reason::InMacro("around it".to_owned());
    let StmtKind::Decl(decls) = &draft.scene.tree.stmt(stmt).kind else {
        return Err(made());
    };
    let value = decls.iter().find(|decl| decl.local == local);
    let Some(Init::Expr(value)) = value.and_then(|decl| decl.init.as_ref()) else {
        return Err(made());
    };
    let value = draft.scene.span(*value).ok_or_else(made)?;
    close_up(draft, parts);
    draft.name_result(parts.whole, name);
    let assignment = format!("{} = {};", draft.scene.name(local), draft.text(value));
    take_value(draft, stmt, local)?;
    let last = last_declaration(draft, stmt);
    let mut lines = parts.statement(draft, name, span_of(draft, last)?);
    lines.push(assignment);
    let prefix = draft.scene.layout.pointer("PyObject *");
    draft.declare_behind(last, format!("{prefix}{name};"));
    draft.after_first(last, lines);
    Ok(())
}

/// Joins the lines of a cast and of the call that stands under it: what is left is short.
fn close_up(draft: &mut Draft<'_, '_>, parts: &Parts) {
    let last = draft.scene.layout.token_end_before(parts.whole.start());
    let gap = ByteSpan::new(last.0, parts.whole.start().0);
    if draft.text(gap).contains('\n') && draft.text(gap).trim().is_empty() {
        draft.replace(gap, " ");
    }
}
