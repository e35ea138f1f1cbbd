//! What the function sets for its caller before it fails first, and not yet where a new exit leaves.
//!
//! ```c
//! item = PyList_GetItemRef(list, 0);
//! if (item == NULL)
//!     return -1;                                /* the caller releases `*out`, which nobody set */
//! *out = NULL;
//! if (check(item) < 0)
//!     return -1;
//! ```

use super::View;
use super::acts::Act;
use super::outputs::Outputs;
use super::ways::Exit;
use crate::cfg::{Point, reaches};

impl View<'_> {
    /// What the function sets for its caller by the time it fails first, and not yet where `exit`
    /// leaves: `*out = NULL; if (check(item) < 0) return -1;`.
    pub(super) fn unset(&self, exit: &Exit) -> Option<&Act> {
        let next = self.next(exit);
        let entry = *self.cfg.reverse_post_order().first()?;
        let entry = Point {
            block: entry,
            index: 0,
        };
        let done = self.done_from(exit.start, exit.from);
        let mut clears = self.acts.iter().filter(|act| self.clears_output(act));
        clears.find(|act| {
            let same = self.acts.iter().filter(|other| other.key == act.key);
            let mut set: Vec<Point> = same.map(|other| other.point).collect();
            let first: Vec<Point> = next.iter().map(|other| other.from).collect();
            let is_set = reaches(self.cfg, exit.from, act.point, &first)
                && !first
                    .iter()
                    .any(|&it| reaches(self.cfg, exit.from, it, &set));
            let is_open = reaches(self.cfg, entry, exit.from, &set);
            set.push(exit.from);
            let mut old = self.old.iter();
            let fails_before = old.any(|other| reaches(self.cfg, entry, other.start, &set));
            is_set && is_open && !fails_before && !next.is_empty() && !done.contains(&act.key)
        })
    }

    /// Whether `act` sets what a pointer of the caller's points at to `NULL` or another constant.
    fn clears_output(&self, act: &Act) -> bool {
        let outputs = Outputs::new(self.changed.original, self.changed.function);
        let mut cleared = outputs.cleared(act.expr).into_iter();
        cleared.any(|output| !output.is_part || outputs.may_be_unset(output.param))
    }
}
