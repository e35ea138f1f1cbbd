//! Counting that goes or comes with a new reference.

use std::collections::BTreeSet;

use super::emit::Draft;
use super::plan::Planned;
use super::reason::Reason;
use crate::ast::{ExprId, ExprKind, StmtKind};
use crate::source::ByteSpan;

impl Draft<'_, '_> {
    /// Takes out the counting that the new reference makes needless, and adds what it needs.
    pub(super) fn counting(&mut self, planned: &Planned) -> Result<(), Reason> {
        let (mut removed, mut owned) = (
            planned.decisions.removed.clone(),
            planned.decisions.owned.clone(),
        );
        for &value in &planned.decisions.owned {
            if let Some(count) = self.counted_next(value, &planned.decisions.removed) {
                removed.remove(&count);
                owned.remove(&value);
            }
        }
        removed.extend(planned.decisions.taken.keys());
        self.remove(&removed, &planned.home.name)?;
        for &call in &planned.decisions.unwrapped {
            self.unwrap(call, &planned.home.name)?;
        }
        for value in owned {
            let no_place = || Reason::NoPlace(planned.home.name.clone());
            let span = self.scene.span(value).ok_or_else(no_place)?;
            let function = if self.scene.is_never_null(value) {
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

    /// The one of `counts` that follows the assignment of `value` at once, and so may stay.
    ///
    /// ```c
    /// v = PyTuple_GET_ITEM(pair, 0);
    /// Py_INCREF(v);
    /// ```
    fn counted_next(&self, value: ExprId, counts: &BTreeSet<ExprId>) -> Option<ExprId> {
        let (scene, stmt) = (self.scene, self.scene.stmt_of(value)?);
        let StmtKind::Expr(assignment) = scene.tree.stmt(stmt).kind else {
            return None;
        };
        let ExprKind::Assign { op: None, lhs, rhs } = scene.tree.expr(assignment).kind else {
            return None;
        };
        let (stmts, at) = scene.siblings(stmt)?;
        let StmtKind::Expr(next) = scene.tree.stmt(*stmts.get(at + 1)?).kind else {
            return None;
        };
        let counted = scene
            .call(next)
            .and_then(|(_, args)| scene.as_local(*args.first()?));
        let same = rhs == value && counted == scene.as_local(lhs);
        (same && counted.is_some() && counts.contains(&next)).then_some(next)
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
