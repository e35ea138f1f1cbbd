//! What a variable that a label returns tells the caller, where a branch jumps there.
//!
//! ```c
//! int status = CANNOT_OPEN;
//! item = PyList_GetItemRef(list, i);
//! if (item == NULL)
//!     goto end;                             /* as where the next call fails */
//! …
//! end:
//!     return status;
//! ```

use super::Exits;
use super::branch::Branch;
use super::error_value::ErrorValue;
use super::state::{NULL, UNSET};
use super::steady::is_kept;
use crate::ast::{LocalId, StmtId, StmtKind};
use crate::strong::types::is_number;

impl Exits<'_, '_> {
    /// Whether what `local` holds here, or gets in `branch`, is an error.
    pub(super) fn fails_with(&self, branch: &Branch, local: LocalId) -> bool {
        self.is_error(local) || self.is_cleared_by(branch, local) || self.is_told_by(branch, local)
    }

    /// Whether a variable holds the error that the function returns.
    pub(in crate::strong) fn is_error(&self, local: LocalId) -> bool {
        self.state.is_error(local, self.error)
    }

    /// Whether a number says the same of an error here as at `branch`, which is taken after one:
    /// `int status = CANNOT_OPEN; … if (PyErr_Occurred()) goto end; … end: return status;`
    fn is_told_by(&self, branch: &Branch, local: LocalId) -> bool {
        let scene = self.scene;
        branch.evident
            && is_number(&scene.tree.local(local).ty)
            && self.state.of(local) & (NULL | UNSET) == 0
            && !scene.cfg.address_taken().contains(&local)
            && is_kept(self, branch, local)
    }

    /// Whether `branch` sets what the function returns to the error: `Py_CLEAR(out); goto end;`.
    fn is_cleared_by(&self, branch: &Branch, local: LocalId) -> bool {
        let scene = self.scene;
        let clears = |&stmt: &StmtId| match scene.tree.stmt(stmt).kind {
            StmtKind::Expr(expr) => match scene.call(expr) {
                Some(("Py_CLEAR", [arg])) => scene.as_local(*arg) == Some(local),
                _ => false,
            },
            _ => false,
        };
        self.error == ErrorValue::Null && branch.releases.iter().any(clears)
    }
}
