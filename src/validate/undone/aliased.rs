//! What the function puts into its own memory by one name, and releases by another one.
//!
//! ```c
//! struct pair pair, *it = &pair;
//! it->first = Py_NewRef(key);
//! item = PyList_GetItemRef(list, 0);
//! if (item == NULL)
//!     return NULL;                              /* forgets `Py_DECREF(pair.first)` */
//! ```

use super::View;
use super::acts::Act;
use super::given::pointed;
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId};
use crate::cfg::{Point, reaches};

impl View<'_> {
    /// What releases a field by another name than the one by which it was set, where `exit` does not.
    pub(super) fn released_by_another_name(&self, exit: &Exit) -> Option<&Act> {
        let mut ends = self.acts.iter().filter(|act| self.ends_it(act));
        ends.find(|act| {
            let Some((field, by)) = self.field_released(act.expr) else {
                return false;
            };
            let is_it = |other: &&Act| self.field_released(other.expr) == Some((field, by));
            let same = self.acts.iter().filter(is_it);
            let same: Vec<Point> = same.map(|other| other.point).collect();
            let leads = |from: Point, barrier: Point| {
                let mut same = same.iter();
                same.any(|&end| reaches(self.cfg, from, end, &[barrier]))
            };
            let mut fills = self.acts.iter().filter(|other| other.writes);
            fills.any(|fill| {
                self.field_set(fill.expr).is_some_and(|(set, it)| {
                    set == field && it != by && self.is_same_memory(it, by)
                }) && reaches(self.cfg, fill.point.next(), exit.from, &same)
                    && leads(exit.from, exit.start)
                    && !leads(exit.start, exit.from)
            })
        })
    }

    /// The field that a call releases, and the variable by which it does so.
    fn field_released(&self, call: ExprId) -> Option<(&str, LocalId)> {
        let (_, args) = self.tree.call(call)?;
        self.field_of(pointed(self.tree, *args.first()?))
    }

    /// The field that an assignment gives something.
    fn field_set(&self, expr: ExprId) -> Option<(&str, LocalId)> {
        match self.tree.expr(expr).kind {
            ExprKind::Assign { op: None, lhs, rhs } if !self.tree.is_null(rhs) => {
                self.field_of(lhs)
            }
            _ => None,
        }
    }

    fn field_of(&self, place: ExprId) -> Option<(&str, LocalId)> {
        match &self.tree.expr(place).kind {
            ExprKind::Member { base, field, .. } => {
                let base = self.tree.as_local(self.tree.without_casts(*base))?;
                Some((field, base))
            }
            _ => None,
        }
    }

    /// Whether one of two variables gets the other one, or its address.
    fn is_same_memory(&self, one: LocalId, other: LocalId) -> bool {
        let tree = self.tree;
        let mut stores = tree.stores();
        stores.any(|(given, value)| {
            let value = pointed(tree, value);
            let held = tree.as_local(value);
            given == one && held == Some(other) || given == other && held == Some(one)
        })
    }
}
