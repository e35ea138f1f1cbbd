//! Exits that come in and go to a label of the function: paths that were not there before.
//!
//! ```c
//! first = PyList_GetItemRef(list, 0);
//! if (first == NULL)
//!     goto done;                            /* comes in: second has no value there */
//! second = PyList_GetItemRef(list, 1);
//! …
//! done:
//!     Py_XDECREF(first);                    /* may be NULL there */
//! ```

use super::Follower;
use super::hold::{Carrier, Hold, Kind, State};
use crate::cfg::{BlockId, Instr};
use crate::strong::exits::label_of;

impl Follower<'_, '_> {
    /// The edge from a lookup that gives nothing to the label of its exit, in `state` behind the
    /// lookup.
    pub(super) fn landing(&self, instr: &Instr, state: &State) -> Option<(BlockId, State)> {
        let (_, call) = instr.named_call()?;
        let label = label_of(self.scene, self.strong.label(call)?)?;
        let target = self.scene.cfg.before(label)?.block;
        let mut failed = state.clone();
        match (self.lookups.contains_key(&call), &state.hold) {
            (_, Hold::Broken(_)) => return None,
            (true, _) => {
                failed.clear_to_null();
                let home = self.home.filter(|_| !self.is_apart());
                let home = home.map(|local| (Carrier::Local(local), Kind::Same));
                failed.carriers.extend(home);
            }
            // The exit releases what others hold.
            (false, Hold::Held { .. }) if !self.lands_held => failed.clear(),
            (false, _) => {}
        }
        Some((target, failed))
    }
}
