//! What the function has stored, and does not count yet, where a new exit leaves it.
//!
//! ```c
//! names[used] = strdup(text);                   /* what releases `used` of them misses this one */
//! item = PyList_GetItemRef(list, i);
//! if (item == NULL)
//!     goto fail;
//! used++;
//! ```

use super::View;
use super::acts::roots;
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId};
use crate::capi::{self, Returns};
use crate::cfg::{InstrKind, Point, reaches};

impl View<'_> {
    /// A store of an element that is not counted yet where `exit` leaves, by the number up to which
    /// the code from there on releases them.
    pub(super) fn uncounted(&self, exit: &Exit) -> Option<ExprId> {
        let next = self.next(exit);
        let mut stores = self.acts.iter().filter(|act| act.writes);
        let found = stores.find(|store| {
            let Some((array, count)) = self.element(store.expr) else {
                return false;
            };
            let point = store.point;
            let steps = self.steps_of(count);
            let is_counted = |step: &Point| reaches(self.cfg, exit.from, *step, &[point]);
            let mut shown = next.iter();
            self.liveness.is_live(count, exit.start)
                && reaches(self.cfg, point.next(), exit.from, &steps)
                && steps.iter().any(is_counted)
                && !shown.any(|other| reaches(self.cfg, exit.from, other.from, &steps))
                && self.is_released_from(array, exit.start)
        });
        found.map(|it| it.expr)
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
        let is_made = |value: ExprId| {
            let name = tree.called(tree.without_casts(value));
            name.is_some_and(|name| self.makes(name))
        };
        let local = tree.as_local(tree.without_casts(rhs));
        let mut stores = tree.stores();
        let types = &self.changed.original.types;
        let is_pointer = types.of(tree, lhs).is_some_and(|ty| ty.pointee().is_some());
        let is_one = is_pointer
            && (is_made(rhs)
                || stores.any(|(given, value)| Some(given) == local && is_made(value)));
        let array = *roots(tree, base).first()?;
        let count = tree.as_local(index)?;
        is_one.then_some((array, count))
    }

    /// Whether a function gives a pointer that its caller has to release.
    fn makes(&self, name: &str) -> bool {
        let mut own = self
            .changed
            .original
            .program
            .functions_named(name)
            .peekable();
        match own.peek() {
            Some(_) => own.any(|(_, function)| function.ret.pointee().is_some()),
            None => {
                capi::effects(name).is_some_and(|it| it.returns == Returns::New)
                    || capi::acts(name).is_some_and(|acts| acts.opens)
            }
        }
    }

    /// The steps that give a variable another value.
    fn steps_of(&self, local: LocalId) -> Vec<Point> {
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
