//! What a new exit returns tells the callers of a failure.

use super::flags::Numbers;
use super::ways::{Exit, raises};
use super::{Changed, View};
use crate::ast::{ExprId, ExprKind, StmtId, StmtKind, Tree};
use crate::capi::{self, Returns};
use crate::cfg::{Point, reaches};
use crate::program::mistaken as takes_for_success;

/// What has to hold for what the new exit `jump` returns to be an error.
pub(super) fn mistaken(changed: Changed<'_>, jump: StmtId) -> Option<String> {
    let function = changed.function;
    let (tree, name) = (&function.tree, &function.name);
    let StmtKind::Return(Some(value)) = tree.stmt(jump).kind else {
        return None;
    };
    if function.ret.is_py_object_pointer() && !may_be_null(tree, value) {
        return Some(format!(
            "`{name}` may return an object with an exception set"
        ));
    }
    let is_number = function.ret.is_number();
    let null = || tree.is_null(value).then_some(0);
    let error = if is_number {
        tree.as_number(value)
    } else {
        null()
    }?;
    let original = changed.original;
    let site = takes_for_success(
        original.program,
        original.calls(),
        (function, changed.item.unit),
        error,
    )?;
    let caller = original.program.items[site.item.0 as usize].function()?;
    let told = if is_number {
        error.to_string()
    } else {
        "`NULL`".to_owned()
    };
    Some(format!(
        "`{}` takes the {told} that `{name}` returns there for a failure",
        caller.name
    ))
}

impl View<'_> {
    /// What has to hold for the exception to reach the caller where `exit` jumps somewhere else.
    ///
    /// ```c
    /// if (PyDict_GetItemRef(d, k, &v) < 0)
    ///     goto end;
    /// …
    /// end: Py_DECREF(t); return PyLong_FromLong(n);
    /// ```
    pub(super) fn hidden(&self, exit: &Exit) -> Option<String> {
        let tree = self.tree;
        let name = &self.changed.function.name;
        if matches!(tree.stmt(exit.jump).kind, StmtKind::Return(_)) || self.drops_error(exit) {
            return None;
        }
        if reaches(self.cfg, exit.start, exit.from, &[]) {
            return Some(format!("`{name}` may go on with an exception set"));
        }
        let numbers = self.numbers_at(exit);
        let mut ends = self.ends_of(exit, &numbers).into_iter().peekable();
        let is_object = self.changed.function.ret.is_py_object_pointer();
        let succeeds = is_object
            && ends.peek().is_some()
            && ends.all(|(value, end)| {
                let shown = self.old.iter().any(|old| self.raises(old, exit, end));
                self.is_made(value, &numbers) && !shown
            });
        succeeds.then(|| format!("`{name}` may return an object with an exception set"))
    }

    /// Whether an exit that the function had comes to `end` with an exception that is seen: it
    /// raises it, or asks for the result of a call that does.
    fn raises(&self, old: &Exit, exit: &Exit, end: Point) -> bool {
        let tree = self.tree;
        let tested = old.tested(tree);
        let asked = exit.tested(tree);
        let gives_new = |value: ExprId| {
            let effects = tree
                .called(tree.without_casts(value))
                .and_then(capi::effects);
            effects.is_some_and(|it| it.returns == Returns::New)
        };
        let mut stores = tree.stores();
        let StmtKind::If { cond, .. } = tree.stmt(old.test).kind else {
            return false;
        };
        let mut inner = tree.exprs_in(tree.expr(cond).range);
        let asks = inner.any(|(part, _)| tree.called(part) == Some("PyErr_Occurred"));
        let is_shown = asks
            || raises(tree, old.then)
            || stores.any(|(local, value)| {
                tested.contains(&local) && !asked.contains(&local) && gives_new(value)
            });
        is_shown && reaches(self.cfg, old.start, end, &[])
    }

    /// Whether a value is an object, and not `NULL`, as long as memory lasts: `Py_None`,
    /// `PyLong_FromLong(n)`, `v ? v : Py_None`.
    fn is_made(&self, value: ExprId, numbers: &Numbers) -> bool {
        let tree = self.tree;
        let value = tree.without_casts(value);
        match tree.expr(value).kind {
            ExprKind::Call { .. } => {
                let effects = tree.called(value).and_then(capi::effects);
                effects.is_none_or(|it| it.returns != Returns::Null)
            }
            ExprKind::Conditional {
                cond,
                then,
                otherwise,
            } => {
                let is_cond = |then| {
                    tree.as_local(then)
                        .is_some_and(|it| tree.as_local(cond) == Some(it))
                };
                let then = || then.is_none_or(|it| is_cond(it) || self.is_made(it, numbers));
                match self.holds(cond, numbers) {
                    Some(true) => then(),
                    Some(false) => self.is_made(otherwise, numbers),
                    None => then() && self.is_made(otherwise, numbers),
                }
            }
            _ => !tree.is_null(value) && tree.as_local(value).is_none(),
        }
    }
}

/// Whether a value is `NULL`, or what a call gives.
fn may_be_null(tree: &Tree, value: ExprId) -> bool {
    let value = tree.without_casts(value);
    tree.is_null(value)
        || match tree.expr(value).kind {
            ExprKind::Call { .. } => tree.called(value) != Some("Py_NewRef"),
            _ => tree.as_local(value).is_some(),
        }
}
