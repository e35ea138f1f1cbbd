//! The call itself in its new form.

use super::Draft;
use super::apart;
use super::declarations;
use super::exact::{self, is_exact};
use super::guarded;
use super::inside::inside;
use super::nested::{nested_out, nested_return};
use super::other_type;
use super::presence;
use super::saved::{Kept, around};
use crate::ast::{ExprId, ExprKind, LocalId, StmtId, StmtKind};
use crate::capi::{Absent, Form, OldErrors};
use crate::cfg::InstrKind;
use crate::source::{ByteOffset, ByteSpan};
use crate::strong::contract::is_own;
use crate::strong::exits::exit::Failure;
use crate::strong::plan::Lookup;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::shape::Shape;

/// Rewrites one lookup; `name` is the variable that gets the result, and `Py_None` for a dead
/// referent if it `keeps_none`.
///
/// # Errors
/// Why its new form cannot be written where it stands.
pub(in crate::strong) fn rewrite(
    draft: &mut Draft<'_, '_>,
    name: &str,
    lookup: &Lookup,
    keeps_none: bool,
) -> Result<(), Reason> {
    let mut parts = Parts::of(draft, lookup)?;
    if let Some(saved) = &lookup.saved {
        parts.kept = Some(draft.keep_exception(lookup, saved, name));
    } else {
        draft.doubt_clear(lookup);
    }
    let is_apart = draft.apart.contains(name);
    let cast = match is_apart {
        true => None,
        false => other_type::cast(draft, lookup),
    };
    if keeps_none && lookup.replacement.absent == Absent::None {
        let result = cast.as_ref().map_or(name, |cast| &cast.name);
        parts.handled = Some(Handled {
            status: "== 0",
            body: vec![format!("{result} = Py_NewRef(Py_None);")],
        });
        draft.compat("Py_NewRef");
    }
    draft.doubt(lookup);
    draft.fix.propagates |= lookup.propagates();
    if !matches!(lookup.shape, Shape::Guarded(_)) {
        name_again(draft, lookup, name)?;
    }
    if let Failure::Joined(test) = lookup.failure {
        draft.ask_for_null(test, name)?;
    }
    if lookup.replacement.strong == "PySequence_GetItem" && !is_exact(draft.scene, lookup.call) {
        draft.doubt_entry(lookup.call, lookup.replacement.strong);
    }
    if let Some(cast) = cast {
        return other_type::rewrite(draft, &parts, &cast);
    }
    match (lookup.shape, lookup.replacement.form) {
        (Shape::Presence(test, when), _) => {
            presence::rewrite(draft, &parts, name, lookup, (test, when))
        }
        (Shape::Nested(stmt), Form::Return) => nested_return(draft, &parts, name, lookup, stmt),
        (Shape::Nested(stmt), Form::Out { .. }) => nested_out(draft, &parts, name, stmt),
        (Shape::Guarded(stmt), _) => guarded::rewrite(draft, &parts, name, lookup, stmt),
        // `shape` gives it to what returns its result alone.
        (Shape::Returned, Form::Out { .. }) => Err(Reason::ReturnedBorrowed),
        (Shape::Initialised(stmt, local), form)
            if is_apart || form == Form::Return && draft.moves_behind(stmt, name) =>
        {
            apart::initialised(draft, &parts, name, lookup, (stmt, local))
        }
        (shape, Form::Return) => returned(draft, &parts, name, lookup, shape),
        (Shape::Assigned(stmt, _), Form::Out { .. }) => assigned(draft, &parts, name, stmt),
        (Shape::Initialised(stmt, local), Form::Out { .. }) => {
            initialised(draft, &parts, name, stmt, local)
        }
        (Shape::Inside(stmt, _, assignment), Form::Out { .. }) => {
            inside(draft, &parts, lookup, name, (stmt, assignment))
        }
    }
}

/// The variable `name` takes the place of the same lookup further behind in the statement.
///
/// # Errors
/// A macro makes the lookup.
pub(in crate::strong) fn name_again(
    draft: &mut Draft<'_, '_>,
    lookup: &Lookup,
    name: &str,
) -> Result<(), Reason> {
    for &again in &lookup.again {
        let span = draft.scene.written(again);
        let in_macro = || Reason::InMacro(lookup.replacement.borrowed.to_owned());
        draft.name_result(span.ok_or_else(in_macro)?, name);
    }
    Ok(())
}

