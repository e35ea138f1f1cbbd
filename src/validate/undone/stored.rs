//! What the function has stored for others by the time a new exit leaves it.
//!
//! ```c
//! *result = values;                             /* the caller has it, and thinks nothing of it */
//! names[used] = strdup(text);                   /* what releases `used` of them misses this one */
//! item = PyList_GetItemRef(list, i);
//! if (item == NULL)
//!     goto fail;
//! used++;
//! ```

use super::View;
use super::acts::roots;
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId, TypeKind};
use crate::capi::{self, Returns};
use crate::cfg::{InstrKind, Point, reaches};

impl View<'_> {
    /// Whether a value is a pointer that a call made, or a variable that got one.
    fn is_owned(&self, value: ExprId) -> bool {
        let tree = self.tree;
        let is_made = |value: ExprId| {
            let name = tree.called(tree.without_casts(value));
            name.is_some_and(|name| self.makes(name))
        };
        let local = tree.as_local(tree.without_casts(value));
        let pointer = local.filter(|&local| tree.local(local).ty.pointee().is_some());
        let mut stores = tree.stores();
        is_made(value)
            || pointer
                .is_some_and(|local| stores.any(|(given, made)| given == local && is_made(made)))
    }

    /// Whether a function gives what its caller has to release.
    fn makes(&self, name: &str) -> bool {
        let is_new = capi::effects(name).is_some_and(|it| it.returns == Returns::New);
        let mut own = self.changed.original.program.functions_named(name);
        let gives_pointer = own.any(|(_, it)| matches!(it.ret.kind, TypeKind::Pointer(_)));
        let lower = name.to_ascii_lowercase();
        let allocates = lower.contains("alloc") || lower.contains("dup") || name == "PyMem_New";
        is_new || gives_pointer || allocates
    }

    /// A store of an element that is not counted yet where `exit` leaves, by the number up to which
    /// the code from there on releases them.
    pub(super) fn uncounted(&self, exit: &Exit) -> Option<ExprId> {
        let tree = self.tree;
        let next = self.next(exit);
        tree.expr_ids().find(|&store| {
            let Some((array, count)) = self.element(store) else {
                return false;
            };
            let Some(point) = self.cfg.store(store) else {
                return false;
            };
            let steps = self.steps_of(count);
            let is_counted = |step: &Point| reaches(self.cfg, exit.from, *step, &[point]);
            let mut shown = next.iter();
            self.liveness.is_live(count, exit.start)
                && reaches(self.cfg, point.next(), exit.from, &steps)
                && steps.iter().any(is_counted)
                && !shown.any(|other| reaches(self.cfg, exit.from, other.from, &steps))
                && self.is_released_from(array, exit.start)
        })
    }

    /// The array and the number of `names[used] = v`, where `v` is made by a call.
    fn element(&self, store: ExprId) -> Option<(LocalId, LocalId)> {
        let tree = self.tree;
        let ExprKind::Assign { op: None, lhs, rhs } = tree.expr(store).kind else {
            return None;
        };
        let ExprKind::Index { base, index } = tree.expr(lhs).kind else {
            return None;
        };
        let array = *roots(tree, base).first()?;
        let count = tree.as_local(index)?;
        self.is_owned(rhs).then_some((array, count))
    }

    /// The steps that give a variable another value.
    pub(super) fn steps_of(&self, local: LocalId) -> Vec<Point> {
        let stores = self
            .cfg
            .steps()
            .filter_map(|(point, instr)| match &instr.kind {
                InstrKind::Store { place, .. } if place.as_local() == Some(local) => Some(point),
                _ => None,
            });
        stores.collect()
    }

    /// Whether the code from `start` on calls something with an element of `array`.
    fn is_released_from(&self, array: LocalId, start: Point) -> bool {
        let mut calls = self.acts.iter().filter(|act| !act.writes);
        calls.any(|act| {
            roots(self.tree, act.expr).contains(&array) && reaches(self.cfg, start, act.point, &[])
        })
    }
}
