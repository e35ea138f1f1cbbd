//! Lookups that a conditional expression may choose.
//!
//! ```c
//! item = n > 0 ? PyList_GetItem(l, 0) : Py_None;
//! item = n > 0 ? PyList_GetItemRef(l, 0) : Py_NewRef(Py_None);
//!
//! item = PyList_Check(s) ? PyList_GET_ITEM(s, i) : PyTuple_GET_ITEM(s, i);
//! item = PyList_Check(s) ? PyList_GetItemRef(s, i) : Py_NewRef(PyTuple_GET_ITEM(s, i));
//! ```

use super::hold::{Carrier, Hold, Kind, State};
use super::{Decisions, Follower};
use crate::ast::{ExprId, ExprKind, Name, Parent};
use crate::capi;
use crate::cfg::{Instr, Source, TempId};
use crate::strong::plan::takes_result;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;

/// The conditional expression that has the result of `call` as one of its two values, with casts
/// around it; `None` if the other value is neither `NULL` nor the name of an object or the item of a
/// tuple.
pub(in crate::strong) fn choice(scene: &Scene<'_>, call: ExprId) -> Option<ExprId> {
    other(scene, call)?;
    let outer = outermost(scene, call);
    match scene.parent_of_expr(outer) {
        Some(Parent::Expr(choice)) => Some(outermost(scene, choice)),
        _ => None,
    }
}

/// The other value.
pub(in crate::strong) fn other(scene: &Scene<'_>, call: ExprId) -> Option<ExprId> {
    let value = outermost(scene, call);
    let Some(Parent::Expr(choice)) = scene.parent_of_expr(value) else {
        return None;
    };
    let ExprKind::Conditional {
        then: Some(then),
        otherwise,
        ..
    } = scene.tree.expr(choice).kind
    else {
        return None;
    };
    let other = match value {
        _ if value == then => otherwise,
        _ if value == otherwise => then,
        _ => return None,
    };
    let has_same_type = value == call && is_object(scene, other);
    (has_same_type || scene.is_null(other)).then_some(other)
}

/// Whether `value` is a `PyObject *` that is borrowed: a reference taken to another type would need
/// a cast.
fn is_object(scene: &Scene<'_>, value: ExprId) -> bool {
    match &scene.tree.expr(value).kind {
        ExprKind::Name(Name::Local(local)) => takes_result(scene, *local),
        ExprKind::Name(Name::Global(name)) => capi::is_singleton(name),
        ExprKind::Call { .. } => {
            let called = scene.call(value);
            matches!(called, Some(("PyTuple_GET_ITEM" | "PyTuple_GetItem", _)))
        }
        _ => false,
    }
}

/// `value` with the casts around it.
fn outermost(scene: &Scene<'_>, mut value: ExprId) -> ExprId {
    while let Some(Parent::Expr(outer)) = scene.parent_of_expr(value)
        && matches!(scene.tree.expr(outer).kind, ExprKind::Cast { .. })
    {
        value = outer;
    }
    value
}

impl Follower<'_, '_> {
    /// The value that is chosen in place of a lookup, if the step does that.
    pub(in crate::strong) fn other_arm(&self, instr: &Instr) -> Option<ExprId> {
        match instr.source {
            Source::Expr(arm) => self.others.get(&arm).copied(),
            Source::Stmt(_) => None,
        }
    }

    /// The value becomes a reference of its own.
    pub(in crate::strong) fn choose_other(
        &self,
        dst: TempId,
        instr: &Instr,
        state: &mut State,
        sink: &mut Decisions,
    ) {
        let Some(arm) = self.other_arm(instr) else {
            return;
        };
        if state.is_held() {
            return state.fail(Reason::TwoAtOnce(self.name.to_owned()));
        }
        state.clear();
        state.hold = if self.scene.is_null(arm) {
            Hold::Null
        } else {
            sink.owned.insert(arm);
            let null = !self.scene.is_never_null(arm);
            Hold::Held { count: 0, null }
        };
        state.carriers.insert(Carrier::Temp(dst), Kind::Same);
    }
}
