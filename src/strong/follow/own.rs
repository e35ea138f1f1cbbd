//! Variables that own what they hold on some paths only, and come to own it on all.
//!
//! ```c
//! v = PyDict_GetItem(d, k);                     v = PyDict_GetItemRef(…)
//! if (v == NULL) {                              if (v == NULL) {
//!     v = PyList_New(0);                            v = PyList_New(0);
//!     if (v == NULL)                                if (v == NULL)
//!         return -1;                                    return -1;
//!     is_new = 1;                               }
//! }                                             rc = use(v);
//! rc = use(v);                                  Py_DECREF(v);
//! if (is_new)
//!     Py_DECREF(v);
//! ```
//!
//! What the code does about the object that it made is right for one that was looked up as well. If
//! it did nothing, it lost the object: that ends, too. So nobody else may get hold of it unseen.

use super::hold::{Hold, State};
use super::web::assigned;
use super::{Follower, Mode};
use crate::ast::{ExprId, ExprKind, LocalId, Parent, StmtKind};
use crate::capi::{self, Returns};
use crate::cfg::Source;
use crate::ownership::summary::Param;
use crate::roles::Role;
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

impl Follower<'_, '_> {
    /// Whether the object is one that the function made, on some of the paths here at least, and
    /// that its variable owns.
    pub(in crate::strong) fn owns(&self, state: &State) -> bool {
        self.mode == Mode::Own && state.sources.made
    }

    /// Whether the object was looked up on some paths, and the code before the change has no
    /// reference to it there.
    pub(in crate::strong) fn lacks_reference(&self, state: &State) -> bool {
        let uncounted = matches!(state.hold, Hold::Held { count: 0, .. });
        self.owns(state) && state.sources.looked_up && uncounted
    }

    /// Whether the code releases the only reference that the variable has, where it holds `count`
    /// of its own.
    pub(in crate::strong) fn is_last(&self, count: u8, state: &State) -> bool {
        match self.mode {
            Mode::Keep | Mode::Mend | Mode::Lent | Mode::Apart => false,
            Mode::Adopt => count == 1,
            Mode::Own => count == 1 || count == 0 && state.sources.made,
        }
    }

    /// Whether the store to `local` made by `source` stores what is sure to be a new reference.
    pub(in crate::strong) fn makes(&self, local: LocalId, source: Source) -> bool {
        assigned(self.scene, source, local).is_some_and(|value| makes(self.scene, value))
    }

    /// Whether nothing is known of what `name` does with its argument `at`.
    pub(in crate::strong) fn may_keep(&self, name: &str, at: usize) -> bool {
        let known = self.scene.cx.summaries().param(name, at);
        known != Some(Param::Used) && capi::effects(name).is_none()
    }

    /// Whether the function can only be called by Python, which owns what it returns.
    pub(in crate::strong) fn is_called_by_python(&self) -> bool {
        let Some(roles) = self.scene.cx.roles() else {
            return false;
        };
        let (cx, function) = (self.scene.cx, self.scene.function);
        let mut roles = roles.of(cx.item(self.scene.item), function);
        roles.any(|role| role.is_method() || *role == Role::Getter)
            && cx.calls_to(&function.name).is_empty()
    }

    /// Whether `release` is all that an `if (flag)` does, where the flag tells one path from
    /// another.
    pub(in crate::strong) fn is_flagged(&self, release: ExprId) -> bool {
        let scene = self.scene;
        let Some(Parent::Stmt(mut stmt)) = scene.parent_of_expr(release) else {
            return false;
        };
        let mut outer = scene.parent_of_stmt(stmt);
        if let Some(Parent::Stmt(block)) = outer
            && matches!(&scene.tree.stmt(block).kind, StmtKind::Block(stmts) if stmts.len() == 1)
        {
            (stmt, outer) = (block, scene.parent_of_stmt(block));
        }
        let Some(Parent::Stmt(outer)) = outer else {
            return false;
        };
        match scene.tree.stmt(outer).kind {
            StmtKind::If {
                cond,
                then,
                otherwise: None,
            } => then == stmt && is_flag(scene, cond),
            _ => false,
        }
    }
}

/// Whether `cond` asks for the value of a number of the function.
fn is_flag(scene: &Scene<'_>, cond: ExprId) -> bool {
    let local = scene.as_local(cond);
    local.is_some_and(|local| is_number(&scene.tree.local(local).ty))
}

fn makes(scene: &Scene<'_>, value: ExprId) -> bool {
    if let ExprKind::Cast { operand, .. } = scene.tree.expr(value).kind {
        return makes(scene, operand);
    }
    let called = scene.call(value);
    let returns = called.and_then(|(name, _)| scene.cx.summaries().returns(name));
    returns == Some(Returns::New)
}
