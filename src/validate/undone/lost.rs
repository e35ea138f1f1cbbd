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
use super::telling::own;
use super::ways::Exit;
use crate::ast::{ExprId, ExprKind, LocalId, StmtKind, Tree};
use crate::capi;
use crate::cfg::{Point, reaches};

/// Memory that is stored in a part of what a variable of the function has.
struct Kept<'a> {
    /// What stores it: an assignment, or a call of a function of the package.
    by: ExprId,
    point: Point,
    root: LocalId,
    field: Option<&'a str>,
    /// The variable that holds it as well: `key = strdup(text); record->key = key;`.
    other: Option<LocalId>,
}

impl View<'_> {
    /// The store of memory that is lost where `exit` leaves.
    pub(super) fn lost(&self, exit: &Exit) -> Option<ExprId> {
        let mut stores = self.tree.expr_ids().flat_map(|expr| self.kept(expr));
        stores
            .find(|kept| self.is_lost(exit, kept))
            .map(|kept| kept.by)
    }

    /// What an expression stores.
    fn kept(&self, expr: ExprId) -> Vec<Kept<'_>> {
        match &self.tree.expr(expr).kind {
            ExprKind::Assign { op: None, lhs, rhs } => {
                let value = self.tree.without_casts(*rhs);
                let other = self.tree.as_local(value);
                let gives = match other {
                    Some(local) => self.holds_memory(local),
                    None => self.gives_memory(value),
                };
                let place = self
                    .part_of(*lhs)
                    .zip(self.cfg.store(expr))
                    .filter(|_| gives);
                let kept = place.map(|(root, point)| Kept {
                    by: expr,
                    point,
                    root,
                    field: field(self.tree, *lhs),
                    other,
                });
                kept.into_iter().collect()
            }
            ExprKind::Call { args, .. } => self.kept_by_call(expr, args),
            _ => Vec::new(),
        }
    }

    /// What a function of the package stores in what it is given: `record->key = strdup(text);`.
    fn kept_by_call(&self, call: ExprId, args: &[ExprId]) -> Vec<Kept<'_>> {
        let (Some(name), Some(point)) = (self.tree.called(call), self.cfg.call(call)) else {
            return Vec::new();
        };
        let mut kept = Vec::new();
        for function in own(self.changed.original, name) {
            for (&arg, &param) in args.iter().zip(&function.params) {
                let arg = self.tree.without_casts(arg);
                let local = self
                    .tree
                    .as_local(arg)
                    .or_else(|| self.tree.as_address(arg));
                let Some(root) = local.filter(|&it| self.is_own(it)) else {
                    continue;
                };
                let fields = fields_with_memory(&function.tree, param);
                kept.extend(fields.into_iter().map(|field| Kept {
                    by: call,
                    point,
                    root,
                    field: Some(field),
                    other: None,
                }));
            }
        }
        kept
    }

    /// Whether a variable gets nothing but memory that is to be freed.
    fn holds_memory(&self, local: LocalId) -> bool {
        let stores = self.tree.stores().filter(|&(given, _)| given == local);
        let mut values = stores
            .map(|(_, value)| self.tree.without_casts(value))
            .filter(|&value| !self.tree.is_null(value))
            .peekable();
        self.is_own(local) && values.peek().is_some() && values.all(|it| self.gives_memory(it))
    }

    /// Whether a value is memory that is to be freed, from a function of C or of the package.
    fn gives_memory(&self, value: ExprId) -> bool {
        self.tree.called(value).is_some_and(|name| {
            let mut bodies = own(self.changed.original, name).peekable();
            match bodies.peek() {
                Some(_) => bodies.any(|function| returns_memory(&function.tree)),
                None => gives_memory(name),
            }
        })
    }

    /// Whether what is `kept` is there where `exit` leaves, and that forgets it.
    fn is_lost(&self, exit: &Exit, kept: &Kept<'_>) -> bool {
        let root = kept.root;
        let handled: Vec<&Act> = self
            .acts
            .iter()
            .filter(|act| self.handles(act, kept))
            .collect();
        let points: Vec<Point> = handled.iter().map(|act| act.point).collect();
        let leads = |point: Point| reaches(self.cfg, exit.start, point, &[exit.from]);
        let frees_all = || {
            let mut calls = self.acts.iter();
            calls.any(|act| self.frees(act, root) && leads(act.point))
        };
        let is_held = reaches(self.cfg, kept.point.next(), exit.from, &points);
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
        self.is_own(root).then_some(root)
    }

    fn is_own(&self, local: LocalId) -> bool {
        let variable = self.tree.local(local);
        !variable.is_param && variable.is_automatic()
    }

    /// Whether a call gets the whole of what `root` has, or the same part of it, or the struct is
    /// stored elsewhere: it may free the part, or keep it.
    fn handles(&self, act: &Act, kept: &Kept<'_>) -> bool {
        let (tree, root) = (self.tree, kept.root);
        let is_part =
            |value: ExprId| self.part_of(value) == Some(root) && field(tree, value) == kept.field;
        let is_other = |value: ExprId| {
            tree.as_local(value)
                .is_some_and(|it| Some(it) == kept.other)
        };
        match &tree.expr(act.expr).kind {
            ExprKind::Call { args, .. } => {
                let is_plain = tree.called(act.expr).is_some_and(capi::is_libc);
                let mut args = args.iter().map(|&arg| tree.without_casts(arg));
                args.any(|arg| {
                    let is_whole =
                        tree.as_local(arg) == Some(root) || tree.as_address(arg) == Some(root);
                    let frees_other = || kept.other.is_some_and(|it| self.frees(act, it));
                    is_part(arg)
                        || is_whole && !is_plain && !self.frees(act, root)
                        || is_other(arg) && (!is_plain || frees_other())
                })
            }
            ExprKind::Assign { rhs, .. } => {
                let value = tree.without_casts(*rhs);
                let is_it = act.expr == kept.by;
                tree.as_local(value) == Some(root) || is_part(value) || is_other(value) && !is_it
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

/// The field that a place is, or is an element of.
fn field(tree: &Tree, place: ExprId) -> Option<&str> {
    match &tree.expr(place).kind {
        ExprKind::Member { field, .. } => Some(field),
        ExprKind::Index { base, .. } => field(tree, *base),
        _ => None,
    }
}

/// The fields of what `param` points at in which a function stores memory that it allocates.
fn fields_with_memory(tree: &Tree, param: LocalId) -> Vec<&str> {
    let of_param = |place: ExprId| match &tree.expr(place).kind {
        ExprKind::Member { base, field, .. } if tree.as_local(*base) == Some(param) => {
            Some(&**field)
        }
        _ => None,
    };
    let stores = tree
        .expr_ids()
        .filter_map(|expr| match tree.expr(expr).kind {
            ExprKind::Assign { op: None, lhs, rhs } => {
                let name = tree.called(tree.without_casts(rhs))?;
                of_param(lhs).filter(|_| gives_memory(name))
            }
            _ => None,
        });
    stores.collect()
}

/// Whether a function returns what it has just allocated.
fn returns_memory(tree: &Tree) -> bool {
    let gives = |value: ExprId| {
        tree.called(tree.without_casts(value))
            .is_some_and(gives_memory)
    };
    tree.stmts.iter().any(|stmt| match stmt.kind {
        StmtKind::Return(Some(value)) => {
            let local = tree.as_local(tree.without_casts(value));
            let made = |local: LocalId| {
                let mut stores = tree.stores();
                stores.any(|(given, value)| given == local && gives(value))
            };
            gives(value) || local.is_some_and(made)
        }
        _ => false,
    })
}

/// Whether a function gives memory that is to be freed.
fn gives_memory(name: &str) -> bool {
    allocates(name) && !matches!(name, "alloca" | "getenv" | "gmtime" | "localtime")
}
