//! What a new exit returns tells the callers of a failure.

use super::values::{End, Value};
use super::ways::{Exit, raises};
use super::{Changed, View};
use crate::ast::{ExprId, ExprKind, Stmt, StmtId, StmtKind, Tree};
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
    taken_for_success(changed, error)
}

/// What has to hold for a number, or `NULL`, that the function returns to be an error.
fn taken_for_success(changed: Changed<'_>, error: i64) -> Option<String> {
    let function = changed.function;
    let name = &function.name;
    let original = changed.original;
    let site = takes_for_success(
        original.program,
        original.calls(),
        (function, changed.item.unit),
        error,
    )?;
    let caller = original.program.items[site.item.0 as usize].function()?;
    let told = if function.ret.is_number() {
        error.to_string()
    } else {
        "`NULL`".to_owned()
    };
    Some(format!(
        "`{}` treats the {told} that `{name}` returns there as a failure",
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
            return Some(format!("`{name}` may continue with an exception set"));
        }
        let ends = self.ends_of(exit);
        let is_shown = |end: &End| self.old.iter().any(|old| self.raises(old, exit, end.at));
        if self.changed.function.ret.is_number() {
            let mut ends = ends.iter().filter(|end| !is_shown(end));
            return ends.find_map(|end| match end.value {
                Some(Value::Number(number)) => {
                    taken_for_success(self.changed, number).or_else(|| self.taken_for_none(number))
                }
                _ => None,
            });
        }
        let is_object = |end: &End| matches!(end.value, Some(Value::Made | Value::NotZero));
        let succeeds = self.changed.function.ret.is_py_object_pointer()
            && !ends.is_empty()
            && ends.iter().all(|end| is_object(end) && !is_shown(end));
        succeeds.then(|| match ends.iter().any(|end| end.is_raised) {
            true => format!("`{name}` may return an object with an exception set"),
            false => format!("`{name}` does not have to report a failed lookup to its caller"),
        })
    }

    /// Whether an exit leaves nothing of the exception for the callers.
    pub(super) fn drops_error(&self, exit: &Exit) -> bool {
        let within = self.tree.stmt(exit.then).range;
        let mut calls = self.tree.calls();
        calls.any(|(call, name)| {
            within.contains(self.tree.expr(call).range)
                && matches!(name, "PyErr_WriteUnraisable" | "PyErr_Clear")
        })
    }

    /// What has to hold for a number to be an error in a function that returns no other constant.
    fn taken_for_none(&self, number: i64) -> Option<String> {
        let tree = self.tree;
        let is_other = |stmt: &Stmt| match stmt.kind {
            StmtKind::Return(Some(value)) => tree.as_number(value).is_some_and(|it| it != number),
            _ => false,
        };
        let is_known = number < 0 || tree.stmts.iter().any(is_other);
        let name = &self.changed.function.name;
        (!is_known).then(|| format!("a return value of {number} from `{name}` means failure"))
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
