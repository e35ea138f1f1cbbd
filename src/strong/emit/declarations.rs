//! Values of declarations that move behind a lookup, where C89 allows no statement between
//! declarations.
//!
//! ```c
//! PyObject *v = PyDict_GetItem(d, k);      PyObject *v;
//! long n = v ? PyLong_AsLong(v) : 0;       long n;
//!                                          if (PyDict_GetItemRef(d, k, &v) < 0) {
//!                                              PyErr_WriteUnraisable(NULL);
//!                                          }
//!                                          n = v ? PyLong_AsLong(v) : 0;
//! ```

use super::Draft;
use super::calls::{is_idle, last_declaration, span_of, take_value};
use crate::ast::{ExprId, ExprKind, Init, LocalDecl, LocalId, StmtId, StmtKind, Storage};
use crate::capi;
use crate::edit::Edit;
use crate::source::ByteSpan;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;

/// The declaration behind which the lookup in `stmt` goes, and what is assigned behind it.
///
/// # Errors
/// As [`assign_later`].
pub(in crate::strong) fn behind_declarations(
    draft: &mut Draft<'_, '_>,
    stmt: StmtId,
) -> Result<(StmtId, Vec<String>), Reason> {
    let last = last_declaration(draft, stmt);
    match declares_next(draft, last) && !draft.scene.file_mixes_declarations() {
        true => assign_later(draft, stmt),
        false => Ok((last, Vec::new())),
    }
}

/// Whether `stmt` and what follows it are declarations.
pub(in crate::strong) fn declares_next(draft: &Draft<'_, '_>, stmt: StmtId) -> bool {
    let is_decl = |stmt: StmtId| matches!(draft.scene.tree.stmt(stmt).kind, StmtKind::Decl(_));
    let next = draft.scene.next_sibling(stmt);
    is_decl(stmt) && next.is_some_and(is_decl)
}

/// The declarations behind `first` that do more than give constants.
pub(in crate::strong) fn busy_behind(scene: &Scene<'_>, first: StmtId) -> Vec<StmtId> {
    let run = declared_behind(scene, first).into_iter();
    run.filter(|&stmt| !is_idle(scene, stmt, first)).collect()
}

/// The declarations that follow `first`.
fn declared_behind(scene: &Scene<'_>, first: StmtId) -> Vec<StmtId> {
    let is_decl = |id: &&StmtId| matches!(scene.tree.stmt(**id).kind, StmtKind::Decl(_));
    let behind = scene.siblings(first).map(|(stmts, at)| &stmts[at + 1..]);
    let run = behind.unwrap_or_default().iter().take_while(is_decl);
    run.copied().collect()
}

/// Whether one of the declarations gives a meaning of its own to a name that is used from `first`
/// up to it: behind all of them, the name would stand for that.
///
/// ```c
/// PyObject *v = PyDict_GetItemString(d, name);
/// const char *name = "b";
/// ```
pub(in crate::strong) fn hides_a_name(
    scene: &Scene<'_>,
    first: StmtId,
    declarations: &[StmtId],
) -> bool {
    let tokens = &scene.cx.item(scene.item).tokens;
    let text = |at| tokens.text(scene.cx.program.files, at);
    let start = scene.tree.stmt(first).range.start;
    let is_used = |word: &[u8], end: u32| (start..end).any(|at| text(at) == word);
    declarations.iter().any(|&stmt| {
        let StmtKind::Decl(decls) = &scene.tree.stmt(stmt).kind else {
            return false;
        };
        let mut variables = decls.iter().map(|decl| scene.tree.local(decl.local));
        // `enum { SIZE = 2 };` and types have names as well.
        let range = scene.tree.stmt(stmt).range;
        let head = range.start..decls.first().map_or(range.end, |decl| decl.range.start);
        let has_members = decls.is_empty() || head.clone().any(|at| text(at) == b"{");
        variables.any(|local| is_used(local.name.as_bytes(), local.name_range.start))
            || has_members
                && head
                    .clone()
                    .filter(|&at| text(at)[0].is_ascii_alphabetic() || text(at)[0] == b'_')
                    .any(|at| is_used(text(at), head.start))
    })
}

