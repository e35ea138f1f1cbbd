//! The exit that the function takes where something fails further on: it is right for the call, too,
//! if the function then holds what it does here.
//!
//! ```c
//! item = PyList_GetItemRef(list, i);            /* Py_DECREF(out); return NULL; */
//! if (PyUnicode_Check(item))
//!     text = PyObject_Str(item);
//! else
//!     text = PyObject_Repr(item);
//! if (text == NULL) {
//!     Py_DECREF(out);
//!     return NULL;
//! }
//! ```

use super::Exits;
use super::branch::Branch;
use super::steady::{named, says_the_same};
use crate::cfg::reaches;

impl Exits<'_, '_> {
    /// The nearest exit behind the call at which the function has taken and given back nothing
    /// more: what that exit leaves to leak, this one does, too.
    pub(in crate::strong) fn later(&self) -> Option<Vec<String>> {
        let mut branches = self.branches.iter().filter(|branch| self.is_behind(branch));
        let same = branches.find(|branch| {
            self.is_same_at(branch, &self.unread_by(branch))
                && self.undoes(branch)
                && says_the_same(self, branch)
                && self.is_apart_from(branch)
        })?;
        self.text(same)
    }

    /// Whether the function leaves by `branch` after a failure behind the call, and does nothing
    /// there with the result of the call.
    fn is_behind(&self, branch: &Branch) -> bool {
        let scene = self.scene;
        let way = (scene.cfg.call(self.call), scene.cfg.before(branch.then));
        let follows = matches!(way, (Some(from), Some(to)) if reaches(scene.cfg, from, to, &[]));
        let mut released = branch
            .releases
            .iter()
            .flat_map(|&stmt| named(scene, scene.tree.stmt(stmt).range));
        follows && branch.evident && !released.any(|local| Some(local) == self.local)
    }
}
