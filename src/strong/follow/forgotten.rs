//! References that the code took itself, and forgets on some path.
//!
//! ```c
//! item = PyList_GetItem(list, i);               item = PyList_GetItemRef(list, i);
//! Py_INCREF(item);
//! if (PyList_SetSlice(list, i, n, 0) < 0)       if (PyList_SetSlice(list, i, n, 0) < 0) {
//!                                                   Py_DECREF(item);
//!     return NULL;              /* leaks */         return NULL;
//! return item;                                  }
//! ```
//!
//! A reference that it releases nowhere may be meant to keep the object alive for ever.

use super::hold::{Kind, State};
use super::{Decisions, Follower, Mode, Repair};
use crate::ast::{ExprKind, Name, StmtKind};
use crate::capi;
use crate::cfg::{Instr, InstrKind};
use crate::strong::types::is_number;

impl Follower<'_, '_> {
    /// Whether nobody but the function has the reference that the code took, and it forgets it
    /// here: then it is released.
    pub(in crate::strong) fn forgets(
        &self,
        count: u8,
        state: &State,
        sink: &mut Decisions,
    ) -> bool {
        let is_own = self.mode == Mode::Adopt && count == 1;
        let is_forgotten = is_own
            && !state.sources.passed_on
            && self.is_released_elsewhere()
            && !self.releases_by_name();
        sink.repairs
            .extend(is_forgotten.then_some(Repair::Forgotten));
        is_forgotten
    }

    /// Whether a call gets a pointer into the object, and may keep it: that may go by the reference
    /// which the code took.
    pub(in crate::strong) fn passes_inside(
        &self,
        name: &str,
        kinds: &[Option<Kind>],
        state: &State,
    ) -> bool {
        let keeps = |at| self.may_keep(name, at) || keeps_bare(name) || keeps_text(name);
        let mut args = kinds.iter().enumerate();
        args.any(|(at, &kind)| kind == Some(Kind::Inside) && keeps(at))
            || (!state.parts.is_empty() && capi::effects(name).is_none())
    }

    /// Whether the function releases an object by its own name, which may be what the variable
    /// holds: `if (v == Py_None) { Py_DECREF(Py_None); …`.
    fn releases_by_name(&self) -> bool {
        let mut exprs = self.scene.tree.expr_ids();
        exprs.any(|expr| match self.scene.call(expr) {
            Some(("Py_DECREF" | "Py_XDECREF", [arg])) => {
                let object = self.scene.tree.without_casts(*arg);
                matches!(
                    self.scene.tree.expr(object).kind,
                    ExprKind::Name(Name::Global(_))
                )
            }
            _ => false,
        })
    }

    /// Whether the function releases or returns what its variable holds, on some path.
    fn is_released_elsewhere(&self) -> bool {
        let scene = self.scene;
        let is_home = |value| {
            let local = scene.as_local(scene.tree.without_casts(value));
            local.is_some() && local == self.home
        };
        let mut exprs = scene.tree.expr_ids();
        let mut stmts = scene.tree.stmts.iter();
        let releases = |call| match scene.call(call) {
            Some(("Py_DECREF" | "Py_XDECREF", [arg])) => is_home(*arg),
            _ => false,
        };
        exprs.any(releases)
            || stmts.any(|stmt| match stmt.kind {
                StmtKind::Return(Some(value)) => is_home(value),
                _ => false,
            })
    }
}

/// Whether a step makes a number of a pointer, by which others may find the object again.
pub(in crate::strong) fn gives_number(instr: &Instr) -> bool {
    matches!(&instr.kind, InstrKind::Cast { ty, .. } if is_number(ty))
}

/// Whether a function of the C API keeps what it gets without a reference of its own: that may be
/// what the code took one for.
pub(in crate::strong) fn keeps_bare(name: &str) -> bool {
    const WORDS: [&str; 7] = [
        "Capsule", "CObject", "VoidPtr", "Thread", "Pending", "AtExit", "Weakref",
    ];
    WORDS.iter().any(|word| name.contains(word))
}

/// Whether a function of the C API keeps a pointer into an object, but no reference to it.
fn keeps_text(name: &str) -> bool {
    const WORDS: [&str; 8] = [
        "FromMemory",
        "FillInfo",
        "FromBuffer",
        "CFunction",
        "CMethod",
        "PyDescr_New",
        "PyModule_",
        "_FromSpec",
    ];
    WORDS.iter().any(|word| name.contains(word))
}