/// Takes the values out of the declarations behind `first` that do more than give constants. Gives
/// the last of the declarations, and the assignments of the values, up to that of another lookup of
/// the fix, which goes behind the declarations by itself.
///
/// # Errors
/// A value cannot be assigned later.
pub(in crate::strong) fn assign_later(
    draft: &mut Draft<'_, '_>,
    first: StmtId,
) -> Result<(StmtId, Vec<String>), Reason> {
    let run = declared_behind(draft.scene, first);
    let last = run.last().copied().ok_or(Reason::Declared)?;
    if hides_a_name(draft.scene, first, &run) {
        return Err(Reason::Declared);
    }
    let mut assignments = Vec::new();
    for stmt in busy_behind(draft.scene, first) {
        if draft.initialised.contains(&stmt) {
            draft.moving.insert(stmt);
            break;
        }
        assignments.push(assignment(draft, stmt)?);
    }
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
    let span = scene.span(*value).ok_or(Reason::Declared)?;
    let text = scene.text(span);
    let has_lookup = lookups_in(scene, *value) > 0;
    if !is_set_later(scene, decl.local) || has_lookup || text.contains('\n') {
        return Err(Reason::Declared);
    }
    take_value(draft, stmt, decl.local)?;
    Ok(format!("{} = {text};", scene.name(decl.local)))
}

/// How many calls in `value` give a borrowed reference.
fn lookups_in(scene: &Scene<'_>, value: ExprId) -> usize {
    let inner = scene.tree.exprs_in(scene.tree.expr(value).range);
    let lookups = inner.filter(|(_, expr)| match expr.kind {
        ExprKind::Call { callee, .. } => {
            let name = scene.tree.callee_name(callee);
            name.is_some_and(|name| capi::replacement(name).is_some())
        }
        _ => false,
    });
    lookups.count()
}

/// Whether a variable may get its value behind its declaration: it is neither `const` nor `static`.
fn is_set_later(scene: &Scene<'_>, local: LocalId) -> bool {
    let variable = scene.tree.local(local);
    let is_const = variable.ty.is_const || scene.cx.types().is_const_by_name(&variable.ty);
    variable.storage == Storage::None && !is_const
}

/// Whether the value of the declaration `stmt`, with a lookup in it, may be assigned behind the
/// declarations of its block, and nothing else has to move with it.
pub(in crate::strong) fn may_wait(
    draft: &Draft<'_, '_>,
    stmt: StmtId,
    decls: &[LocalDecl],
) -> bool {
    let scene = draft.scene;
    let ([decl], Some(Init::Expr(value))) = (decls, decls[0].init.as_ref()) else {
        return false;
    };
    let run = declared_behind(scene, stmt);
    !draft.initialised.contains(&stmt)
        && is_set_later(scene, decl.local)
        && lookups_in(scene, *value) == 1
        && busy_behind(scene, stmt).is_empty()
        && !hides_a_name(scene, stmt, &run)
}

/// `int n = f(item);` behind a test that C89 does not allow there turns into `int n;`, the test,
/// and `n = f(item);`. What is `const` stays behind the test in a file that is no C89.
///
/// # Errors
/// A value cannot be assigned later.
pub(in crate::strong) fn assign_behind(
    draft: &mut Draft<'_, '_>,
    stmt: StmtId,
    decls: &[LocalDecl],
    test: Vec<String>,
) -> Result<(), Reason> {
    let made = || Reason::InMacro("around it".to_owned());
    let ([decl], Some(Init::Expr(value))) = (decls, decls[0].init.as_ref()) else {
        return Err(Reason::Declared);
    };
    if !is_set_later(draft.scene, decl.local) {
        draft.before(stmt, test);
        let mixes = draft.scene.file_mixes_declarations();
        return mixes.then_some(()).ok_or(Reason::Declared);
    }
    let (last, later) = match declares_next(draft, stmt) {
        true => assign_later(draft, stmt)?,
        false => (stmt, Vec::new()),
    };
    // double d = PyFloat_AsDouble(lookup(l, 0)) * PyFloat_AsDouble(lookup(l, 1));
    let start = span_of(draft, stmt)?.start();
    let assigned = draft.around.get(&last).map(|around| &around.assigned);
    if assigned.is_some_and(|assigned| assigned.contains_key(&start)) {
        return Err(Reason::Declared);
    }
    let value = draft.scene.span(*value).ok_or_else(made)?;
    let text = on_one_line(draft, value);
    let assignment = format!("{} = {text};", draft.scene.name(decl.local));
    take_value(draft, stmt, decl.local)?;
    draft.assign(last, stmt, [test, vec![assignment], later].concat())
}

