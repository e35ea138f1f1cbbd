//! Counting that goes or comes with a new reference.

use super::emit::Draft;
use super::plan::Planned;
use super::reason::Reason;
use super::scene::Parent;
use crate::ast::{ExprId, ExprKind, StmtId, StmtKind};
use crate::source::ByteSpan;

impl Draft<'_, '_> {
    /// Takes out the counting that the new reference makes needless, and adds what it needs.
    pub(super) fn counting(&mut self, planned: &Planned) -> Result<(), Reason> {
        for &call in &planned.decisions.removed {
            self.remove(call, &planned.home.name)?;
        }
        for &call in &planned.decisions.unwrapped {
            self.unwrap(call, &planned.home.name)?;
        }
        for &value in &planned.decisions.owned {
            let no_place = || Reason::NoPlace(planned.home.name.clone());
            let span = self.scene.span(value).ok_or_else(no_place)?;
            let function = if self.is_never_null(value) {
                "Py_NewRef"
            } else {
                "Py_XNewRef"
            };
            self.insert(span.start(), format!("{function}("));
            self.insert(span.end(), ")");
            self.compat(function);
        }
        Ok(())
    }

    fn is_never_null(&self, value: ExprId) -> bool {
        match &self.scene.tree.expr(value).kind {
            ExprKind::Name(crate::ast::Name::Global(name)) => name.starts_with("Py_"),
            ExprKind::Unary { .. } => true,
            ExprKind::Cast { operand, .. } => self.is_never_null(*operand),
            _ => false,
        }
    }

    /// Takes the statement `call;` out, and an `if` that was made for it alone.
    fn remove(&mut self, call: ExprId, name: &str) -> Result<(), Reason> {
        let no_place = || Reason::NoPlace(name.to_owned());
        let Some(Parent::Stmt(mut stmt)) = self.scene.parent_of_expr(call) else {
            return Err(no_place());
        };
        if !matches!(self.scene.tree.stmt(stmt).kind, StmtKind::Expr(_)) {
            return Err(no_place());
        }
        while let Some(outer) = self.only_body_of(stmt) {
            stmt = outer;
        }
        if self.around.contains_key(&stmt) && self.scene.siblings(stmt).is_none() {
            return Err(no_place());
        }
        let span = self.scene.stmt_span(stmt).ok_or_else(no_place)?;
        let edit = self.scene.layout.remove(span);
        self.fix.edits.push(edit);
        Ok(())
    }

    /// The `if` without effects that only guards `stmt`, or the block around `stmt` alone.
    fn only_body_of(&self, stmt: StmtId) -> Option<StmtId> {
        let Some(Parent::Stmt(outer)) = self.scene.parent_of_stmt(stmt) else {
            return None;
        };
        match &self.scene.tree.stmt(outer).kind {
            StmtKind::If {
                cond,
                then,
                otherwise: None,
            } => (*then == stmt && self.is_plain_test(*cond)).then_some(outer),
            StmtKind::Block(stmts) if stmts.len() == 1 => {
                // Only if that block is the body of such an `if`.
                self.only_body_of(outer).map(|_| outer)
            }
            _ => None,
        }
    }

    fn is_plain_test(&self, cond: ExprId) -> bool {
        match self.scene.tree.expr(cond).kind {
            ExprKind::Name(_) => true,
            ExprKind::Binary { lhs, rhs, .. } => {
                self.scene.as_local(lhs).is_some() && self.scene.is_null(rhs)
                    || self.scene.as_local(rhs).is_some() && self.scene.is_null(lhs)
            }
            _ => false,
        }
    }

    /// `Py_NewRef(v)` turns into `v`.
    fn unwrap(&mut self, call: ExprId, name: &str) -> Result<(), Reason> {
        let no_place = || Reason::NoPlace(name.to_owned());
        let (_, args) = self.scene.call(call).ok_or_else(no_place)?;
        let [arg] = args else { return Err(no_place()) };
        let whole = self.scene.span(call).ok_or_else(no_place)?;
        let kept = self.scene.span(*arg).ok_or_else(no_place)?;
        self.replace(ByteSpan::new(whole.start().0, kept.start().0), "");
        self.replace(ByteSpan::new(kept.end().0, whole.end().0), "");
        Ok(())
    }
}
