//! Memory that only a struct or array of the function knows, where a new exit frees that alone.
//!
//! ```c
//! record->key = strdup(text);
//! item = PyList_GetItemRef(list, 1);
//! if (item == NULL) {
//!     free(record);                             /* nobody else knows `record->key` */
//!     return NULL;
//! }
//! record->item = item;
//! ```

use super::View;
use super::acts::{Act, is_array, roots};
use super::memory::allocates;
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId};
use crate::capi;
use crate::cfg::{Point, reaches};

impl View<'_> {
    /// The store of memory that is lost where `exit` leaves.
    pub(super) fn lost(&self, exit: &Exit) -> Option<ExprId> {
        self.tree.expr_ids().find(|&store| {
            let ExprKind::Assign { op: None, lhs, rhs } = self.tree.expr(store).kind else {
                return false;
            };
            let value = self.tree.without_casts(rhs);
            let gives = self.tree.called(value).is_some_and(gives_memory);
            let root = self.part_of(lhs).filter(|_| gives);
            root.is_some_and(|root| self.is_lost(exit, store, lhs, root))
        })
    }

    /// Whether what `store` puts into `place`, a part of what `root` has, is there where `exit`
    /// leaves, and that forgets it.
    fn is_lost(&self, exit: &Exit, store: ExprId, place: ExprId, root: LocalId) -> bool {
        let field = self.field(place);
        let handled: Vec<&Act> = self
            .acts
            .iter()
            .filter(|act| self.handles(act, root, field))
            .collect();
        let points: Vec<Point> = handled.iter().map(|act| act.point).collect();
        let leads = |point: Point| reaches(self.cfg, exit.start, point, &[exit.from]);
        let frees_all = || {
            let mut calls = self.acts.iter();
            calls.any(|act| self.frees(act, root) && leads(act.point))
        };
        let holds = self.cfg.store(store);
        let is_held = holds.is_some_and(|it| reaches(self.cfg, it.next(), exit.from, &points));
        let is_struct = self.tree.local(root).ty.pointee().is_none() || is_array(self.tree, root);
        let is_forgotten = match is_struct {
            true => !handled.is_empty(),
            false => frees_all(),
        };
        is_held && is_forgotten && !points.iter().any(|&point| leads(point))
    }

    /// The variable of the function of whose struct or array a place is a part.
    fn part_of(&self, place: ExprId) -> Option<LocalId> {
        let is_part = matches!(
            self.tree.expr(place).kind,
            ExprKind::Member { .. } | ExprKind::Index { .. }
        );
        let mut roots = roots(self.tree, place).into_iter();
        let root = roots.next().filter(|_| is_part)?;
        let variable = self.tree.local(root);
        (!variable.is_param && variable.is_automatic()).then_some(root)
    }

    fn field(&self, place: ExprId) -> Option<&str> {
        match &self.tree.expr(place).kind {
            ExprKind::Member { field, .. } => Some(field),
            ExprKind::Index { base, .. } => self.field(*base),
            _ => None,
        }
    }

    /// Whether a call gets the whole of what `root` has, or the same part of it, or the struct is
    /// stored elsewhere: it may free the part, or keep it.
    fn handles(&self, act: &Act, root: LocalId, field: Option<&str>) -> bool {
        let tree = self.tree;
        let is_part =
            |value: ExprId| self.part_of(value) == Some(root) && self.field(value) == field;
        match &tree.expr(act.expr).kind {
            ExprKind::Call { args, .. } => {
                let is_plain = tree.called(act.expr).is_some_and(capi::is_libc);
                let mut args = args.iter().map(|&arg| tree.without_casts(arg));
                args.any(|arg| {
                    let is_whole =
                        tree.as_local(arg) == Some(root) || tree.as_address(arg) == Some(root);
                    is_part(arg) || is_whole && !is_plain && !self.frees(act, root)
                })
            }
            ExprKind::Assign { rhs, .. } => {
                let value = tree.without_casts(*rhs);
                tree.as_local(value) == Some(root) || is_part(value)
            }
            _ => false,
        }
    }

    /// Whether a call frees the memory that `root` points at, and nothing that is reached by it.
    fn frees(&self, act: &Act, root: LocalId) -> bool {
        let ExprKind::Call { args, .. } = &self.tree.expr(act.expr).kind else {
            return false;
        };
        let name = self.tree.called(act.expr).unwrap_or_default();
        let plain = [
            "free",
            "g_free",
            "PyMem_Free",
            "PyMem_FREE",
            "PyMem_Del",
            "PyMem_DEL",
            "PyMem_RawFree",
            "PyObject_Free",
        ];
        let mut args = args.iter().map(|&arg| self.tree.without_casts(arg));
        plain.contains(&name) && args.any(|arg| self.tree.as_local(arg) == Some(root))
    }
}

/// Whether a function gives memory that is to be freed.
fn gives_memory(name: &str) -> bool {
    allocates(name) && !matches!(name, "alloca" | "getenv" | "gmtime" | "localtime")
}
