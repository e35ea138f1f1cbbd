//! A variable of its own holds the reference, apart from the one that the code uses.
//!
//! ```c
//! PyObject *found_ref = NULL;
//! …
//! if (PyDict_GetItemRef(d, k, &found_ref) < 0)        found = PyDict_GetItem(d, k);
//!     PyErr_WriteUnraisable(NULL);
//! found = found_ref;
//! if (found == NULL)                                  if (found == NULL)
//!     found = make();                                     found = make();
//! else                                                else
//!     Py_INCREF(found);                                   Py_INCREF(found);
//! Py_XDECREF(found_ref);
//! return found;                                       return found;
//! ```
//!
//! What the code counts is its own and stays as it is. It must only not give away what it has no
//! reference to: the object would be borrowed there, still.

use std::collections::BTreeSet;

use super::counts::Effect;
use super::hold::{Hold, Kind, State};
use super::slots::Slot;
use super::{Decisions, Follower, Mode};
use crate::ast::{ExprId, ExprKind, LocalId, Parent, StmtId, StmtKind};
use crate::cfg::{Point, Source};
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;

impl Follower<'_, '_> {
    /// Whether a variable of its own holds the reference.
    pub(in crate::strong) fn is_apart(&self) -> bool {
        self.mode == Mode::Apart
    }

    /// What a call does to a count that is the code's own, through the variable `local`.
    pub(in crate::strong) fn count_apart(
        &self,
        (call, effect): (ExprId, Effect),
        kind: Kind,
        local: Option<LocalId>,
        reason: Reason,
        state: &mut State,
    ) {
        let is_unowned = effect == Effect::MaySteal && local.is_none();
        if !state.is_held() || is_unowned || matches!(effect, Effect::Use | Effect::Copy) {
            return;
        }
        let Some(local) = local else {
            return state.fail(Reason::Alias(self.name.to_owned()));
        };
        match effect {
            Effect::Use | Effect::Copy | Effect::KeepInside => {}
            Effect::Take => drop(state.owned.insert(local)),
            Effect::Release | Effect::Clear => {
                // `if (is_new) Py_DECREF(v);`: another object, then.
                let is_other = (kind == Kind::MaybeSame || state.mixed) && self.is_flagged(call);
                if !state.owned.remove(&local) && !is_other {
                    return state.fail(Reason::OverRelease(self.name.to_owned()));
                }
                if effect == Effect::Clear {
                    state.drop_local(local);
                }
            }
            Effect::Replace => state.fail(Reason::ClearedByMacro(self.name.to_owned())),
            Effect::MaySteal if state.owned.contains(&local) => state.fail(reason),
            Effect::MaySteal => {}
            Effect::Steal | Effect::StealOnSuccess => self.give_apart(Some(local), reason, state),
        }
    }

    /// The code gives the reference away that `local` owns.
    pub(in crate::strong) fn give_apart(
        &self,
        local: Option<LocalId>,
        reason: Reason,
        state: &mut State,
    ) {
        let is_own = local.is_some_and(|local| state.owned.remove(&local));
        if state.is_held() && !is_own {
            state.fail(reason);
        }
    }

    /// A reference that `value` owned is that of `local` if nothing else reads `value`.
    pub(in crate::strong) fn pass_on(
        &self,
        value: Option<LocalId>,
        local: LocalId,
        after: Point,
        state: &mut State,
    ) {
        state.owned.remove(&local);
        if let Some(value) = value.filter(|&value| !self.scene.is_live(value, after))
            && state.owned.remove(&value)
        {
            state.owned.insert(local);
        }
    }

    /// Whether all that is left to do is `return v;`, where `v` owns a reference if it is the
    /// object.
    pub(in crate::strong) fn is_returned_own(
        &self,
        slot: Slot,
        point: Point,
        state: &State,
    ) -> bool {
        let next = match slot {
            Slot::Before(stmt) => Some(stmt),
            Slot::After(stmt) => behind(self.scene, stmt),
            Slot::Else(_) | Slot::Inside(_) | Slot::InReturn(_) => None,
        };
        let Some(StmtKind::Return(Some(value))) = next.map(|stmt| &self.scene.tree.stmt(stmt).kind)
        else {
            return false;
        };
        named(self.scene, *value).is_some_and(|local| {
            state.owned.contains(&local) && !self.is_needed_beside(local, state, point)
        })
    }

    /// Notes that the reference is released at `slot` by `Py_CLEAR`, if the next pass of a loop may
    /// follow; whether it is.
    pub(in crate::strong) fn clears(
        &self,
        slot: Slot,
        state: &mut State,
        sink: &mut Decisions,
    ) -> bool {
        let clears = slot.stmt().is_some_and(|stmt| self.cleared.contains(&stmt));
        if clears {
            sink.cleared.insert(slot);
            state.hold = Hold::Null;
        }
        clears
    }

    /// The statements in loops around the lookups that do not leave the function.
    pub(in crate::strong) fn in_loops(&self) -> BTreeSet<StmtId> {
        let scene = self.scene;
        let mut found = BTreeSet::new();
        for &lookup in self.lookups.keys() {
            let mut at = scene.stmt_of(lookup);
            while let Some(stmt) = at {
                if is_loop(scene, stmt) {
                    found.extend(scene.inner_stmts(stmt));
                }
                at = match scene.parent_of_stmt(stmt) {
                    Some(Parent::Stmt(outer)) => Some(outer),
                    Some(Parent::Expr(_)) | None => None,
                };
            }
        }
        found.retain(|&stmt| !matches!(scene.tree.stmt(stmt).kind, StmtKind::Return(_)));
        found
    }
}

/// What runs behind `stmt`, out of the branches that it ends.
fn behind(scene: &Scene<'_>, mut stmt: StmtId) -> Option<StmtId> {
    loop {
        if let Some(next) = scene.next_sibling(stmt) {
            return Some(next);
        }
        let Some(Parent::Stmt(outer)) = scene.parent_of_stmt(stmt) else {
            return None;
        };
        let kind = &scene.tree.stmt(outer).kind;
        if !matches!(kind, StmtKind::Block(_) | StmtKind::If { .. }) {
            return None;
        }
        stmt = outer;
    }
}

fn is_loop(scene: &Scene<'_>, stmt: StmtId) -> bool {
    scene.tree.stmt(stmt).kind.is_loop()
}

/// The variable that an expression is, with casts or without.
pub(in crate::strong) fn named(scene: &Scene<'_>, expr: ExprId) -> Option<LocalId> {
    scene.as_local(scene.tree.without_casts(expr))
}

/// The variable whose value an assignment or initialisation stores.
pub(in crate::strong) fn stored(scene: &Scene<'_>, source: Source) -> Option<LocalId> {
    let Source::Expr(expr) = source else {
        return None;
    };
    match scene.tree.expr(expr).kind {
        ExprKind::Assign { op: None, rhs, .. } => named(scene, rhs),
        _ => named(scene, expr),
    }
}
