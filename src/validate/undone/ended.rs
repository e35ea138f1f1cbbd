//! Calls that end what a variable of the function stands for, and whose result something looks at.
//!
//! ```c
//! fd = open_it();
//! item = PyList_GetItemRef(list, i);            /* an exit here leaves the file open */
//! …
//! if (close(fd) < 0)
//!     return NULL;
//! ```

use super::View;
use super::acts::{Act, roots};
use super::telling::{frees, says_end};
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId};
use crate::capi::{is_unknown, words_of};

impl View<'_> {
    /// Whether `act`, which the function does on all of its ways out, is the last that it does with
    /// what it had opened where `exit` leaves. Memory that a function frees by its name is followed
    /// elsewhere.
    pub(super) fn closes(&self, act: &Act, exit: &Exit) -> bool {
        let mut roots = roots(self.tree, act.expr);
        roots.retain(|&root| !self.is_given(root));
        !roots.is_empty()
            && roots.iter().all(|&root| self.may_close(act, root))
            && self.is_apart(act, exit)
            && self.is_last(act)
            && self.is_due(act, exit, false)
    }

    /// Whether a call may close what `root` stands for.
    fn may_close(&self, act: &Act, root: LocalId) -> bool {
        let ExprKind::Call { args, .. } = &self.tree.expr(act.expr).kind else {
            return false;
        };
        let name = self.tree.called(act.expr).unwrap_or_default();
        let ty = &self.tree.local(root).ty;
        let says_so = |name: &str| frees(name) || says_end(name);
        if ty.is_py_object_pointer() {
            let method = args.get(1).and_then(|&arg| self.tree.as_string(arg));
            return name.contains("Method")
                && method.is_some_and(|it| says_so(&String::from_utf8_lossy(it)));
        }
        let is_followed = ty.pointee().is_some() && frees(name);
        let is_plain = ty.is_number() && args.len() > 1;
        let may_close = says_so(name) || is_unknown(name) && !is_plain;
        may_close && !is_followed && self.is_opened(root)
    }

    /// Whether a variable gets something of which more is to be known than that others have it, too:
    /// `PyCapsule_GetPointer(capsule, NULL)`.
    fn is_opened(&self, root: LocalId) -> bool {
        let opens = |name: &str| {
            is_unknown(name) || words_of(name).any(|word| matches!(&*word, "create" | "new"))
        };
        let is_filled = |call: ExprId| match &self.tree.expr(call).kind {
            ExprKind::Call { args, .. } => args
                .iter()
                .any(|&arg| self.tree.as_address(arg) == Some(root)),
            _ => false,
        };
        let stores = self.tree.stores().filter(|(given, _)| *given == root);
        let mut given = stores.map(|(_, value)| self.tree.without_casts(value));
        let mut calls = self.tree.calls();
        given.any(|value| self.tree.called(value).is_some_and(opens))
            || calls.any(|(call, name)| is_unknown(name) && is_filled(call))
    }
}
