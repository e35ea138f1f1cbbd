//! The returns of a function that is changed to return a new reference.
//!
//! ```c
//! return self->item;                      return Py_XNewRef(self->item);
//!
//! if (PyDict_SetItem(d, k, v) < 0) …      …
//! Py_DECREF(v);
//! return v;                               return v;
//! ```

use std::collections::BTreeSet;

use super::Draft;
use crate::ast::{ExprId, ExprKind, LocalId, Name, StmtId, StmtKind};
use crate::capi::Returns;
use crate::edit::Fix;
use crate::strong::follow::leave::returned_for;
use crate::strong::follow::web::{Given, definitions};
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::weak;

/// What a returned value needs.
enum Need {
    /// It is `NULL` or a reference of its own.
    Nothing,
    /// A reference, taken by this function.
    Take(&'static str),
    /// The one that the variable owns, which the function releases before.
    Released(LocalId),
}

/// Takes a reference to what the function returns without one: `return Py_XNewRef(self->item);`.
/// The results of the `strong` calls have theirs.
///
/// # Errors
/// Why some return cannot give a new reference.
pub(in crate::strong) fn fix(scene: &Scene<'_>, strong: &BTreeSet<ExprId>) -> Result<Fix, Reason> {
    let mut draft = Draft::new(scene, String::new());
    let mut early = BTreeSet::new();
    for (at, stmt) in (0u32..).zip(&scene.tree.stmts) {
        let StmtKind::Return(Some(value)) = stmt.kind else {
            continue;
        };
        match need(scene, value, strong)? {
            Need::Nothing => {}
            Need::Take(function) => {
                let made = || Reason::InMacro("around it".to_owned());
                let span = scene.span(value).ok_or_else(made)?;
                draft.insert(span.start(), format!("{function}("));
                draft.insert(span.end(), ")");
                draft.compat(function);
            }
            Need::Released(local) => {
                let release = release_before(scene, StmtId(at), local);
                early.insert(release.ok_or(Reason::OwnedByCallerToo)?);
            }
        }
    }
    draft.remove(&early, "the result")?;
    Ok(draft.fix)
}

/// The call in front of `stmt` by which the function releases what `local` holds.
fn release_before(scene: &Scene<'_>, stmt: StmtId, local: LocalId) -> Option<ExprId> {
    let (stmts, at) = scene.siblings(stmt)?;
    let before = *stmts.get(at.checked_sub(1)?)?;
    let StmtKind::Expr(call) = scene.tree.stmt(before).kind else {
        return None;
    };
    match scene.call(call)? {
        ("Py_DECREF" | "Py_XDECREF", [arg]) => {
            let arg = scene.tree.without_casts(*arg);
            (scene.as_local(arg) == Some(local)).then_some(call)
        }
        _ => None,
    }
}

fn need(scene: &Scene<'_>, value: ExprId, strong: &BTreeSet<ExprId>) -> Result<Need, Reason> {
    if scene.is_null(value) || strong.contains(&value) {
        return Ok(Need::Nothing);
    }
    match &scene.tree.expr(value).kind {
        ExprKind::Cast { operand, .. } => need(scene, *operand, strong),
        ExprKind::Call { .. } => of_call(scene, value),
        ExprKind::Name(Name::Local(local)) => of_local(scene, *local, strong),
        ExprKind::Name(Name::Global(name)) if name.starts_with("Py_") => {
            Ok(Need::Take("Py_NewRef"))
        }
        ExprKind::Name(Name::Global(_)) | ExprKind::Member { .. } | ExprKind::Index { .. } => {
            Ok(Need::Take("Py_XNewRef"))
        }
        _ => Err(Reason::OwnedByCallerToo),
    }
}

fn of_call(scene: &Scene<'_>, call: ExprId) -> Result<Need, Reason> {
    let Some((name, args)) = scene.call(call) else {
        return Err(Reason::ReturnsResultOf("a function pointer".to_owned()));
    };
    // `Py_RETURN_NONE;`: counting references to None changes nothing.
    if name == "Py_NewRef" && args.len() == 1 && weak::is_none(scene, args[0]) {
        return Ok(Need::Nothing);
    }
    match scene.cx.summaries().returns(name) {
        Some(Returns::Null) => Ok(Need::Nothing),
        Some(Returns::Borrowed) => Ok(Need::Take("Py_XNewRef")),
        Some(Returns::New | Returns::Void | Returns::Plain) => Err(Reason::OwnedByCallerToo),
        None => Err(Reason::ReturnsResultOf(name.to_owned())),
    }
}

/// A variable that gets a strong result anywhere is followed along the paths.
fn of_local(scene: &Scene<'_>, local: LocalId, strong: &BTreeSet<ExprId>) -> Result<Need, Reason> {
    let defs = definitions(scene, local, strong);
    let has = |wanted: fn(&Given) -> bool| defs.iter().any(|(_, given)| wanted(given));
    let source = || returned_for(scene, local).map(|it| of_local(scene, it, strong));
    if has(|given| matches!(given, Given::Lookup(_))) || matches!(source(), Some(Ok(Need::Nothing)))
    {
        return Ok(Need::Nothing);
    }
    if has(|given| matches!(given, Given::New)) {
        let is_own = |(_, given): &(_, Given)| matches!(given, Given::New | Given::Null);
        return match defs.iter().all(is_own) {
            true => Ok(Need::Released(local)),
            false => Err(Reason::OwnedByCallerToo),
        };
    }
    Ok(Need::Take("Py_XNewRef"))
}
