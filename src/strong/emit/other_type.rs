//! Results for variables of other types than `PyObject *`.
//!
//! ```c
//! t = (Thing *)PyDict_GetItem(d, k);      PyObject *object;
//!                                         if (PyDict_GetItemRef(d, k, &object) < 0) {
//!                                             PyErr_WriteUnraisable(NULL);
//!                                         }
//!                                         t = (Thing *)object;
//! ```

use super::Draft;
use super::calls::{Parts, span_of, take_value};
use super::declarations::behind_declarations;
use super::nested::nested_out;
use crate::ast::{Init, LocalId, StmtId, StmtKind};
use crate::capi::Form;
use crate::source::ByteSpan;
use crate::strong::plan::{Lookup, takes_result};
use crate::strong::reason::Reason;
use crate::strong::shape::Shape;

/// The statement that casts a result and stores it, and what it gets it from then.
pub(in crate::strong) struct Cast {
    stmt: StmtId,
    local: LocalId,
    /// The `PyObject *` that gets the result.
    pub name: String,
}

/// What casts the result of a lookup, if its variable cannot get it from the strong function.
pub(in crate::strong) fn cast(draft: &mut Draft<'_, '_>, lookup: &Lookup) -> Option<Cast> {
    let (Shape::Assigned(stmt, local) | Shape::Initialised(stmt, local)) = lookup.shape else {
        return None;
    };
    let is_out = matches!(lookup.replacement.form, Form::Out { .. });
    (is_out && !takes_result(draft.scene, local)).then(|| Cast {
        stmt,
        local,
        name: draft.unused_name(&["object", "obj"]),
    })
}

/// Rewrites a lookup whose result is cast.
///
/// # Errors
/// The lookup or the declaration comes from a macro.
pub(in crate::strong) fn rewrite(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    cast: &Cast,
) -> Result<(), Reason> {
    if let StmtKind::Decl(_) = draft.scene.tree.stmt(cast.stmt).kind {
        return initialised(draft, parts, cast);
    }
    close_up(draft, parts);
    nested_out(draft, parts, &cast.name, cast.stmt)
}

/// `Thing *t = (Thing *)call(d, k);` turns into declarations, the lookup, and an assignment.
fn initialised(draft: &mut Draft<'_, '_>, parts: &Parts, cast: &Cast) -> Result<(), Reason> {
    let &Cast {
        stmt,
        local,
        ref name,
    } = cast;
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
    let (last, mut later) = behind_declarations(draft, stmt)?;
    let mut lines = parts.statement(draft, name, span_of(draft, last)?);
    lines.push(assignment);
    lines.append(&mut later);
    let prefix = draft.scene.layout.pointer("PyObject *");
    draft.declare_behind(last, format!("{prefix}{name};"));
    draft.assign(last, stmt, lines)
}

/// Joins the lines of a cast and of the call that stands under it: what is left is short.
fn close_up(draft: &mut Draft<'_, '_>, parts: &Parts) {
    let last = draft.scene.layout.token_end_before(parts.whole.start());
    let gap = ByteSpan::new(last.0, parts.whole.start().0);
    if draft.text(gap).contains('\n') && draft.text(gap).trim().is_empty() {
        draft.replace(gap, " ");
    }
}
