//! Lookups that give their result to a place that is no variable of the function.

use super::Draft;
use super::calls::{Parts, assigned, span_of};
use super::nested::nested_out;
use crate::ast::StmtId;
use crate::capi::{Form, OldErrors, PyVersion};
use crate::source::ByteSpan;
use crate::strong::plan::Lookup;
use crate::strong::reason::Reason;

/// `place = call(d, k);` turns into `if (callRef(d, k, &place) < 0) { PyErr_WriteUnraisable(NULL); }`, and
/// `place = call(l, i);` into `place = callRef(l, i);`.
pub(in crate::strong) fn in_place(
    draft: &mut Draft<'_, '_>,
    place: &str,
    lookup: &Lookup,
    stmt: StmtId,
) -> Result<(), Reason> {
    let parts = parts(draft, lookup)?;
    match lookup.replacement.form {
        Form::Return => {
            draft.replace(parts.callee, lookup.replacement.strong);
            Ok(())
        }
        Form::Out { .. } => assigned(draft, &parts, place, stmt),
    }
}

/// A static variable that gets a reference.
#[derive(Debug, Clone, Copy)]
pub(in crate::strong) struct Setting<'t> {
    /// As it is written.
    pub place: &'t str,
    /// The variable that has the result first, where it comes through a pointer.
    pub name: &'t str,
    /// Whether it is to be declared.
    pub is_new: bool,
}

/// `place = call(l, i);` turns into `Py_XSETREF(place, callRef(l, i));`.
pub(in crate::strong) fn set_static(
    draft: &mut Draft<'_, '_>,
    Setting {
        place,
        name,
        is_new,
    }: Setting<'_>,
    lookup: &Lookup,
    stmt: StmtId,
) -> Result<(), Reason> {
    let parts = parts(draft, lookup)?;
    let span = span_of(draft, stmt)?;
    let before = match lookup.replacement.form {
        Form::Return => {
            draft.replace(parts.callee, lookup.replacement.strong);
            parts.callee.start()
        }
        Form::Out { .. } if is_new => {
            nested_out(draft, &parts, name, stmt)?;
            parts.whole.start()
        }
        Form::Out { .. } => {
            let lines = parts.statement(draft, name, span);
            draft.before(stmt, lines);
            draft.name_result(parts.whole, name);
            parts.whole.start()
        }
    };
    let head = ByteSpan::new(span.start().0, before.0);
    draft.replace(head, format!("Py_XSETREF({place}, "));
    draft.replace(ByteSpan::new(parts.whole.end().0, span.end().0), ");");
    Ok(())
}

/// The text of the call, with a note of what it needs.
fn parts(draft: &mut Draft<'_, '_>, lookup: &Lookup) -> Result<Parts, Reason> {
    if lookup.replacement.errors == OldErrors::Swallowed {
        draft.doubt_clear(lookup);
    }
    if lookup.replacement.since > PyVersion::new(3, 6) {
        draft.compat(lookup.replacement.strong);
    }
    Parts::of(draft, lookup)
}
