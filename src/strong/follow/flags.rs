//! Numbers that tell that there is an object: they are zero wherever it is `NULL`.
//!
//! ```c
//! int ok = PyList_GET_SIZE(list) == 2;
//! if (ok) {
//!     v = PyList_GetItemRef(list, 0);
//!     …
//! }
//! if (!ok) {
//!     Py_XDECREF(v);
//!     return -1;
//! }
//! n = use(v);
//! Py_DECREF(v);
//! ```

use std::collections::BTreeSet;

use super::Follower;
use super::hold::{Carrier, Hold, Kind, State};
use super::step::kind_of;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId};
use crate::cfg::{Condition, Instr, InstrKind, Op, Operand};
use crate::strong::types::is_number;

impl Follower<'_, '_> {
    /// Notes whether what a step made is zero if there is no object.
    pub(super) fn follow_flag(&self, instr: &Instr, state: &mut State) {
        let (made, is_flag) = match &instr.kind {
            InstrKind::Store { place, value } => {
                let Some(local) = place.as_local() else {
                    return;
                };
                let is_flag = is_flag(state, value) && self.is_own_number(local);
                (Carrier::Local(local), is_flag)
            }
            InstrKind::Load { dst, place } => {
                let local = place.as_local().map(Carrier::Local);
                let is_flag = local.is_some_and(|local| state.flags.contains(&local));
                (Carrier::Temp(*dst), is_flag)
            }
            InstrKind::Copy { dst, src } | InstrKind::Cast { dst, src, .. } => {
                (Carrier::Temp(*dst), is_flag(state, src))
            }
            InstrKind::Op { dst, op, operands } => {
                (Carrier::Temp(*dst), self.tells(*op, operands, state))
            }
            InstrKind::Call { dst, .. } => (Carrier::Temp(*dst), false),
            InstrKind::Declare { local } => (Carrier::Local(*local), false),
            InstrKind::ScopeEnd { .. } | InstrKind::Asm => return,
        };
        match is_flag && may_be_null(state) {
            true => state.flags.insert(made),
            false => state.flags.remove(&made),
        };
    }

    /// Whether the result of an operation is zero if there is no object: `v != NULL`.
    fn tells(&self, op: Op, operands: &[Operand], state: &State) -> bool {
        match (op, operands) {
            // What is `NULL` now was perhaps `Py_None` before.
            _ if self.weak.is_some() => false,
            (Op::Binary(BinaryOp::NotEquals), [one, other]) => {
                let is_object = |operand| kind_of(state, operand) == Some(Kind::Same);
                other.is_zero() && is_object(one) || one.is_zero() && is_object(other)
            }
            _ => false,
        }
    }

    /// Adds what a test for zero says of what there is.
    pub(super) fn refine_flag(&self, condition: &Condition, zero: bool, state: &mut State) {
        if !zero && is_flag(state, &condition.lhs) && !state.mixed {
            state.is_read();
        }
        let local = self.tested(condition.expr).map(Carrier::Local);
        if zero && may_be_null(state) {
            state.flags.extend(local);
        }
    }

    /// The number that a condition asks for.
    fn tested(&self, condition: ExprId) -> Option<LocalId> {
        let tested = match self.scene.tree.expr(condition).kind {
            ExprKind::Binary {
                op: BinaryOp::Equals | BinaryOp::NotEquals,
                lhs,
                ..
            } => lhs,
            _ => condition,
        };
        let local = self.scene.as_local(tested);
        local.filter(|&local| self.is_own_number(local))
    }

    /// Whether `local` is a number that changes only where its name stands.
    fn is_own_number(&self, local: LocalId) -> bool {
        is_number(&self.scene.tree.local(local).ty)
            && !self.is_static(local)
            && !self.scene.cfg.address_taken().contains(&local)
    }
}

impl State {
    /// The flags where this path meets another.
    pub(super) fn joined_flags(&self, other: &Self) -> BTreeSet<Carrier> {
        // Where there is an object, any number may tell that.
        let is_there = |state: &Self| matches!(state.hold, Hold::Held { null: false, .. });
        match (is_there(self), is_there(other)) {
            (true, true) => BTreeSet::new(),
            (true, false) => other.flags.clone(),
            (false, true) => self.flags.clone(),
            (false, false) => &self.flags & &other.flags,
        }
    }
}

fn may_be_null(state: &State) -> bool {
    matches!(state.hold, Hold::Null | Hold::Held { null: true, .. })
}

fn is_flag(state: &State, operand: &Operand) -> bool {
    operand.is_zero()
        || matches!(operand, Operand::Temp(temp) if state.flags.contains(&Carrier::Temp(*temp)))
}
