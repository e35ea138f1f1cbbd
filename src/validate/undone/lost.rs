//! What only a struct or array of the function holds, where a new exit frees that alone.
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
use super::owed::Change;
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId, Tree};
use crate::capi;
use crate::cfg::{Point, reaches};
use crate::program::Lasting;

impl View<'_> {
    /// Whether what a change puts into the function's own memory is there where `exit` leaves, and that
    /// forgets it.
    pub(super) fn is_lost(&self, change: &Change<'_>, exit: &Exit) -> bool {
        let mut kept = change.lasting.iter().filter(|it| it.is_kept_here());
        let Some(root) = kept.find_map(Lasting::variable) else {
            return false;
        };
        let part = self.part(change);
        let by = change.act;
        let handled = self.acts.iter().filter(|act| act.expr != by.expr);
        let handled = handled.filter(|act| self.handles(act, root, part));
        let points: Vec<Point> = handled.map(|act| act.point).collect();
        let leads = |point: Point| reaches(self.cfg, exit.start, point, &[exit.from]);
        let is_struct = self.tree.local(root).ty.pointee().is_none() || is_array(self.tree, root);
        let frees_all = || {
            let mut all = self.acts.iter();
            all.any(|act| self.frees(act, root) && leads(act.point))
        };
        let is_forgotten = if is_struct {
            !points.is_empty()
        } else {
            frees_all()
        };
        reaches(self.cfg, by.point.next(), exit.from, &points)
            && is_forgotten
            && !points.iter().any(|&point| leads(point))
    }

    pub(super) fn loses(&self, act: &Act, exit: &Exit) -> bool {
        let all = self.all_changes();
        let mut same = all.iter().filter(|it| it.act.expr == act.expr);
        same.any(|it| self.is_lost(it, exit))
    }

    /// What a write gives its place, and the field that this is.
    fn part<'s>(&'s self, change: &Change<'s>) -> (Option<&'s str>, Option<LocalId>) {
        match self.tree.expr(change.act.expr).kind {
            ExprKind::Assign { lhs, rhs, .. } => {
                let other = self.tree.as_local(self.tree.without_casts(rhs));
                (field(self.tree, lhs), other)
            }
            _ => (change.lasting.iter().find_map(Lasting::field), None),
        }
    }

    /// Whether a call gets the whole of what `root` has, or the same part of it, or the struct is
    /// stored elsewhere: it may free the part, or keep it.
    fn handles(&self, act: &Act, root: LocalId, part: (Option<&str>, Option<LocalId>)) -> bool {
        let tree = self.tree;
        let (its_field, other) = part;
        let is_part = |value: ExprId| {
            matches!(
                tree.expr(value).kind,
                ExprKind::Member { .. } | ExprKind::Index { .. }
            ) && roots(tree, value).first() == Some(&root)
                && field(tree, value) == its_field
        };
        let is_other = |value: ExprId| tree.as_local(value).is_some_and(|it| Some(it) == other);
        match &tree.expr(act.expr).kind {
            ExprKind::Call { args, .. } => {
                // What C and Python copy or read is no matter.
                let is_plain = tree
                    .called(act.expr)
                    .is_some_and(|name| capi::acts(name).is_none_or(|acts| acts.is_plain));
                let mut args = args.iter().map(|&arg| self.tree.without_address(arg));
                args.any(|arg| {
                    let is_whole = tree.as_local(arg) == Some(root);
                    !is_plain
                        && (is_part(arg) || is_whole && !self.frees(act, root) || is_other(arg))
                })
            }
            ExprKind::Assign { rhs, .. } => {
                let value = tree.without_address(*rhs);
                tree.as_local(value) == Some(root) || is_part(value) || is_other(value)
            }
            _ => false,
        }
    }

    /// Whether a call frees the memory that `root` points at, and nothing that is reached by it.
    fn frees(&self, act: &Act, root: LocalId) -> bool {
        let Some((name, args)) = self.tree.call(act.expr) else {
            return false;
        };
        let mut args = args.iter().map(|&arg| self.tree.without_casts(arg));
        !self.changed.original.program.has_function(name)
            && capi::acts(name).is_some_and(|acts| acts.frees)
            && args.any(|arg| self.tree.as_local(arg) == Some(root))
    }
}

/// The field that a place is, or is an element of.
fn field(tree: &Tree, place: ExprId) -> Option<&str> {
    match &tree.expr(place).kind {
        ExprKind::Member { field, .. } => Some(field),
        ExprKind::Index { base, .. } => field(tree, *base),
        _ => None,
    }
}
