//! What giving the object away and leaving the function do to it.

use super::apart::named;
use super::hold::{Hold, Kind, State};
use super::slots::Slot;
use super::step::kind_of;
use super::{Decisions, Follower, Mode, Repair};
use crate::ast::{ExprKind, LocalId, Parent, StmtId, StmtKind};
use crate::cfg::Operand;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

impl Follower<'_, '_> {
    /// A reference to the object goes elsewhere: it is stored, returned or stolen. `needed` tells
    /// whether the object is used behind that.
    pub(in crate::strong) fn give(
        &self,
        needed: bool,
        kind: Kind,
        reason: Reason,
        state: &mut State,
    ) {
        self.check_alive(state);
        let Hold::Held { count, null } = state.hold else {
            return;
        };
        if state.pinned {
            return state.fail(Reason::DerivedEscapes(self.name.to_owned()));
        }
        if kind == Kind::MaybeSame {
            return state.fail(Reason::Alias(self.name.to_owned()));
        }
        let count = count + u8::from(count == 0 && self.owns(state));
        let Some(count) = count.checked_sub(1) else {
            return state.fail(reason);
        };
        match self.mode {
            Mode::Adopt | Mode::Own if count == 0 && needed => state.fail(reason),
            Mode::Adopt | Mode::Own if count == 0 => state.clear(),
            Mode::Adopt | Mode::Own | Mode::Keep | Mode::Mend | Mode::Lent | Mode::Apart => {
                state.hold = Hold::Held { count, null }
            }
        }
    }

    pub(in crate::strong) fn leave_function(
        &self,
        value: Option<&Operand>,
        stmt: StmtId,
        state: &mut State,
        sink: &mut Decisions,
    ) {
        match value.and_then(|value| kind_of(state, value)) {
            Some(Kind::Inside)
                if !is_number(&self.scene.function.ret) || self.returns_address(stmt) =>
            {
                if state.is_held() && !self.outlives(state) {
                    return;
                }
            }
            Some(Kind::Inside) | None => {}
            Some(kind) => {
                let value = match self.scene.tree.stmt(stmt).kind {
                    StmtKind::Return(Some(value)) => named(self.scene, value),
                    _ => None,
                };
                self.give_to_caller(value, kind, state, sink);
            }
        }
        let Hold::Held { count, null } = state.hold else {
            return;
        };
        if state.pinned {
            return state.fail(Reason::DerivedEscapes(self.name.to_owned()));
        }
        if self.mode == Mode::Lent && !state.detached {
            return state.clear();
        }
        // Where nothing is computed, what comes in front of it comes before it; `return log_it(v),
        // NULL;` computes something.
        let is_plain = matches!(value, None | Some(Operand::Null | Operand::Int(_)))
            && !self.returns_comma(stmt);
        let writable = !state.detached && self.may_write(stmt, is_plain);
        let is_counted = !self.keeps_counting() && count > 0;
        if is_counted && (!writable || !self.forgets(count, state, sink)) {
            return state.clear();
        }
        if !writable {
            let name = self.name.to_owned();
            return state.fail(match state.detached {
                true => Reason::Detached(name),
                false => Reason::ExitInMacro(name),
            });
        }
        let slot = match is_plain {
            true => Slot::Before(stmt),
            false => Slot::InReturn(stmt),
        };
        self.release(slot, null, state, sink);
    }

    fn returns_comma(&self, stmt: StmtId) -> bool {
        let tree = self.scene.tree;
        matches!(tree.stmt(stmt).kind, StmtKind::Return(Some(value)) if tree.is_comma(value))
    }

    /// The caller gets the object by the name of `value`: in a `return`, or by a variable that is
    /// only returned, which comes with `NULL` from other paths.
    ///
    /// ```c
    ///     if (!PyNumber_Check(value))
    ///         goto out;
    ///     ret = value;
    /// out:
    ///     return ret;
    /// ```
    pub(in crate::strong) fn give_to_caller(
        &self,
        value: Option<LocalId>,
        kind: Kind,
        state: &mut State,
        sink: &mut Decisions,
    ) {
        let lacks = self.lacks_reference(state);
        if kind == Kind::Same && self.scene.hands_out && !state.mixed {
            self.hand_out(state);
        } else if self.is_apart() {
            self.give_apart(value, Reason::ReturnedBorrowed, state);
        } else if lacks && !self.is_called_by_python() {
            // What was looked up is returned as if it were new: only Python is sure to own it.
            state.fail(Reason::OwnedByCallerToo);
        } else {
            sink.repairs.extend(lacks.then_some(Repair::Missing));
            self.give(false, kind, Reason::ReturnedBorrowed, state);
        }
    }

    /// Whether a release can be written where `stmt` leaves: in front of it where its value `is_plain`,
    /// else behind its keyword, which `Py_RETURN_NONE;` has not.
    fn may_write(&self, stmt: StmtId, is_plain: bool) -> bool {
        let text = self.scene.stmt_span(stmt).map(|it| self.scene.text(it));
        match self.scene.tree.stmt(stmt).kind {
            StmtKind::Return(Some(_)) => {
                text.is_some_and(|text| is_plain || text.starts_with("return"))
            }
            StmtKind::Return(None) => is_plain && text.is_some(),
            _ => false,
        }
    }

    /// The new reference goes to the caller of a function that gave none.
    fn hand_out(&self, state: &mut State) {
        match state.hold {
            Hold::Held { .. } if state.pinned => {
                state.fail(Reason::DerivedEscapes(self.name.to_owned()));
            }
            Hold::Held { count: 1.., .. } => state.fail(Reason::OwnedByCallerToo),
            Hold::Held { .. } | Hold::Null => state.clear(),
            Hold::Nothing | Hold::Settled | Hold::Broken(_) => {}
        }
    }
}

/// The variable that `local` gets all it holds from, beside `NULL`, if it is there to be returned and
/// for nothing else.
pub(in crate::strong) fn returned_for(scene: &Scene<'_>, local: LocalId) -> Option<LocalId> {
    let tree = scene.tree;
    let is_returned = |expr| match scene.parent_of_expr(expr) {
        Some(Parent::Stmt(stmt)) => matches!(tree.stmt(stmt).kind, StmtKind::Return(_)),
        Some(Parent::Expr(outer)) => matches!(
            tree.expr(outer).kind,
            ExprKind::Assign { op: None, lhs, .. } if lhs == expr
        ),
        None => false,
    };
    let mut stores = tree
        .stores()
        .filter(|&(given, value)| given == local && !tree.is_null(value));
    let source = stores.next().and_then(|(_, value)| named(scene, value))?;
    let mut names = tree
        .expr_ids()
        .filter(|&it| tree.as_local(it) == Some(local));
    let is_plain = source != local
        && !tree.is_static(local)
        && stores.all(|(_, value)| named(scene, value) == Some(source))
        && names.all(is_returned);
    is_plain.then_some(source)
}