/// What is done about an outcome of the new call that the old one hid.
pub(in crate::strong) struct Handled {
    /// The outcome: `< 0` is an error, `== 0` a dead referent.
    pub status: &'static str,
    pub body: Vec<String>,
}

/// The text of a call.
pub(in crate::strong) struct Parts {
    strong: String,
    pub handled: Option<Handled>,
    pub kept: Option<Kept>,
    pub call: ExprId,
    /// `name`
    pub callee: ByteSpan,
    /// `name(args)`
    pub whole: ByteSpan,
}

impl Parts {
    pub(in crate::strong) fn of(draft: &Draft<'_, '_>, lookup: &Lookup) -> Result<Self, Reason> {
        let in_macro = || Reason::InMacro(lookup.replacement.borrowed.to_owned());
        let ExprKind::Call { callee, .. } = draft.scene.tree.expr(lookup.call).kind else {
            return Err(in_macro());
        };
        let by_macro = || crate::strong::shape::made_by(draft.scene, callee);
        let callee = draft.scene.written(callee).ok_or_else(by_macro)?;
        let whole = draft.scene.written(lookup.call).ok_or_else(in_macro)?;
        if let Some(line) =
            directive(draft, whole).filter(|_| lookup.replacement.form != Form::Return)
        {
            return Err(Reason::Variants(line));
        }
        let strong = if is_own(lookup.replacement) {
            draft.scene.text(callee)
        } else {
            lookup.replacement.strong.to_owned()
        };
        Ok(Self {
            strong,
            handled: (lookup.replacement.errors == OldErrors::Swallowed).then(|| Handled {
                status: "< 0",
                body: draft.on_error(lookup),
            }),
            kept: None,
            call: lookup.call,
            callee,
            whole,
        })
    }

    /// The call of the strong function that stores into `name`, for a place at `column`.
    pub(in crate::strong) fn out_call(
        &self,
        draft: &Draft<'_, '_>,
        name: &str,
        column: usize,
    ) -> String {
        let (args, rest) = self.split(draft);
        let args = format!("{}, &{name}{}", draft.text(args), draft.text(rest));
        self.with_args(draft, &args, column)
    }

    /// The call of the strong function with the arguments `args`, for a place at `column`.
    fn with_args(&self, draft: &Draft<'_, '_>, args: &str, column: usize) -> String {
        let column = column + self.strong.len();
        let layout = &draft.scene.layout;
        let args = layout.moved_to(column, self.callee.end(), args);
        format!("{}{args}", self.strong)
    }

    /// The call of the strong function with the arguments as they are, for a statement at `stmt`
    /// that has `head` columns in front of it.
    pub(in crate::strong) fn call_lines(
        &self,
        draft: &Draft<'_, '_>,
        head: usize,
        stmt: ByteSpan,
    ) -> Vec<String> {
        exact::lines(draft, self.call, stmt).unwrap_or_else(|| {
            let args = ByteSpan::new(self.callee.end().0, self.whole.end().0);
            let column = draft.scene.layout.indented_columns(stmt.start()) + head;
            vec![self.with_args(draft, &draft.text(args), column)]
        })
    }

    /// The text behind the name up to the end of the last argument, and what follows in the call.
    fn split(&self, draft: &Draft<'_, '_>) -> (ByteSpan, ByteSpan) {
        let closing = ByteOffset(self.whole.end().0 - 1);
        let last = draft.scene.layout.token_end_before(closing);
        (
            ByteSpan::new(self.callee.end().0, last.0),
            ByteSpan::new(last.0, self.whole.end().0),
        )
    }

    /// The statement that looks up into `name`.
    pub(in crate::strong) fn statement(
        &self,
        draft: &Draft<'_, '_>,
        name: &str,
        stmt: ByteSpan,
    ) -> Vec<String> {
        let indented = draft.scene.layout.indented_columns(stmt.start());
        let call = |head: &str| self.out_call(draft, name, indented + head.len());
        match &self.handled {
            Some(Handled { status, body }) => {
                let open = draft.scene.layout.if_open();
                let head = format!("{open}{} {status})", call(open));
                self.within_kept(draft.block_of(&head, body, stmt))
            }
            None => vec![format!("(void){};", call("(void)"))],
        }
    }

    /// The lines of a lookup, with what keeps the exception of before around them.
    pub(in crate::strong) fn within_kept(&self, mut lines: Vec<String>) -> Vec<String> {
        if let Some(Kept { save, restore }) = &self.kept {
            lines.insert(0, save.clone());
            lines.push(restore.clone());
        }
        lines
    }

