//! Lookups that find nothing, where the code may do something about that.
//!
//! ```c
//! hook = Py_XNewRef(PyList_GetItem(list, 0));       /* no item: no hook any more */
//!
//! if (is_text(PyList_GetItem(list, 1)))             /* tests for NULL */
//!     …
//! else if (PyErr_ExceptionMatches(PyExc_IndexError))
//!     PyErr_Clear();
//! ```

use super::later::Later;
use super::missed::Missed;
use super::worlds::Worlds;
use crate::ast::{ExprId, Tree};
use crate::capi::{takes_exception, writes};
use crate::cfg::{Base, Instr, InstrKind, Place, Projection};
use crate::strong::scene::Scene;

impl Missed<'_, '_> {
    /// Whether a step does something about the `NULL` that is there afterwards, or may.
    pub(super) fn handles(&self, instr: &Instr, state: &Worlds) -> bool {
        let mut worlds = [&state.clean, &state.shown].into_iter().flatten();
        worlds.any(|world| match &instr.kind {
            InstrKind::Store { place, value } => outlives(place) && self.is_null(world, value),
            InstrKind::Call { callee, args, .. } => callee.name().is_some_and(|name| {
                // `Py_XSETREF(self->hook, Py_XNewRef(item))`
                let sets = writes(name).is_some_and(|row| row.place(0));
                sets && args.iter().skip(1).any(|arg| self.is_null(world, arg))
            }),
            _ => false,
        })
    }
}

/// Whether a place is a field, or a variable that is not on the stack.
fn outlives(place: &Place) -> bool {
    match place.path.last() {
        Some(Projection::Field(_)) => true,
        last => last.is_none() && matches!(place.base, Base::Global(_)),
    }
}

/// Whether the function may look after the exception of `call`, or a function that it calls then.
pub(super) fn settles_error(scene: &Scene<'_>, call: ExprId) -> bool {
    let Some(from) = scene.cfg.call(call) else {
        return true;
    };
    let settles = |name: &str| {
        let mut called = scene.cx.definitions(name);
        looks_after(scene.tree, name)
            || called.any(|(_, function)| {
                let tree = &function.tree;
                tree.calls().any(|(_, name)| looks_after(tree, name))
            })
    };
    Later::new(scene.pending(), from.next()).calls(settles)
}

/// Whether a call of a function looks after an exception: what it only puts aside is there again.
fn looks_after(tree: &Tree, name: &str) -> bool {
    let restores = |name| matches!(name, "PyErr_Restore" | "PyErr_SetRaisedException");
    let is_test = matches!(name, "PyErr_Clear" | "PyErr_ExceptionMatches");
    is_test || takes_exception(name) && !tree.calls().any(|(_, name)| restores(name))
}
