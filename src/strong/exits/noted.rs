//! Failures that end a loop, behind which the function leaves with the error that it has noted.
//!
//! ```c
//! for (i = 0; i < n; i++) {
//!     value = convert(PyList_GET_ITEM(list, i));      item = PyList_GetItemRef(list, i);
//!                                                     if (item == NULL) {
//!                                                         status = -1;
//!                                                         break;
//!                                                     }
//!     if (value == NULL) {
//!         status = -1;
//!         break;
//!     }
//! ```

use super::Exits;
use super::bound::loop_around;
use super::branch::{Branch, ending, sets_number};
use super::steady::{is_steady, says_the_same};
use crate::ast::{Parent, StmtId, StmtKind};
use crate::strong::scene::Scene;

impl Exits<'_, '_> {
    /// The loop that the function ends if the next thing it does fails, and the statements that do
    /// so: right if nothing was taken or given back in between.
    pub(in crate::strong) fn noted(&self) -> Option<(StmtId, Vec<String>)> {
        let scene = self.scene;
        let (outer, ..) = loop_around(scene, self.call)?;
        let tests = self.next_tests()?;
        let branch = tests.into_iter().find_map(|test| ending(scene, test))?;
        let behind = behind(scene, outer)?;
        let is_told = branch.releases.iter().any(|&stmt| notes(scene, stmt));
        let is_done = || self.undo.is_done_by(scene, &branch.releases, Some(behind));
        // `PyErr_SetString(…); break;`: the code behind the loop asks for what is the same here.
        let is_evident = || {
            branch.evident
                && says_the_same(self, &branch)
                && self.undo.asks_for(scene, &branch.releases)
        };
        let is_right = !self.speaks_of_result(&branch)
            && self.agrees_at(&branch, &self.unread_at(branch.then))
            && (is_told && is_done() || is_evident())
            && is_steady(self, &branch)
            && self.is_apart_from(&branch);
        if is_right {
            Some((outer, self.text(&branch)?))
        } else {
            None
        }
    }

    /// Whether `branch` names the variable that gets the result of the call.
    fn speaks_of_result(&self, branch: &Branch) -> bool {
        let scene = self.scene;
        let Some(start) = scene.cfg.before(branch.then) else {
            return true;
        };
        self.local
            .is_some_and(|local| scene.liveness.is_live(local, start))
    }
}

/// The statement that comes next when `stmt` is done, if that is not the next pass of a loop.
fn behind(scene: &Scene<'_>, mut stmt: StmtId) -> Option<StmtId> {
    loop {
        if let Some(next) = scene.next_sibling(stmt) {
            return Some(next);
        }
        let Some(Parent::Stmt(outer)) = scene.parent_of_stmt(stmt) else {
            return None;
        };
        match scene.tree.stmt(outer).kind {
            StmtKind::Block(_) | StmtKind::If { .. } => stmt = outer,
            _ => return None,
        }
    }
}

/// Whether a statement tells the code behind the loop of the failure: `status = -1;`,
/// `failed = 1;`, `Py_CLEAR(out);`.
fn notes(scene: &Scene<'_>, stmt: StmtId) -> bool {
    sets_number(scene, stmt)
        || match scene.tree.stmt(stmt).kind {
            StmtKind::Expr(expr) => matches!(scene.call(expr), Some(("Py_CLEAR", _))),
            _ => false,
        }
}
