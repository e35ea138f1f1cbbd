//! Lookups in the middle of an expression: they get a statement of their own in front of it.

use super::Draft;
use super::calls::{Parts, span_of};
use super::declarations;
use super::inside::inside_apart;
use super::saved::around;
use crate::ast::{StmtId, StmtKind};
use crate::capi::OldErrors;
use crate::strong::exits::exit::Failure;
use crate::strong::order::overtaken;
use crate::strong::plan::Lookup;
use crate::strong::reason::Reason;
use crate::strong::shape::Shape;

/// `f(call(l, i));` turns into `PyObject *item = callRef(l, i); f(item);`.
pub(super) fn nested_return(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    lookup: &Lookup,
    stmt: StmtId,
) -> Result<(), Reason> {
    let head = draft.declare(stmt, "PyObject *", name);
    let span = span_of(draft, stmt)?;
    let call = parts.call_lines(draft, head.len() + 1, span);
    let call = draft.unless_null(lookup, call);
    let (save, mut test) = around(parts.kept.as_ref());
    test.append(&mut draft.null_exit(lookup, name, span));
    draft.before(stmt, save);
    draft.before(stmt, statement(&head, call));
    if let StmtKind::Decl(decls) = &draft.scene.tree.stmt(stmt).kind
        && !test.is_empty()
        && !draft.scene.mixes_declarations()
    {
        draft.name_result(parts.whole, name);
        if draft.initialised.contains(&stmt) {
            return declarations::test_behind(draft, stmt, decls, test);
        }
        return declarations::assign_behind(draft, stmt, decls, test);
    }
    draft.before(stmt, test);
    draft.name_result(parts.whole, name);
    Ok(())
}

/// The same for a lookup that hands its result out through a pointer.
pub(super) fn nested_out(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    stmt: StmtId,
) -> Result<(), Reason> {
    if draft.apart.contains(name) && inside_apart(draft, parts, name, stmt)? {
        return Ok(());
    }
    let span = span_of(draft, stmt)?;
    let head = draft.declare(stmt, "PyObject *", name);
    let lines = parts.statement(draft, name, span);
    if head.starts_with("PyObject") {
        let prefix = draft.scene.layout.pointer("PyObject *");
        draft.before(stmt, vec![format!("{prefix}{name};")]);
    }
    draft.name_result(parts.whole, name);
    match &draft.scene.tree.stmt(stmt).kind {
        StmtKind::Decl(decls)
            if declarations::may_wait(draft, stmt, decls)
                && !draft.scene.file_mixes_declarations() =>
        {
            declarations::assign_behind(draft, stmt, decls, lines)
        }
        _ => {
            draft.before(stmt, lines);
            Ok(())
        }
    }
}

/// The lines of the statement that begins with `head` and goes on with `value`.
pub(super) fn statement(head: &str, mut value: Vec<String>) -> Vec<String> {
    if let Some(first) = value.first_mut() {
        *first = format!("{head} {first}");
    }
    if let Some(last) = value.last_mut() {
        last.push(';');
    }
    value
}

impl Draft<'_, '_> {
    /// Notes that a lookup which may fail runs before a call that may run Python code, where C left
    /// open which of the two comes first.
    pub(in crate::strong) fn doubt_order(&mut self, lookup: &Lookup) {
        let is_told = lookup.replacement.errors != OldErrors::Swallowed
            && matches!(lookup.failure, Failure::AsBefore | Failure::PassedOn);
        if let Shape::Nested(stmt) = lookup.shape
            && is_told
            && let Some(name) = overtaken(self.scene, stmt, lookup.call)
        {
            let function = lookup.replacement.strong;
            self.fix.assume(format!(
                "`{function}` does not fail before `{name}` runs Python code (C does not define \
                 which of the two runs first)"
            ));
        }
    }
}
