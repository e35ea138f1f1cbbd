//! Objects that live longer than they did: as long as the reference of their own is there.
//!
//! ```c
//! item = PyList_GetItemRef(self->cursors, i);   /* a weak reference, which only the list had */
//! cursor = referent(item);
//! close(cursor);                                /* takes it out of the list: it lives on here */
//! Py_DECREF(item);
//! ```

use super::emit::Draft;
use super::follow::slots::Slot;
use super::jumps::jumped_back;
use super::plan::Planned;
use crate::ast::{ExprId, ExprKind};
use crate::capi::Absent;
use crate::rule::Asks;

impl Draft<'_, '_> {
    /// Notes what is open about the references that the code has now.
    pub(in crate::strong) fn doubt_ownership(&mut self, planned: &Planned) {
        self.doubt_repairs(planned);
        self.doubt_lifetime(planned);
    }

    /// Notes a call, made while the reference is held, to which that makes a difference: it lets the
    /// container's own go and then asks whether something is dead, or does not come back.
    fn doubt_lifetime(&mut self, planned: &Planned) {
        let scene = self.scene;
        let lifetimes = scene.cx.lifetimes();
        let calls = self.held_over(planned);
        let names = calls.iter().map(|&call| scene.tree.called(call));
        // A weak reference keeps nothing alive: whoever drops the last reference to its referent
        // while that is in use frees it under the old code's feet.
        let mut rows = planned.home.lookups.iter().map(|it| it.replacement);
        let is_in_container = rows.any(|row| row.absent != Absent::None);
        let asked = names
            .clone()
            .find_map(|name| lifetimes.asked_by(scene.cx, name))
            .filter(|_| is_in_container);
        let name = &planned.home.name;
        if let Some((function, asks)) = asked {
            let how = match asks {
                Asks::WeakReferences => "it asks for weak references",
                Asks::Destroyed => "it reads what a destructor writes",
            };
            self.fix.assume(format!(
                "`{function}()`, which may take `{name}` out of its container while it is held here, \
                 does not need it to be dead: {how}"
            ));
        }
        let mut lookups = planned.home.lookups.iter();
        let is_target = lookups.any(|it| jumped_back(scene.tree, scene.cfg, it.call).is_some());
        let jumping = names.flatten().find(|name| lifetimes.may_jump(name));
        if let Some(function) = jumping.filter(|_| !is_target) {
            self.fix.assume(format!(
                "`{function}()` does not leave by `longjmp` while the function owns `{name}`, which \
                 would not be released"
            ));
        }
    }

    /// The calls between the lookups of a home and the last release, in the order of the text.
    fn held_over(&self, planned: &Planned) -> Vec<ExprId> {
        let tree = self.scene.tree;
        let end = planned.decisions.releases.keys().map(|slot| match *slot {
            Slot::Before(stmt) => tree.stmt(stmt).range.start,
            Slot::After(stmt) | Slot::Else(stmt) | Slot::Inside(stmt) | Slot::InReturn(stmt) => {
                tree.stmt(stmt).range.end
            }
        });
        let lookups = planned.home.lookups.iter();
        let begin = lookups.map(|lookup| tree.expr(lookup.call).range.end);
        let (Some(begin), Some(end)) = (begin.min(), end.max()) else {
            return Vec::new();
        };
        let is_held = |expr: &ExprId| {
            let range = tree.expr(*expr).range;
            let is_call = matches!(tree.expr(*expr).kind, ExprKind::Call { .. });
            is_call && begin <= range.start && range.end <= end
        };
        tree.expr_ids().filter(is_held).collect()
    }
}
