//! Items that the code gives away as if it owned them.
//!
//! ```c
//! PyTuple_SET_ITEM(pair, 0, PyList_GET_ITEM(list, i));     /* the tuple releases it one day */
//!
//! PyObject *item = PyList_GetItemRef(list, i);
//! PyTuple_SET_ITEM(pair, 0, item);
//! ```
//!
//! The new reference is the one that was missing, unless other code has always taken one too many
//! to make up for it: that only a person can tell.

use crate::ast::ExprId;
use crate::capi::REPLACEMENTS;
use crate::strong::emit::Draft;
use crate::strong::exits::branch::is_same;
use crate::strong::follow::hold::State;
use crate::strong::follow::{Decisions, Follower, Mode, Repair};
use crate::strong::plan::{Home, Planned};
use crate::strong::scene::Scene;

/// Whether it may be by mistake that the items of `home` are given away: no slot of their container
/// gets another item behind the back of the counts. Nor do lookups look into the items, which would
/// have to wait for what a person says.
///
/// ```c
/// Py_DECREF(PyList_GET_ITEM(list, 0));     /* the reference of the list … */
/// PyList_SET_ITEM(list, 0, NULL);          /* … which does not release it */
/// ```
pub(in crate::strong) fn may_mend(scene: &Scene<'_>, home: &Home) -> bool {
    let container = |call: ExprId| scene.call(call)?.1.first().copied();
    let is_lookup = |name: &str| {
        let mut rows = REPLACEMENTS.iter();
        rows.any(|row| row.borrowed == name || row.strong == name)
    };
    let mut calls = scene.tree.expr_ids();
    !calls.any(|call| match scene.call(call) {
        Some(("PyList_SET_ITEM", [filled, ..])) => home.lookups.iter().any(|lookup| {
            container(lookup.call).is_some_and(|container| is_same(scene, container, *filled))
        }),
        Some((name, [first, ..])) if is_lookup(name) => {
            home.local.is_some() && scene.as_local(*first) == home.local
        }
        _ => false,
    })
}

impl Follower<'_, '_> {
    /// Whether existing counts stay as they are.
    pub(in crate::strong) fn keeps_counting(&self) -> bool {
        matches!(
            self.mode,
            Mode::Keep | Mode::Mend | Mode::Lent | Mode::Apart
        )
    }

    /// Notes that the code gives away the object, to which it holds `count` references;
    /// whether the new one is taken for it.
    pub(in crate::strong) fn presumes(
        &self,
        count: u8,
        state: &mut State,
        sink: &mut Decisions,
    ) -> bool {
        let presumes = self.mode == Mode::Mend && count == 0;
        if presumes {
            sink.repairs.insert(Repair::Presumed);
            state.clear();
        }
        presumes
    }
}

impl Draft<'_, '_> {
    /// Notes that a reference which the code gives away may be made up for elsewhere.
    pub(in crate::strong) fn doubt_repairs(&mut self, planned: &Planned) {
        if planned.decisions.repairs.contains(&Repair::Presumed) {
            self.fix.assume(format!(
                "no other code takes an extra reference for `{}`, which is given away here \
                 without an owned reference",
                planned.home.name
            ));
        }
    }
}
