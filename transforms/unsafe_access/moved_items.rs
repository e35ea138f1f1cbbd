//! What a function does with the items of a list beside storing one: where it releases or moves
//! them, or sets the size of the list, `PyList_SetItem` is no `PyList_SET_ITEM`.

use crate::ast::{ExprId, ExprKind, Parent, Parents, StmtId, StmtKind, Tree};
use crate::rule::{CallSite, PackageCx};

use super::{Words, words};

/// Calls that read an item without a reference of its own.
const READS: [&str; 3] = [
    "PyList_GET_ITEM",
    "PyList_GetItem",
    "PySequence_Fast_GET_ITEM",
];

/// Calls that give the number of items.
const SIZES: [&str; 4] = [
    "PyList_GET_SIZE",
    "PyList_Size",
    "PySequence_Fast_GET_SIZE",
    "Py_SIZE",
];

/// A store into a list.
pub(super) struct Store<'a> {
    cx: &'a PackageCx<'a>,
    site: CallSite,
    tree: &'a Tree,
    list: ExprId,
    index: ExprId,
    value: ExprId,
}

impl<'a> Store<'a> {
    pub(super) fn new(cx: &'a PackageCx<'a>, site: CallSite) -> Option<Self> {
        let tree = cx.tree(site.item)?;
        let (_, args) = cx.call(site);
        let &[list, index, value] = args else {
            return None;
        };
        Some(Self {
            cx,
            site,
            tree,
            list,
            index,
            value,
        })
    }

    /// Why the checked function cannot stand there.
    pub(super) fn obstacle(&self) -> Option<&'static str> {
        if self.tree.is_null(self.value) {
            return Some(
                "use `PyList_SetSlice`, or store `None` if no slot may be empty (the `NULL` \
                 removes an item that other code then owns, and `PyList_SetItem` would release \
                 that item)",
            );
        }
        if self.is_size(self.index) || self.sets_size() {
            return Some(
                "use `PyList_Append` (the item is stored after the last one, which \
                 `PyList_SetItem` rejects)",
            );
        }
        let released = self.released_before().map(|(_, read)| read);
        let mut reads = self.tree.expr_ids().filter(|&expr| self.reads_item(expr));
        reads.any(|read| Some(read) != released).then_some(
            "hold the list in a critical section and keep these statements (`PyList_SetItem` would \
             release the old item again, which the function moves or releases itself)",
        )
    }

    /// The statement right in front of it that releases the old item, and the read in it:
    /// `Py_DECREF(PyList_GET_ITEM(list, i));`.
    pub(super) fn released_before(&self) -> Option<(StmtId, ExprId)> {
        let function = self.cx.function(self.site.item)?;
        let parents = Parents::new(function);
        let Parent::Stmt(own) = parents.of_expr(self.site.expr)? else {
            return None;
        };
        let blocks = self.tree.stmts.iter();
        let mut before = blocks.filter_map(|stmt| match &stmt.kind {
            StmtKind::Block(stmts) => {
                let at = stmts.iter().position(|&stmt| stmt == own)?;
                stmts.get(at.checked_sub(1)?).copied()
            }
            _ => None,
        });
        let before = before.next_back()?;
        let StmtKind::Expr(release) = self.tree.stmt(before).kind else {
            return None;
        };
        let ("Py_DECREF" | "Py_XDECREF", &[read]) = self.tree.call(release)? else {
            return None;
        };
        let read = self.tree.without_casts(read);
        let (_, &[_, index]) = self.tree.call(read)? else {
            return None;
        };
        let same = self.reads_item(read) && self.spell(index) == self.spell(self.index);
        same.then_some((before, read))
    }

    /// Whether `expr` reads an item of the list, as it is spelled here, or any through `ob_item`.
    fn reads_item(&self, expr: ExprId) -> bool {
        match &self.tree.expr(expr).kind {
            ExprKind::Call { .. } => match self.tree.call(expr) {
                Some((name, &[list, _])) if READS.contains(&name) => {
                    self.spell(list) == self.spell(self.list)
                }
                _ => false,
            },
            ExprKind::Member { field, .. } => &**field == "ob_item",
            _ => false,
        }
    }

    /// Whether a number is the size of something, or of a variable that is only given such.
    fn is_size(&self, expr: ExprId) -> bool {
        let expr = self.tree.without_casts(expr);
        let asks = |expr: ExprId| {
            let called = self.tree.called(self.tree.without_casts(expr));
            called.is_some_and(|name| SIZES.contains(&name))
        };
        match self.tree.as_local(expr) {
            Some(local) => {
                let mut given = self.tree.stores().filter(|(to, _)| *to == local);
                given.any(|(_, value)| asks(value))
            }
            None => asks(expr),
        }
    }

    /// Whether the function sets the size of an object by itself.
    fn sets_size(&self) -> bool {
        let is_size = |expr: ExprId| match &self.tree.expr(expr).kind {
            ExprKind::Member { field, .. } => &**field == "ob_size",
            _ => self.tree.called(expr) == Some("Py_SIZE"),
        };
        let mut exprs = self.tree.expr_ids();
        exprs.any(|expr| {
            self.tree.called(expr) == Some("Py_SET_SIZE")
                || self.tree.changed(expr).is_some_and(is_size)
        })
    }

    fn spell(&self, expr: ExprId) -> Words {
        let expr = self.tree.without_casts(expr);
        words(self.cx, self.site.item, self.tree.expr(expr).range)
    }
}
