//! Whether something in front of a test may take a reference to the object again.
//!
//! ```c
//! static void Node_dealloc(Node *self) {
//!     PyObject_GC_UnTrack(self);                  /* leaves the count as it is */
//!     if (self->weakrefs != NULL)                 /* nobody can have a reference */
//!         PyObject_ClearWeakRefs((PyObject *)self);
//! ```

use super::{Look, Tested};
use crate::ast::{ExprId, ExprKind, LocalId, Parent, Parents, StmtKind, TokenRange, UnaryOp};
use crate::capi;

impl Look<'_> {
    /// What may run before the test, and of which it is not known whether it leaves the count of
    /// the object as it is.
    pub(super) fn may_count(&self, tested: &Tested) -> Option<TokenRange> {
        let tree = &self.function.tree;
        let object = self.names_of(tested.object);
        let ranges = self.before(tested);
        let runs = |range: TokenRange| ranges.iter().any(|it| it.contains(range));
        let parents = Parents::new(self.function);
        let is_harmless = |expr: ExprId| match &tree.expr(expr).kind {
            ExprKind::Member { field, .. } => &**field != "ob_refcnt",
            ExprKind::Call { args, .. } => {
                let Some(name) = tree.called(expr) else {
                    return false;
                };
                let mut given = (0..).zip(args);
                let is_left = |(at, arg): (usize, &ExprId)| {
                    !self.hands_on(&parents, *arg, &object) || capi::leaves_count(name, at)
                };
                let is_plain = capi::counts_nothing(name) && given.all(is_left);
                !self.is_of_package(name) && (is_plain || capi::never_returns(name))
            }
            _ => true,
        };
        let assembler = tree
            .stmts
            .iter()
            .filter(|it| matches!(it.kind, StmtKind::Asm));
        let assembler = assembler.map(|it| it.range).find(|range| runs(*range));
        let mut exprs = tree.expr_ids().filter(|&it| runs(tree.expr(it).range));
        let counting = exprs.find(|&it| !is_harmless(it));
        assembler.or_else(|| counting.map(|it| tree.expr(it).range))
    }

    /// The text that may run before the test: all in front of it, the loops around it, and all of a
    /// function that jumps.
    fn before(&self, tested: &Tested) -> Vec<TokenRange> {
        let tree = &self.function.tree;
        let body = tree.stmt(self.function.body).range;
        let test = tree.stmt(tested.test).range;
        let jumps = |kind: &StmtKind| matches!(kind, StmtKind::Goto(_) | StmtKind::ComputedGoto(_));
        if tree.stmts.iter().any(|stmt| jumps(&stmt.kind)) {
            return vec![body];
        }
        let front = TokenRange {
            start: body.start,
            end: test.start,
        };
        let loops = tree.stmts.iter().filter(|stmt| match stmt.kind {
            // `do { … } while (0)` comes by once.
            StmtKind::DoWhile { cond, .. } => tree.as_number(cond) != Some(0),
            _ => stmt.kind.is_loop(),
        });
        let around = loops.filter(|stmt| stmt.range.contains(test));
        let around: Vec<TokenRange> = around.map(|stmt| stmt.range).collect();
        [vec![front], around].concat()
    }

    /// Whether an argument is the object, and no field of it.
    fn hands_on(&self, parents: &Parents, arg: ExprId, object: &[LocalId]) -> bool {
        let tree = &self.function.tree;
        let mut names = tree.exprs_in(tree.expr(arg).range);
        names.any(|(id, _)| {
            let is_object = tree.as_local(id).is_some_and(|it| object.contains(&it));
            is_object && !self.is_base(parents, id)
        })
    }

    /// `self` of `((Node *)self)->field` and `(*self).field`.
    fn is_base(&self, parents: &Parents, mut expr: ExprId) -> bool {
        let tree = &self.function.tree;
        while let Some(Parent::Expr(outer)) = parents.of_expr(expr) {
            match tree.expr(outer).kind {
                ExprKind::Cast { .. } => expr = outer,
                ExprKind::Unary {
                    op: UnaryOp::Deref, ..
                } => return true,
                ExprKind::Member { .. } => return true,
                _ => return false,
            }
        }
        false
    }

    /// Whether the package defines a function of this name, whatever the C API has by it.
    fn is_of_package(&self, name: &str) -> bool {
        self.cx.definitions(name).next().is_some() || self.cx.is_macro(name)
    }
}