    /// Whether the lookup is a statement of its own, for what must be done about its errors.
    pub(in crate::strong) fn is_statement(&self) -> bool {
        self.handled.is_some() || self.kept.is_some()
    }
}

/// The line of the first directive within a call: an argument of an `#if` has no end to write
/// behind.
fn directive(draft: &Draft<'_, '_>, whole: ByteSpan) -> Option<u32> {
    let file = draft.scene.cx.file(draft.scene.file);
    let text = draft.text(whole);
    let before = text
        .lines()
        .position(|line| line.trim_start().starts_with('#'))?;
    let line = file.position(whole.start()).line.0;
    Some(line + u32::try_from(before).unwrap_or_default())
}

pub(in crate::strong) fn span_of(draft: &Draft<'_, '_>, stmt: StmtId) -> Result<ByteSpan, Reason> {
    let made = || Reason::InMacro("around it".to_owned());
    draft.scene.stmt_span(stmt).ok_or_else(made)
}

/// `v = call(d, k);` turns into `if (callRef(d, k, &v) < 0) { PyErr_WriteUnraisable(NULL); }`.
pub(in crate::strong) fn assigned(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    stmt: StmtId,
) -> Result<(), Reason> {
    let span = span_of(draft, stmt)?;
    let (head, tail) = match &parts.handled {
        Some(Handled { status, body }) => {
            let lines = draft.block_of(")", body, span);
            let open = draft.scene.layout.if_open();
            (open, format!(" {status}{}", draft.joined(&lines, span)))
        }
        None => ("(void)", ";".to_owned()),
    };
    let start = ByteSpan::new(span.start().0, parts.callee.end().0);
    draft.replace(start, format!("{head}{}", parts.strong));
    let (args, _) = parts.split(draft);
    // `*out = call(d, k);` has the address by name.
    let pointer = name.strip_prefix('*').map(str::to_owned);
    let address = pointer.unwrap_or_else(|| format!("&{name}"));
    draft.insert(args.end(), format!(", {address}"));
    draft.replace(ByteSpan::new(parts.whole.end().0, span.end().0), tail);
    if parts.handled.is_some() {
        draft.needs_braces(stmt);
    }
    let (save, restore) = around(parts.kept.as_ref());
    if !save.is_empty() {
        draft.before(stmt, save);
        draft.after_first(stmt, restore);
    }
    Ok(())
}

/// `v = call(w); if (v == NULL)` turns into `if (callRef(w, &v) < 0)`.
pub(in crate::strong) fn status_test(
    draft: &mut Draft<'_, '_>,
    name: &str,
    lookup: &Lookup,
    cond: ExprId,
) -> Result<(), Reason> {
    let made = || Reason::InMacro("around it".to_owned());
    let parts = Parts::of(draft, lookup)?;
    let cond = draft.scene.span(cond).ok_or_else(made)?;
    let column = draft.scene.layout.column(cond.start());
    let call = format!("{} < 0", parts.out_call(draft, name, column));
    match lookup.shape {
        Shape::Assigned(stmt, _) => {
            let span = span_of(draft, stmt)?;
            let edit = draft.scene.layout.remove(span);
            draft.fix.edits.push(edit);
        }
        Shape::Initialised(stmt, local) => take_value(draft, stmt, local)?,
        Shape::Inside(..)
        | Shape::Nested(_)
        | Shape::Guarded(_)
        | Shape::Returned
        | Shape::Presence(..) => {
            return Err(made());
        }
    }
    draft.replace(cond, call);
    Ok(())
}

/// `PyObject *v = call(d, k);` turns into `PyObject *v;` and a statement.
fn initialised(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    stmt: StmtId,
    local: LocalId,
) -> Result<(), Reason> {
    take_value(draft, stmt, local)?;
    let (last, mut later) = declarations::behind_declarations(draft, stmt)?;
    let mut lines = parts.statement(draft, name, span_of(draft, last)?);
    lines.append(&mut later);
    draft.assign(last, stmt, lines)
}

