//! Declarations whose values move behind a lookup into a variable of its own.
//!
//! ```c
//! Foo *v = (Foo *)PyDict_GetItem(d, k);        Foo *v;
//!                                              if (PyDict_GetItemRef(d, k, &v_ref) < 0) {
//!                                                  PyErr_WriteUnraisable(NULL);
//!                                              }
//!                                              v = (Foo *)v_ref;
//! ```

use super::Draft;
use super::calls::{Parts, span_of, take_value};
use super::declarations::behind_declarations;
use super::nested::statement;
use crate::ast::{Init, LocalId, StmtId, StmtKind};
use crate::capi::Form;
use crate::source::ByteSpan;
use crate::strong::plan::Lookup;
use crate::strong::reason::Reason;

/// Rewrites the declaration `stmt` of `local`, for which `name` holds the reference.
pub(in crate::strong) fn initialised(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    lookup: &Lookup,
    (stmt, local): (StmtId, LocalId),
) -> Result<(), Reason> {
    let value = value_text(draft, parts, name, (stmt, local))?;
    take_value(draft, stmt, local)?;
    let (last, mut later) = behind_declarations(draft, stmt)?;
    let span = span_of(draft, last)?;
    let mut lines = match lookup.replacement.form {
        Form::Out { .. } => parts.statement(draft, name, span),
        Form::Return => {
            let head = format!("{name} =");
            let call = parts.call_lines(draft, head.len() + 1, span);
            let mut lines = parts.within_kept(statement(&head, call));
            lines.append(&mut draft.null_exit(lookup, name, span));
            lines
        }
    };
    let local = draft.scene.name(local);
    if local != value {
        lines.push(format!("{local} = {value};"));
    }
    lines.append(&mut later);
    draft.assign(last, stmt, lines)
}

impl Draft<'_, '_> {
    /// Whether the value of the declaration `stmt`, kept in `name`, goes behind it.
    pub(in crate::strong) fn moves_behind(&self, stmt: StmtId, name: &str) -> bool {
        self.apart.contains(name) || self.moving.contains(&stmt)
    }
}

/// The value of the declaration with `name` in place of the lookup.
fn value_text(
    draft: &Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    (stmt, local): (StmtId, LocalId),
) -> Result<String, Reason> {
    let made = || Reason::InMacro("around it".to_owned());
    let StmtKind::Decl(decls) = &draft.scene.tree.stmt(stmt).kind else {
        return Err(made());
    };
    let decl = decls.iter().find(|decl| decl.local == local);
    let init = decl.and_then(|decl| match decl.init {
        Some(Init::Expr(init)) => draft.scene.span(init),
        _ => None,
    });
    let init = init.ok_or_else(made)?;
    let before = ByteSpan::new(init.start().0, parts.whole.start().0);
    let behind = ByteSpan::new(parts.whole.end().0, init.end().0);
    Ok(draft.text(before) + name + &draft.text(behind))
}
