//! Lookups whose result goes straight to a place that is no variable of the function.
//!
//! ```c
//! self->hook = PyDict_GetItemString(d, "hook");        if (PyDict_GetItemStringRef(d, "hook", &self->hook) < 0) {
//!                                                          PyErr_WriteUnraisable(NULL);
//! if (self->hook != NULL) {                            }
//!     Py_INCREF(self->hook);                           if (self->hook != NULL) {
//!     …                                                    …
//!
//! state.spawn = PyDict_GetItemString(d, "spawn");      …
//!                                                      Py_XSETREF(state.spawn, value);
//! ```
//!
//! In the first form the code takes the reference right behind, and has it at once. In the second
//! a static variable holds nothing but what such lookups gave, and no reference of it is ever taken
//! or released: it may as well have one, which lives as long as it does.

use std::collections::BTreeSet;

use super::emit::Draft;
use super::emit::stored::{Setting, in_place, set_static};
use super::emit::title::STRONG;
use super::exits::branch::is_same;
use super::exits::exit::Failure;
use super::plan::Lookup;
use super::reason::Reason;
use super::scene::Scene;
use super::shape::Shape;
use super::statics::{Static, kept_by};
use crate::ast::{ExprId, ExprKind, Name, StmtId, StmtKind, UnaryOp};
use crate::capi::{Absent, Form, OldErrors, Replacement};
use crate::edit::{Fix, replacing};
use crate::state::alone;

/// `place = lookup();` as a statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stored {
    pub stmt: StmtId,
    pub place: ExprId,
    pub call: ExprId,
}

/// The fix for the lookup `call`, the result of which goes to a place; `None` where it takes more to
/// know who owns it.
pub(super) fn fix(
    scene: &Scene<'_>,
    call: ExprId,
    replacement: &'static Replacement,
) -> Option<Fix> {
    let can_fail =
        replacement.errors == OldErrors::Unchecked && replacement.absent == Absent::Error;
    if can_fail || replacement.absent == Absent::None || replacement.caution.is_some() {
        return None;
    }
    let stored = stored(scene, call)?;
    let ty = scene.cx.types().of(scene.tree, stored.place)?;
    if !ty.takes_object() {
        return None;
    }
    adopted(scene, stored, replacement).or_else(|| {
        let found = kept_by(scene, stored.place)?;
        kept(scene, &found).ok()
    })
}

/// The statement that stores the result of `call`, if it does no more.
pub(super) fn stored(scene: &Scene<'_>, call: ExprId) -> Option<Stored> {
    let stmt = scene.stmt_of(call)?;
    let StmtKind::Expr(assignment) = scene.tree.stmt(stmt).kind else {
        return None;
    };
    match scene.tree.expr(assignment).kind {
        ExprKind::Assign { op: None, lhs, rhs } if rhs == call => Some(Stored {
            stmt,
            place: lhs,
            call,
        }),
        _ => None,
    }
}

fn lookup(stored: Stored, replacement: &'static Replacement) -> Lookup {
    Lookup {
        call: stored.call,
        replacement,
        shape: Shape::Nested(stored.stmt),
        failure: Failure::AsBefore,
        saved: None,
        again: Vec::new(),
        counted: None,
    }
}

/// The fix where the code takes a reference right behind the store.
fn adopted(scene: &Scene<'_>, stored: Stored, replacement: &'static Replacement) -> Option<Fix> {
    let stays_put = replacement.form == Form::Return || is_steady(scene, stored.place);
    if !stays_put || !is_quiet(scene, stored.place) {
        return None;
    }
    let taken = taken_behind(scene, stored)?;
    let is_read = matches!(scene.call(taken.call), Some(("Py_INCREF", _)));
    let title = replacing(STRONG, [(replacement.borrowed, replacement.strong)]);
    let mut draft = Draft::new(scene, title);
    let place = scene.text(scene.span(stored.place)?);
    in_place(
        &mut draft,
        &place,
        &lookup(stored, replacement),
        stored.stmt,
    )
    .ok()?;
    draft.remove(&BTreeSet::from([taken.call]), &place).ok()?;
    if let Some(value) = taken.other {
        let span = scene.span(value)?;
        draft.insert(span.start(), "Py_NewRef(");
        draft.insert(span.end(), ")");
        draft.compat("Py_NewRef");
    }
    let mut fix = draft.finish().ok()?;
    if is_read && !taken.is_tested {
        // The count read the object, and nothing does so any more.
        fix.assume(format!(
            "no other thread removes the item first (the code does not test `{place}`, which is \
             `NULL` if `{}` finds nothing)",
            replacement.strong
        ));
    }
    Some(fix)
}

