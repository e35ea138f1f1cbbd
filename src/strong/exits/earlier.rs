//! The exit that the function takes where something failed earlier, with releases of what it has
//! made since: what that exit leaves to leak, this one does, too.
//!
//! ```c
//! value = load(input);
//! if (value == NULL)
//!     goto fail;
//! key = PyList_GetItemRef(keys, i);
//! if (key == NULL) {
//!     Py_DECREF(value);
//!     goto fail;
//! }
//! ```

use super::branch::Branch;
use super::error_value::ErrorValue;
use super::handled::raises;
use super::state::Owned;
use super::{Exits, label_of};
use crate::ast::{LocalId, StmtId, StmtKind};
use crate::cfg::{Point, reaches};
use crate::strong::scene::Scene;

impl Exits<'_, '_> {
    /// The nearest exit before the call that is right here behind some releases.
    pub(in crate::strong) fn earlier(&self) -> Option<Vec<String>> {
        if self.is_unfinished() {
            return None;
        }
        let here = self.scene.written(self.call)?.start();
        let is_before = |branch: &&Branch| {
            let at = self.scene.stmt_span(branch.jump);
            at.is_some_and(|at| at.start() < here)
        };
        let mut branches = self.branches.iter().filter(is_before);
        branches.find_map(|branch| {
            let made = self.made_since(branch)?;
            let releases = made.into_iter().map(|owned| self.release(owned));
            let releases: Option<Vec<String>> = releases.collect();
            Some([releases?, self.text(branch)?].concat())
        })
    }

    /// What the function has made since `branch` was passed, if nothing else has changed. From
    /// `branch` on nothing speaks of it. What a caller gave away may be its own again there.
    fn made_since(&self, branch: &Branch) -> Option<Vec<Owned>> {
        let scene = self.scene;
        let start = scene.cfg.before(branch.then)?;
        let then = self.known(self.held.at(start)?);
        let had: Vec<LocalId> = then.owned().iter().map(|it| it.local).collect();
        let mut made = self.state.owned();
        if made
            .iter()
            .any(|owned| scene.tree.local(owned.local).is_param)
        {
            return None;
        }
        made.retain(|owned| !had.contains(&owned.local));
        let mut apart = self.unread_at(branch.then);
        apart.extend(made.iter().map(|owned| owned.local));
        let is_read = |owned: &Owned| scene.liveness.is_live(owned.local, start);
        let fits =
            self.is_same_at(branch, &apart) && self.undoes(branch) && self.is_apart_from(branch);
        (fits && !made.iter().any(is_read)).then_some(made)
    }
}

/// Whether `branch` goes to a label from which the code leads straight to the return of the error.
pub(super) fn goes_to_error(scene: &Scene<'_>, branch: &Branch, error: ErrorValue) -> bool {
    let StmtKind::Goto(label) = &scene.tree.stmt(branch.jump).kind else {
        return false;
    };
    let Some((siblings, at)) = label_of(scene, label).and_then(|it| scene.siblings(it)) else {
        return false;
    };
    let is_step = |stmt: &StmtId| match scene.tree.stmt(*stmt).kind {
        StmtKind::Label { body, .. } => matches!(scene.tree.stmt(body).kind, StmtKind::Expr(_)),
        StmtKind::Expr(_) => true,
        _ => false,
    };
    siblings[at..].split_last().is_some_and(|(&last, steps)| {
        let value = match scene.tree.stmt(last).kind {
            StmtKind::Return(value) => value,
            _ => None,
        };
        value.is_some_and(|value| error.is(scene, value)) && steps.iter().all(is_step)
    })
}

/// Whether the code behind the label of `branch` raises an exception on all paths, in place of that
/// of the call: `no_memory: PyErr_NoMemory(); fail: …`.
pub(super) fn raises_behind(scene: &Scene<'_>, branch: &Branch) -> bool {
    let StmtKind::Goto(label) = &scene.tree.stmt(branch.jump).kind else {
        return false;
    };
    let calls = scene.tree.calls().filter(|(_, name)| raises(name));
    let raised: Vec<Point> = calls.filter_map(|(call, _)| scene.cfg.call(call)).collect();
    let start = label_of(scene, label).and_then(|label| scene.cfg.before(label));
    let mut ends = scene.cfg.returns();
    start.is_some_and(|start| !ends.any(|end| reaches(scene.cfg, start, end, &raised)))
}
