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

use super::coping::copes;
use super::missed::Missed;
use super::worlds::Worlds;
use crate::ast::Tree;
use crate::capi::{takes_exception, writes};
use crate::cfg::{Base, Instr, InstrKind, Place, Projection};
use crate::rule::PackageCx;

impl Missed<'_, '_> {
    /// Whether a step does something about the `NULL` that is there afterwards, or may.
    pub(super) fn handles(&self, instr: &Instr, state: &Worlds) -> bool {
        let mut worlds = [&state.clean, &state.shown].into_iter().flatten();
        worlds.any(|world| match &instr.kind {
            InstrKind::Store { place, value } => outlives(place) && self.is_null(world, value),
            InstrKind::Call { callee, args, .. } => callee.name().is_some_and(|name| {
                // `Py_XSETREF(self->hook, Py_XNewRef(item))`
                let sets = writes(name).is_some_and(|row| row.place(0));
                let is_handled = |at: usize| {
                    let is_tested = copes(self.cx, name, at).is_some();
                    sets && at > 0 || is_tested && settles_errors(self.cx, self.tree)
                };
                let mut args = args.iter().enumerate();
                args.any(|(at, arg)| is_handled(at) && self.is_null(world, arg))
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

/// Whether a function looks after exceptions, or a function that it calls does.
fn settles_errors(cx: &PackageCx<'_>, tree: &Tree) -> bool {
    let takes = |tree: &Tree| {
        let mut calls = tree.calls();
        calls.any(|(_, name)| takes_exception(name) || name == "PyErr_ExceptionMatches")
    };
    let mut called = tree.calls().flat_map(|(_, name)| cx.definitions(name));
    takes(tree) || called.any(|(_, function)| takes(&function.tree))
}