/// Whether other variables of the declaration `stmt` get what calls give, or what is made of `local`,
/// which stands before them: a test of that comes too late.
///
/// ```c
/// PyObject *key = PyList_GET_ITEM(l, i), *value = PyDict_GetItem(d, key);
/// ```
pub(in crate::strong) fn goes_on_with(scene: &Scene<'_>, stmt: StmtId, local: LocalId) -> bool {
    let StmtKind::Decl(decls) = &scene.tree.stmt(stmt).kind else {
        return false;
    };
    let mut later = decls.iter().skip_while(|decl| decl.local != local).skip(1);
    later.any(|decl| {
        let mut values = scene.tree.exprs_in(decl.range);
        values.any(|(value, expr)| {
            matches!(expr.kind, ExprKind::Call { .. }) || scene.as_local(value) == Some(local)
        })
    })
}

/// The test of an item with which the value of the declaration `stmt` is looked up: both go behind
/// the declarations.
///
/// ```c
/// PyObject *v = PyDict_GetItem(d, PyList_GET_ITEM(l, 0));
/// ```
///
/// # Errors
/// There are other values in the declaration.
pub(in crate::strong) fn test_behind(
    draft: &mut Draft<'_, '_>,
    stmt: StmtId,
    decls: &[LocalDecl],
    test: Vec<String>,
) -> Result<(), Reason> {
    if decls.len() > 1 {
        return Err(Reason::Declared);
    }
    draft.moving.insert(stmt);
    let mut last = last_declaration(draft, stmt);
    if declares_next(draft, last) && !draft.scene.file_mixes_declarations() {
        last = *declared_behind(draft.scene, stmt).last().unwrap_or(&last);
    }
    draft.assign(last, stmt, test)
}

/// The text of a span, with its lines joined if the result is short: there was more on them.
fn on_one_line(draft: &Draft<'_, '_>, span: ByteSpan) -> String {
    const SHORT: usize = 60;
    let text = draft.text(span);
    let joined = text
        .lines()
        .map(str::trim)
        .fold(String::new(), |all, line| {
            let gap = if all.is_empty() || all.ends_with('(') {
                ""
            } else {
                " "
            };
            all + gap + line
        });
    let has_note = ["//", "/*", "#", "\""]
        .iter()
        .any(|mark| text.contains(mark));
    if has_note || joined.len() > SHORT {
        text
    } else {
        joined
    }
}

/// Takes out what declares `local`, if its value `is_idle`.
pub(in crate::strong) fn undeclare(
    scene: &Scene<'_>,
    local: LocalId,
    is_idle: impl Fn(ExprId) -> bool,
) -> Option<Edit> {
    let stmt = scene.tree.local(local).decl?;
    let StmtKind::Decl(decls) = &scene.tree.stmt(stmt).kind else {
        return None;
    };
    let at = decls.iter().position(|decl| decl.local == local)?;
    let is_plain = match decls[at].init {
        Some(Init::Expr(value)) => is_idle(value),
        Some(Init::List(_)) => false,
        None => true,
    };
    let span = |decl: &LocalDecl| {
        let tokens = &scene.cx.item(scene.item).tokens;
        let (file, span) = tokens.file_span(decl.range)?;
        (file == scene.file).then_some(span)
    };
    let own = span(&decls[at]).filter(|_| is_plain)?;
    let listed = match (at.checked_sub(1), decls.get(at + 1)) {
        (Some(before), _) => ByteSpan::new(span(&decls[before])?.end().0, own.end().0),
        (None, Some(next)) => ByteSpan::new(own.start().0, span(next)?.start().0),
        (None, None) => return Some(scene.layout.remove(scene.stmt_span(stmt)?)),
    };
    Some(Edit::new(scene.file, listed, Vec::new()))
}
