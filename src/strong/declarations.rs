//! Values of declarations that move behind a lookup, where C89 allows no statement between
//! declarations.
//!
//! ```c
//! PyObject *v = PyDict_GetItem(d, k);      PyObject *v;
//! long n = v ? PyLong_AsLong(v) : 0;       long n;
//!                                          if (PyDict_GetItemRef(d, k, &v) < 0) {
//!                                              PyErr_Clear();
//!                                          }
//!                                          n = v ? PyLong_AsLong(v) : 0;
//! ```

use super::calls::{is_idle, take_value};
use super::emit::Draft;
use super::reason::Reason;
use crate::ast::{ExprKind, Init, StmtId, StmtKind, Storage};
use crate::capi;

/// Takes the values out of the declarations behind `stmt` that do more than give constants. Gives
/// the last of the declarations, and the assignments of the values.
///
/// # Errors
/// A value cannot be assigned later.
pub(super) fn assign_later(
    draft: &mut Draft<'_, '_>,
    stmt: StmtId,
) -> Result<(StmtId, Vec<String>), Reason> {
    let scene = draft.scene;
    let (stmts, at) = scene.siblings(stmt).ok_or(Reason::Declared)?;
    let is_decl = |id: &&StmtId| matches!(scene.tree.stmt(**id).kind, StmtKind::Decl(_));
    let run: Vec<StmtId> = stmts[at + 1..]
        .iter()
        .take_while(is_decl)
        .copied()
        .collect();
    let mut assignments = Vec::new();
    for &stmt in &run {
        if !is_idle(draft, stmt) {
            assignments.push(assignment(draft, stmt)?);
        }
    }
    let last = run.last().copied().ok_or(Reason::Declared)?;
    Ok((last, assignments))
}

/// `long n = f(v);` turns into `long n;`. Gives `n = f(v);`.
fn assignment(draft: &mut Draft<'_, '_>, stmt: StmtId) -> Result<String, Reason> {
    let scene = draft.scene;
    let StmtKind::Decl(decls) = &scene.tree.stmt(stmt).kind else {
        return Err(Reason::Declared);
    };
    let ([decl], Some(Init::Expr(value))) = (&decls[..], decls[0].init.as_ref()) else {
        return Err(Reason::Declared);
    };
    let variable = scene.tree.local(decl.local);
    let within = scene.tree.expr(*value).range;
    let has_lookup = scene.tree.exprs.iter().any(|expr| {
        let inside = within.start <= expr.range.start && expr.range.end <= within.end;
        match expr.kind {
            ExprKind::Call { callee, .. } => {
                let name = scene.tree.callee_name(callee);
                inside && name.is_some_and(|name| capi::replacement(name).is_some())
            }
            _ => false,
        }
    });
    let span = scene.span(*value).ok_or(Reason::Declared)?;
    let text = scene.text(span);
    let is_plain = variable.storage == Storage::None && !variable.ty.is_const;
    if !is_plain || has_lookup || text.contains('\n') {
        return Err(Reason::Declared);
    }
    take_value(draft, stmt, decl.local)?;
    Ok(format!("{} = {text};", variable.name))
}