/// Where the code takes a reference to what a place holds.
#[derive(Debug, Clone, Copy)]
struct Taken {
    /// The `Py_INCREF`.
    call: ExprId,
    /// What the place gets instead where the lookup found nothing, which is counted as well.
    other: Option<ExprId>,
    /// Whether the code asks first whether there is anything.
    is_tested: bool,
}

/// Where the code takes a reference behind the store, with at most a test in between of whether the
/// place holds anything.
fn taken_behind(scene: &Scene<'_>, stored: Stored) -> Option<Taken> {
    let takes = |&stmt: &StmtId| takes(scene, stmt, stored.place);
    let (siblings, at) = scene.siblings(stored.stmt)?;
    let next = siblings.get(at + 1)?;
    let taken = |call, is_tested| Taken {
        call,
        other: None,
        is_tested,
    };
    if let Some(call) = takes(next) {
        return Some(taken(call, false));
    }
    let StmtKind::If {
        cond,
        then,
        otherwise,
    } = &scene.tree.stmt(*next).kind
    else {
        return None;
    };
    // What the other branch does, it does without an object.
    let with_object = match asked(scene, *cond, stored.place)? {
        true => Some(then),
        false => otherwise.as_ref(),
    };
    if let Some(with_object) = with_object {
        let first = stmts_of(scene, with_object).first();
        return first.and_then(takes).map(|call| taken(call, true));
    }
    let inner = stmts_of(scene, then);
    let call = siblings.get(at + 2).and_then(takes)?;
    let other = other(scene, inner, stored.place);
    (other.is_some() || leaves(scene, inner)).then_some(Taken {
        call,
        other,
        is_tested: true,
    })
}

/// The statements of a branch, with braces or without.
fn stmts_of<'s>(scene: &Scene<'s>, branch: &'s StmtId) -> &'s [StmtId] {
    match &scene.tree.stmt(*branch).kind {
        StmtKind::Block(stmts) => stmts,
        _ => std::slice::from_ref(branch),
    }
}

/// The call of `stmt`, if that takes a reference to what `place` holds.
fn takes(scene: &Scene<'_>, stmt: StmtId, place: ExprId) -> Option<ExprId> {
    let StmtKind::Expr(call) = scene.tree.stmt(stmt).kind else {
        return None;
    };
    match scene.call(call) {
        Some(("Py_INCREF" | "Py_XINCREF", [arg])) => {
            is_same(scene, scene.tree.without_casts(*arg), place).then_some(call)
        }
        _ => None,
    }
}

/// The object that `place` gets, if these statements do no more: `self->hook = Py_None;`.
fn other(scene: &Scene<'_>, stmts: &[StmtId], place: ExprId) -> Option<ExprId> {
    let [stmt] = stmts else { return None };
    let StmtKind::Expr(assignment) = scene.tree.stmt(*stmt).kind else {
        return None;
    };
    match scene.tree.expr(assignment).kind {
        ExprKind::Assign { op: None, lhs, rhs } if is_same(scene, lhs, place) => {
            scene.is_never_null(rhs).then_some(rhs)
        }
        _ => None,
    }
}

/// Whether `cond` asks for the place: `true` if it holds where there is an object.
fn asked(scene: &Scene<'_>, cond: ExprId, place: ExprId) -> Option<bool> {
    use crate::ast::BinaryOp;
    match scene.tree.expr(cond).kind {
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => is_same(scene, operand, place).then_some(false),
        ExprKind::Binary {
            op: op @ (BinaryOp::Equals | BinaryOp::NotEquals),
            lhs,
            rhs,
        } if scene.is_null(rhs) => is_same(scene, lhs, place).then_some(op == BinaryOp::NotEquals),
        _ => is_same(scene, cond, place).then_some(true),
    }
}

