//! Assignments of a new object that release the one before it.
//!
//! ```c
//! v = PyDict_GetItem(d, k);             …
//! v = PyList_GetItem(v, i);             PyObject *item = PyList_GetItemRef(v, i);
//!                                       Py_DECREF(v);
//!                                       v = item;
//! ```

use super::Draft;
use super::calls;
use super::names::stem;
use crate::ast::{ExprId, ExprKind, LocalId, Parent, StmtId, StmtKind};
use crate::source::{ByteOffset, ByteSpan};
use crate::strong::follow::hold::{Carrier, Hold, Kind, State};
use crate::strong::follow::{Decisions, Follower};
use crate::strong::plan::{Lookup, Planned};
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::shape::Shape;

impl Follower<'_, '_> {
    /// Notes that `home = value;` releases what the variable held; whether it can.
    pub(in crate::strong) fn replace(
        &self,
        value: ExprId,
        state: &State,
        sink: &mut Decisions,
    ) -> bool {
        let (Some(home), Hold::Held { count: 0, null }) = (self.home, &state.hold) else {
            return false;
        };
        let Some(stmt) = assignment(self.scene, home, value) else {
            return false;
        };
        let Some(after) = self.scene.cfg.after(stmt) else {
            return false;
        };
        let same = state.kind(Carrier::Local(home)) == Some(Kind::Same);
        let others = self.is_needed_beside(home, state, after);
        if !same || others || state.detached || self.weak.is_some() {
            return false;
        }
        sink.replaced.insert(stmt, *null);
        true
    }
}

/// The statement `local = value;`, where `value` is a call.
fn assignment(scene: &Scene<'_>, local: LocalId, value: ExprId) -> Option<StmtId> {
    scene.call(value)?;
    let Some(Parent::Expr(assignment)) = scene.parent_of_expr(value) else {
        return None;
    };
    let ExprKind::Assign { op: None, lhs, .. } = scene.tree.expr(assignment).kind else {
        return None;
    };
    let Some(Parent::Stmt(stmt)) = scene.parent_of_expr(assignment) else {
        return None;
    };
    let is_statement = matches!(scene.tree.stmt(stmt).kind, StmtKind::Expr(_));
    let is_whole = is_statement && scene.as_local(lhs) == Some(local);
    (is_whole && scene.stmt_span(stmt).is_some()).then_some(stmt)
}

impl Draft<'_, '_> {
    /// Rewrites `v = call(…);` for a `lookup` that makes the call; whether it is such a statement.
    ///
    /// # Errors
    /// Its new form cannot be written where it stands.
    pub(in crate::strong) fn replaced_by_lookup(
        &mut self,
        name: &str,
        lookup: &Lookup,
    ) -> Result<bool, Reason> {
        let Shape::Assigned(stmt, _) = lookup.shape else {
            return Ok(false);
        };
        let Some(null) = self.replaced.remove(&stmt) else {
            return Ok(false);
        };
        let release = release_of(name, null);
        let at_exit = self.at_exit.entry(lookup.call).or_default();
        at_exit.push(release.clone());
        let fresh = self.unused_name(&[stem(lookup.replacement)]);
        let moved = Lookup {
            shape: Shape::Nested(stmt),
            ..lookup.clone()
        };
        calls::rewrite(self, &fresh, &moved, false)?;
        self.before(stmt, [release]);
        Ok(true)
    }

    /// Rewrites the assignments of `planned` that are no lookups.
    ///
    /// # Errors
    /// A new variable cannot be declared there.
    pub(in crate::strong) fn replaced_by_others(
        &mut self,
        planned: &Planned,
    ) -> Result<(), Reason> {
        for (&stmt, &null) in &planned.decisions.replaced {
            if self.replaced.remove(&stmt).is_none() {
                continue;
            }
            let made = || Reason::InMacro("around it".to_owned());
            let StmtKind::Expr(assignment) = self.scene.tree.stmt(stmt).kind else {
                return Err(made());
            };
            let ExprKind::Assign { rhs, .. } = self.scene.tree.expr(assignment).kind else {
                return Err(made());
            };
            let value = self.scene.span(rhs).ok_or_else(made)?;
            let fresh = self.unused_name(&["next"]);
            let head = self.declare(stmt, "PyObject *", &fresh);
            let call = self.aligned(stmt, value, head.len() + 1);
            let release = release_of(&planned.home.name, null);
            self.before(stmt, [format!("{head} {call};"), release]);
            self.name_result(value, &fresh);
        }
        Ok(())
    }

    /// The text of a call for `stmt`'s line, behind `head` columns: lines that are aligned to its
    /// parenthesis move along.
    pub(in crate::strong) fn aligned(&self, stmt: StmtId, call: ByteSpan, head: usize) -> String {
        let (text, layout) = (self.text(call), &self.scene.layout);
        let callee = text.find('(').and_then(|at| text.get(..at));
        let callee = callee.filter(|callee| self.scene.text(call).starts_with(callee));
        let (Some(callee), Some(stmt)) = (callee, self.scene.stmt_span(stmt)) else {
            return text;
        };
        let length = u32::try_from(callee.len()).expect("files are shorter than 4 GiB");
        let paren = ByteOffset(call.start().0 + length);
        let column = layout.indented_columns(stmt.start()) + head + callee.len();
        let args = layout.moved_to(column, paren, &text[callee.len()..]);
        format!("{callee}{args}")
    }
}

fn release_of(name: &str, null: bool) -> String {
    let release = if null { "Py_XDECREF" } else { "Py_DECREF" };
    format!("{release}({name});")
}
