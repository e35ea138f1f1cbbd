//! Pointers into the object that go where the function does not see them used.
//!
//! ```c
//! PyBytes_AsStringAndSize(v, &import->text, &import->size);
//! Py_DECREF(v);
//! PyGILState_Release(state);      /* from here on other threads run, GIL or not */
//! ```
//!
//! Who uses such a pointer after the thread was detached relies on what else keeps the object, and
//! always did. A reference that is held until then gives all that the GIL gave.

use super::hold::{Hold, State};
use super::{Follower, Mode};
use crate::capi;
use crate::cfg::{Callee, InstrKind, Point, Terminator};
use crate::strong::reason::Reason;

impl Follower<'_, '_> {
    /// A pointer into the object goes where others may use it; whether that is right. If it is only
    /// as long as the thread stays attached, the reference is needed until it does not.
    pub(in crate::strong) fn pins(&self, state: &mut State) -> bool {
        if self.is_as_before(state) || !self.detaches() {
            return self.outlives(state);
        }
        state.pinned |= !state.detached;
        true
    }

    /// A pointer into the object goes where it may outlive the function; whether that is right.
    pub(in crate::strong) fn outlives(&self, state: &mut State) -> bool {
        let is_as_before = self.is_as_before(state);
        match is_as_before {
            // It may be what the code took the reference for.
            true => state.sources.passed_on = true,
            false => state.fail(Reason::DerivedEscapes(self.name.to_owned())),
        }
        is_as_before
    }

    /// Whether the new reference is one that the code took itself.
    ///
    /// ```c
    /// v = PyDict_GetItem(cache, key);       v = PyDict_GetItemRef(…);
    /// Py_INCREF(v);
    /// self->trace = ((Entry *)v)->trace;    /* as safe as it was: the reference is the same */
    /// ```
    pub(in crate::strong) fn is_as_before(&self, state: &State) -> bool {
        self.mode == Mode::Adopt && matches!(state.hold, Hold::Held { count: 1.., .. })
    }

    fn detaches(&self) -> bool {
        let scene = self.scene;
        let mut exprs = scene.tree.expr_ids();
        exprs.any(|expr| {
            scene
                .call(expr)
                .is_some_and(|(name, _)| capi::detaches(name))
        })
    }

    /// Whether a stored pointer needs the object at `point`: not right in front of the call that
    /// detaches the thread.
    pub(in crate::strong) fn is_pinned(&self, state: &State, point: Point) -> bool {
        state.pinned && !self.is_detached_next(point)
    }

    /// Whether the thread is detached behind `point`, with nothing but releases in between.
    fn is_detached_next(&self, point: Point) -> bool {
        let cfg = self.scene.cfg;
        let mut at = point;
        for _ in 0..cfg.blocks.len() {
            let block = cfg.block(at.block);
            for instr in &block.instrs[at.index..] {
                match &instr.kind {
                    InstrKind::Call {
                        callee: Callee::Named(name),
                        ..
                    } if capi::detaches(name) => return true,
                    InstrKind::Call {
                        callee: Callee::Named(name),
                        ..
                    } if matches!(&**name, "Py_DECREF" | "Py_XDECREF" | "Py_CLEAR") => {}
                    InstrKind::Call { .. } | InstrKind::Store { .. } => return false,
                    InstrKind::Load { place, .. } if place.as_local().is_none() => return false,
                    _ => {}
                }
            }
            let Terminator::Goto(next) = block.terminator else {
                return false;
            };
            at = Point {
                block: next,
                index: 0,
            };
        }
        false
    }

    /// Why the object cannot be left here: `otherwise`, with the variable, if no stored pointer
    /// needs it.
    pub(in crate::strong) fn unless_pinned(
        &self,
        state: &State,
        otherwise: fn(String) -> Reason,
    ) -> Reason {
        let name = self.name.to_owned();
        match state.pinned {
            true => Reason::DerivedEscapes(name),
            false => otherwise(name),
        }
    }
}