/// `PyObject *v = call(d, k);` turns into `PyObject *v;`.
pub(in crate::strong) fn take_value(
    draft: &mut Draft<'_, '_>,
    stmt: StmtId,
    local: LocalId,
) -> Result<(), Reason> {
    let made = || Reason::InMacro("around it".to_owned());
    let StmtKind::Decl(decls) = &draft.scene.tree.stmt(stmt).kind else {
        return Err(made());
    };
    let at = decls.iter().position(|decl| decl.local == local);
    let at = at.ok_or_else(made)?;
    let tokens = &draft.scene.cx.item(draft.scene.item).tokens;
    let text = |range| tokens.file_span(range).map(|(_, span)| span);
    let declarator = text(decls[at].range).ok_or_else(made)?;
    let variable = text(draft.scene.tree.local(local).name_range).ok_or_else(made)?;
    let later_value = decls[at + 1..].iter().any(|decl| decl.init.is_some());
    if later_value {
        return Err(Reason::NotEvaluatedFirst(
            "the value of another variable of the declaration".to_owned(),
        ));
    }
    draft.replace(ByteSpan::new(variable.end().0, declarator.end().0), "");
    Ok(())
}

/// The last of the declarations that follow `stmt` and may run before the lookup; C89 has no
/// statement between declarations.
pub(in crate::strong) fn last_declaration(draft: &Draft<'_, '_>, stmt: StmtId) -> StmtId {
    let Some((stmts, at)) = draft.scene.siblings(stmt) else {
        return stmt;
    };
    let is_decl = |id: &&StmtId| matches!(draft.scene.tree.stmt(**id).kind, StmtKind::Decl(_));
    if !stmts[..at].iter().all(|id| is_decl(&id)) {
        return stmt;
    }
    let run: Vec<StmtId> = stmts[at..].iter().take_while(is_decl).copied().collect();
    let last = *run.last().unwrap_or(&stmt);
    let idle = run[1..]
        .iter()
        .all(|&decl| is_idle(draft.scene, decl, stmt));
    let is_same = !declarations::hides_a_name(draft.scene, stmt, &run[1..]);
    if idle && is_same && draft.scene.stmt_span(last).is_some() {
        last
    } else {
        stmt
    }
}

/// Whether a declaration does nothing but declare, or give values that are the same before and
/// behind the declaration `first`: constants, and those of variables from before it.
pub(in crate::strong) fn is_idle(scene: &Scene<'_>, decl: StmtId, first: StmtId) -> bool {
    let start_of = |stmt| scene.tree.stmt(stmt).range.start;
    let is_older = |local: LocalId| {
        let declared = scene.tree.local(local).decl;
        declared.is_none_or(|decl| start_of(decl) < start_of(first))
            && scene.cfg.addressing(local).next().is_none()
    };
    let (Some(start), Some(end)) = (scene.cfg.before(decl), scene.cfg.after(decl)) else {
        return false;
    };
    start.block == end.block
        && scene.cfg.block(start.block).instrs[start.index..end.index]
            .iter()
            .all(|instr| match &instr.kind {
                InstrKind::Call { .. } | InstrKind::Asm => false,
                InstrKind::Load { place, .. } => place.as_local().is_some_and(is_older),
                _ => true,
            })
}

/// Another function in the same place, with a test of the result where that can fail and the
/// borrowed one could not.
fn returned(
    draft: &mut Draft<'_, '_>,
    parts: &Parts,
    name: &str,
    lookup: &Lookup,
    shape: Shape,
) -> Result<(), Reason> {
    if let Some(exact) = exact::in_place(draft, lookup.call) {
        draft.replace(parts.whole, exact);
    } else if !is_own(lookup.replacement) {
        draft.replace(parts.callee, parts.strong.clone());
    }
    let stmt = match shape {
        Shape::Assigned(stmt, _) => stmt,
        Shape::Initialised(stmt, local) => {
            let span = span_of(draft, stmt)?;
            let (save, mut behind) = around(parts.kept.as_ref());
            behind.append(&mut draft.null_exit(lookup, name, span));
            if behind.is_empty() {
                return Ok(());
            }
            if declarations::goes_on_with(draft.scene, stmt, local) {
                return Err(Reason::Declared);
            }
            draft.before(stmt, save);
            let (last, mut later) = declarations::behind_declarations(draft, stmt)?;
            behind.append(&mut later);
            return draft.assign(last, stmt, behind);
        }
        Shape::Inside(..)
        | Shape::Nested(_)
        | Shape::Guarded(_)
        | Shape::Returned
        | Shape::Presence(..) => {
            return Ok(());
        }
    };
    let (save, mut behind) = around(parts.kept.as_ref());
    behind.append(&mut draft.null_exit(lookup, name, span_of(draft, stmt)?));
    if !behind.is_empty() {
        draft.before(stmt, save);
        draft.after_first(stmt, behind);
    }
    Ok(())
}
