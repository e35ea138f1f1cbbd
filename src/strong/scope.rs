//! What names mean at a place of a function: a block may declare anew what is declared around it.
//!
//! ```c
//! int rc = 0;
//! for (i = 0; i < n; i++) {
//!     int rc = PyObject_IsTrue(item);           /* `rc = -1; goto done;` would set this one */
//! ```

use super::scene::Scene;
use crate::ast::{ExprKind, LocalId, Name, Parent, StmtId, StmtKind, TokenRange};

impl Scene<'_> {
    /// The variable of the function that `name` is at `at`. A declaration counts for all of its
    /// block: it may come to stand in front of `at`.
    pub(super) fn meaning(&self, name: &str, at: StmtId) -> Option<LocalId> {
        let around = self.around(at);
        let locals = (0u32..).map(LocalId).zip(&self.tree.locals);
        let visible = locals.filter_map(|(id, local)| {
            let depth = match local.decl {
                _ if local.name != name => None,
                Some(decl) => around.iter().position(|&it| Some(it) == self.scope(decl)),
                None => Some(around.len()),
            };
            Some((depth?, id))
        });
        visible.min().map(|(_, id)| id)
    }

    /// Whether `local` goes by its name at `at`.
    pub(super) fn is_named(&self, local: LocalId, at: StmtId) -> bool {
        self.meaning(self.name(local), at) == Some(local)
    }

    /// Whether the code of `range` would speak of the same variables at `at`.
    pub(super) fn means_the_same(&self, range: TokenRange, at: StmtId) -> bool {
        let is_own = |local: LocalId| {
            let decl = self.tree.local(local).decl;
            decl.is_some_and(|decl| range.contains(self.tree.stmt(decl).range))
        };
        let mut names = self.tree.exprs_in(range);
        names.all(|(_, expr)| match &expr.kind {
            ExprKind::Name(Name::Local(local)) => is_own(*local) || self.is_named(*local, at),
            ExprKind::Name(Name::Global(name)) => self.meaning(name, at).is_none(),
            _ => true,
        })
    }

    /// The statements around `stmt`, the innermost first.
    fn around(&self, stmt: StmtId) -> Vec<StmtId> {
        let mut around = Vec::new();
        let mut at = self.parent_of_stmt(stmt);
        while let Some(parent) = at {
            at = match parent {
                Parent::Stmt(outer) => {
                    around.push(outer);
                    self.parent_of_stmt(outer)
                }
                Parent::Expr(outer) => self.parent_of_expr(outer),
            };
        }
        around
    }

    /// The block, or the `for`, in which what `decl` declares is seen.
    fn scope(&self, decl: StmtId) -> Option<StmtId> {
        let is_scope = |stmt: &StmtId| {
            let kind = &self.tree.stmt(*stmt).kind;
            matches!(kind, StmtKind::Block(_) | StmtKind::For { .. })
        };
        self.around(decl).into_iter().find(is_scope)
    }
}
