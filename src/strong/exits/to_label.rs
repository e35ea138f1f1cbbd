//! Exits through a label of the function, with what is not released there.
//!
//! ```c
//! all = PyList_New(n);
//! if (all == NULL) {
//!     status = -1;
//!     goto done;
//! }
//! item = PyList_GetItemRef(list, i);
//! if (item == NULL) {
//!     Py_DECREF(all);                     /* `done` releases `args` */
//!     status = -1;
//!     goto done;
//! }
//! ```

use super::Exits;
use super::branch::{Branch, jumps, nearest_first};
use super::earlier::raises_behind;
use super::held::fails_cleanly;
use super::state::Owned;
use crate::ast::LocalId;

impl Exits<'_, '_> {
    /// The nearest branch that jumps to a label, behind the releases of what nobody looks at there.
    pub(in crate::strong) fn to_label(&self) -> Option<Vec<String>> {
        let scene = self.scene;
        let here = scene.written(self.call)?.start();
        let mut branches = jumps(scene);
        branches.retain(|branch| !branch.clears && !raises_behind(scene, branch));
        nearest_first(scene, here, &mut branches);
        let is_known = self.returns && self.uncertain().is_empty() && !self.is_unfinished();
        let mut branches = branches.iter().filter(|_| is_known);
        branches.find_map(|branch| self.behind_releases(branch))
    }

    fn behind_releases(&self, branch: &Branch) -> Option<Vec<String>> {
        let scene = self.scene;
        let start = scene.cfg.before(branch.then)?;
        let owned = self.state.owned().into_iter();
        let rest = owned.filter(|owned| !scene.liveness.is_live(owned.local, start));
        let rest: Vec<Owned> = rest.collect();
        let locals: Vec<LocalId> = rest.iter().map(|owned| owned.local).collect();
        let mut state = self.state.clone();
        state.disown_all(&locals);
        let fits = start.index == 0
            && fails_cleanly(scene, self.error, start.block, state)
            && self.undoes(branch)
            && self.is_apart_from(branch);
        let released: Option<Vec<String>> =
            rest.into_iter().map(|owned| self.release(owned)).collect();
        let mut lines = released.filter(|_| fits)?;
        lines.extend(self.text(branch)?);
        Some(lines)
    }
}