/// Whether these statements end by leaving.
fn leaves(scene: &Scene<'_>, stmts: &[StmtId]) -> bool {
    stmts.last().is_some_and(|&last| {
        matches!(
            scene.tree.stmt(last).kind,
            StmtKind::Return(_) | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue
        )
    })
}

/// Whether it changes nothing to name the place once more.
fn is_quiet(scene: &Scene<'_>, place: ExprId) -> bool {
    match scene.tree.expr(place).kind {
        ExprKind::Name(_) | ExprKind::Int(_) => true,
        ExprKind::Member { base, .. } => is_quiet(scene, base),
        ExprKind::Unary {
            op: UnaryOp::Deref,
            operand,
        } => is_quiet(scene, operand),
        ExprKind::Index { base, index } => is_quiet(scene, base) && is_quiet(scene, index),
        ExprKind::Cast { operand, .. } => is_quiet(scene, operand),
        _ => false,
    }
}

/// Whether the place is where it is as long as the lookup runs, which may run other code: a static
/// variable or a field of one, or what a variable of the function points at, or a field of that.
fn is_steady(scene: &Scene<'_>, place: ExprId) -> bool {
    match scene.tree.expr(place).kind {
        ExprKind::Name(Name::Global(_)) => true,
        ExprKind::Member {
            base, arrow: false, ..
        } => is_steady(scene, base),
        ExprKind::Member {
            base: pointer,
            arrow: true,
            ..
        }
        | ExprKind::Unary {
            op: UnaryOp::Deref,
            operand: pointer,
        } => {
            let pointer = scene.as_local(scene.tree.without_casts(pointer));
            pointer.is_some_and(|local| scene.cfg.addressing(local).next().is_none())
        }
        _ => false,
    }
}

/// The fix that gives a static variable references of its own.
///
/// # Errors
/// Why it cannot be written down.
fn kept(scene: &Scene<'_>, found: &Static) -> Result<Fix, Reason> {
    let mut title = format!("let `{}` own the object that it holds", found.text);
    for name in found.functions() {
        title += &format!(": `{name}`");
    }
    let mut draft = Draft::new(scene, title);
    let stem = format!("new_{}", short_name(scene, found));
    let mut declared: Vec<(String, StmtId)> = Vec::new();
    for &(stored, replacement) in &found.stores {
        let known = declared
            .iter()
            .find(|(_, first)| is_below(scene, stored.stmt, *first));
        let (name, is_new) = match known {
            Some((name, _)) => (name.clone(), false),
            None => (draft.unused_name(&[&stem]), true),
        };
        let setting = Setting {
            place: &found.text,
            name: &name,
            is_new,
        };
        set_static(
            &mut draft,
            setting,
            &lookup(stored, replacement),
            stored.stmt,
        )?;
        declared.extend(is_new.then_some((name, stored.stmt)));
    }
    // Two that replace it at one time both release what it held; one that reads it then uses that.
    let name = &scene.function.name;
    if !alone(scene.cx, None).contains(&**name) {
        draft.fix.assume(format!(
            "no other thread uses `{}` while `{name}` replaces it (the old object is released)",
            found.text
        ));
    }
    draft.finish()
}

/// The last word of the variable, if the function sets no other with that.
fn short_name(scene: &Scene<'_>, found: &Static) -> String {
    let last = |text: &str| text.rsplit(['.', '>']).next() == Some(&*found.name);
    let others = scene.tree.exprs.iter().filter_map(|expr| match expr.kind {
        ExprKind::Assign { lhs, .. } => Some(scene.text(scene.span(lhs)?)),
        _ => None,
    });
    let mut others = others.filter(|text| last(text) && *text != found.text);
    match others.next() {
        Some(_) => found.text.replace('.', "_"),
        None => found.name.clone(),
    }
}

/// Whether `stmt` stands behind `first` in its block, or in a statement there.
fn is_below(scene: &Scene<'_>, stmt: StmtId, first: StmtId) -> bool {
    let Some((siblings, at)) = scene.siblings(first) else {
        return false;
    };
    siblings[at..]
        .iter()
        .any(|&next| next == stmt || scene.inner_stmts(next).contains(&stmt))
}
