//! What an exit that is taken over reads: it is right for the call only if that is the same there.
//!
//! ```c
//! fail:
//!     note_where(what);                         /* a variable */
//!     return self->err ? NULL : out;            /* a field, which helpers may set */
//! ```

use super::Exits;
use super::begun::{counts, shares};
use super::branch::is_same;
use super::error_value::ErrorValue;
use super::held::frees;
use super::may_set::may_set;
use super::state::{ERROR, NULL, OTHER, UNSET};
use super::steady::{acts, set_by};
use super::undone::is_variable;
use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Name, Parent, StmtKind, UnaryOp};
use crate::capi;
use crate::cfg::{Instr, InstrKind, Point, Source, reaches};
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// What is read from `start` on, where an exit is taken over.
pub(super) struct Reads<'e, 's, 'a> {
    pub(super) exits: &'e Exits<'s, 'a>,
    pub(super) start: Point,
}

impl Reads<'_, '_, '_> {
    /// Whether a step sets a variable or a field that is read.
    pub(super) fn is_set_by(&self, instr: &Instr) -> bool {
        set_by(instr).any(|local| self.is_local_read(local))
            || self.is_place_set(instr)
            || self.is_set_by_call(instr)
    }

    /// Whether a step may give a variable that is read its first value.
    pub(super) fn is_first_set_by(&self, instr: &Instr) -> bool {
        let mut locals = set_by(instr).filter(|&local| self.is_local_read(local));
        locals.any(|local| self.exits.state.of(local) & UNSET != 0)
    }

    /// Whether a variable or a field is read.
    pub(super) fn is_read(&self, place: ExprId) -> bool {
        let scene = self.exits.scene;
        match scene.as_local(place) {
            Some(local) => self.is_local_read(local),
            None => is_place(scene, place) && self.is_place_read(place),
        }
    }

    /// Whether what a variable holds matters. What has to be released is followed elsewhere; an
    /// error that is noted already is one there, too.
    fn is_local_read(&self, local: LocalId) -> bool {
        let exits = self.exits;
        let scene = exits.scene;
        Some(local) != exits.local
            && scene.liveness.is_live(local, self.start)
            && !self.is_followed(local)
    }

    fn is_followed(&self, local: LocalId) -> bool {
        let exits = self.exits;
        let scene = exits.scene;
        let contents = exits.state.of(local);
        let ty = &scene.tree.local(local).ty;
        if is_number(ty) {
            let is_error =
                contents == ERROR || exits.is_error(local) && exits.error != ErrorValue::Null;
            return is_error && !self.is_used(local);
        }
        match ty.pointee() {
            Some(_) if contents & OTHER != 0 => false,
            Some(_) => contents & (NULL | UNSET) == 0 || !self.is_used(local),
            None => true,
        }
    }

    /// Whether something else is done with the value of `local` than to compare, release or return
    /// it, without a test of it.
    fn is_used(&self, local: LocalId) -> bool {
        let scene = self.exits.scene;
        let mut names = scene
            .tree
            .expr_ids()
            .filter(|&expr| scene.as_local(expr) == Some(local));
        names.any(|name| {
            self.is_behind(name)
                && !is_harmless_use(scene, name)
                && !is_asked_before(scene, name, local)
        })
    }

    /// Whether a step stores to a place outside of the function's variables that is read:
    /// `self->rc = -1; … return self->rc;`.
    fn is_place_set(&self, instr: &Instr) -> bool {
        let scene = self.exits.scene;
        let (InstrKind::Store { place, .. }, Source::Expr(source)) = (&instr.kind, instr.source)
        else {
            return false;
        };
        // What arrays of the function hold is followed.
        let is_own = |set| {
            let root = root(scene, set).and_then(|root| scene.as_local(root));
            matches!(scene.tree.expr(set).kind, ExprKind::Index { .. })
                && root.is_some_and(|local| !scene.tree.local(local).is_param)
        };
        let set = scene.tree.changed(source);
        let set = set.filter(|&set| place.as_local().is_none() && !is_own(set));
        set.is_some_and(|set| self.is_place_read(set))
    }

    fn is_place_read(&self, place: ExprId) -> bool {
        let scene = self.exits.scene;
        let is_it = |expr: ExprId| {
            let kinds = (&scene.tree.expr(place).kind, &scene.tree.expr(expr).kind);
            match kinds {
                (ExprKind::Member { field, .. }, ExprKind::Member { field: other, .. }) => {
                    field == other
                }
                _ => is_same(scene, place, expr),
            }
        };
        let is_target = |expr: ExprId| match scene.parent_of_expr(expr) {
            Some(Parent::Expr(outer)) => matches!(scene.tree.expr(outer).kind,
                ExprKind::Assign { op: None, lhs, .. } if lhs == expr),
            _ => false,
        };
        let mut exprs = scene.tree.expr_ids();
        exprs.any(|expr| is_it(expr) && !is_target(expr) && self.is_behind(expr))
    }

    /// Whether a step is a call that may set a field which decides there how the function ends.
    fn is_set_by_call(&self, instr: &Instr) -> bool {
        match (&instr.kind, instr.source) {
            (InstrKind::Call { .. }, Source::Expr(call)) => {
                acts(instr) && sets_what_decides(self.exits.scene, call, self.start)
            }
            _ => false,
        }
    }

    fn is_behind(&self, expr: ExprId) -> bool {
        is_behind(self.exits.scene, expr, self.start)
    }
}

/// Whether a call may set a field, or a variable of the package, which decides from `start` on how the
/// function ends: `if (check(self, item) < 0) goto end; … end: return self->err ? NULL : out;`.
pub(super) fn sets_what_decides(scene: &Scene<'_>, call: ExprId, start: Point) -> bool {
    let ExprKind::Call { ref args, .. } = scene.tree.expr(call).kind else {
        return false;
    };
    let name = scene.call(call).map(|(name, _)| name);
    let is_plain = name.is_some_and(|name| {
        let of_python = name.trim_start_matches('_').starts_with("Py");
        counts(name) || frees(name) || of_python && capi::effects(name).is_some()
    });
    let is_given = |place: ExprId| {
        let local = root(scene, place).and_then(|root| scene.as_local(root));
        local.is_none() || shares(scene, args, &[place])
    };
    let mut exprs = scene.tree.expr_ids();
    !is_plain
        && exprs.any(|place| {
            is_place(scene, place)
                && decides(scene, place)
                && is_behind(scene, place, start)
                && is_given(place)
                && name.is_none_or(|name| may_set(scene, name, place))
        })
}

pub(super) fn is_behind(scene: &Scene<'_>, expr: ExprId, start: Point) -> bool {
    let at = scene.stmt_of(expr).and_then(|stmt| scene.cfg.before(stmt));
    at.is_some_and(|at| reaches(scene.cfg, start, at, &[]))
}

/// What a condition compares, or asks for as it is: `v` and `self->err` of `v < 0 && !self->err`.
pub(super) fn compared(scene: &Scene<'_>, cond: ExprId) -> Vec<ExprId> {
    match scene.tree.expr(cond).kind {
        ExprKind::Binary { lhs, rhs, .. } => [compared(scene, lhs), compared(scene, rhs)].concat(),
        ExprKind::Assign { lhs, .. } => vec![lhs],
        ExprKind::Unary { op, operand } if op != UnaryOp::AddressOf => compared(scene, operand),
        ExprKind::Cast { operand, .. } => compared(scene, operand),
        ExprKind::Name(_) | ExprKind::Member { .. } => vec![cond],
        _ => Vec::new(),
    }
}

/// Whether an expression is a field, or a variable of the package.
fn is_place(scene: &Scene<'_>, expr: ExprId) -> bool {
    match scene.tree.expr(expr).kind {
        ExprKind::Member { .. } => true,
        ExprKind::Name(Name::Global(ref name)) => is_variable(name) && &**name != "errno",
        _ => false,
    }
}

/// Whether nothing is done with the value of `name` but to compare, release or return it.
fn is_harmless_use(scene: &Scene<'_>, name: ExprId) -> bool {
    let outer = match scene.parent_of_expr(name) {
        Some(Parent::Expr(outer)) => outer,
        Some(Parent::Stmt(_)) | None => return true,
    };
    match scene.tree.expr(outer).kind {
        ExprKind::Cast { .. } => is_harmless_use(scene, outer),
        ExprKind::Unary { op, .. } => match op {
            UnaryOp::Not => true,
            UnaryOp::AddressOf => is_harmless_use(scene, outer),
            _ => false,
        },
        ExprKind::Binary { op, .. } => {
            op.is_comparison() || matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr)
        }
        ExprKind::Assign { op: None, lhs, .. } => lhs == name,
        ExprKind::Conditional { cond, .. } => cond == name || is_harmless_use(scene, outer),
        ExprKind::Call { .. } => {
            let called = scene.call(outer).map(|(called, _)| called);
            called.is_some_and(|called| counts(called) || frees(called))
        }
        _ => false,
    }
}

/// Whether `name` is only read where a condition around it finds that `local` holds something.
fn is_asked_before(scene: &Scene<'_>, name: ExprId, local: LocalId) -> bool {
    let asks = |cond: ExprId| {
        let compared = compared(scene, cond);
        compared
            .into_iter()
            .any(|it| scene.as_local(it) == Some(local))
    };
    let within = |whole: ExprId| {
        let whole = scene.tree.expr(whole).range;
        whole.contains(scene.tree.expr(name).range)
    };
    let by_expr = scene
        .tree
        .expr_ids()
        .any(|expr| match scene.tree.expr(expr).kind {
            ExprKind::Conditional { cond, .. } => within(expr) && !within(cond) && asks(cond),
            ExprKind::Binary {
                op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
                lhs,
                rhs,
            } => within(rhs) && asks(lhs),
            _ => false,
        });
    let mut at = scene.stmt_of(name);
    let mut by_stmt = false;
    while let Some(stmt) = at {
        if let StmtKind::If { cond, .. } = scene.tree.stmt(stmt).kind {
            by_stmt |= !within(cond) && asks(cond);
        }
        at = match scene.parent_of_stmt(stmt) {
            Some(Parent::Stmt(outer)) => Some(outer),
            _ => None,
        };
    }
    by_expr || by_stmt
}

/// Whether the value of a place is looked at itself: not what it points at, nor by another function.
fn decides(scene: &Scene<'_>, place: ExprId) -> bool {
    match scene.parent_of_expr(place) {
        Some(Parent::Expr(outer)) => match scene.tree.expr(outer).kind {
            ExprKind::Cast { .. } => decides(scene, outer),
            ExprKind::Unary { op, .. } => !matches!(op, UnaryOp::AddressOf | UnaryOp::Deref),
            ExprKind::Assign { op: None, lhs, .. } => lhs != place,
            ExprKind::Call { .. } | ExprKind::Member { .. } | ExprKind::Index { .. } => false,
            _ => true,
        },
        Some(Parent::Stmt(stmt)) => !matches!(scene.tree.stmt(stmt).kind, StmtKind::Expr(_)),
        None => false,
    }
}

/// The name that a place is reached by: `self` of `&self->lock`.
pub(super) fn root(scene: &Scene<'_>, place: ExprId) -> Option<ExprId> {
    match scene.tree.expr(place).kind {
        ExprKind::Name(_) => Some(place),
        ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => root(scene, base),
        ExprKind::Cast { operand, .. }
        | ExprKind::Unary {
            op: UnaryOp::AddressOf | UnaryOp::Deref,
            operand,
        } => root(scene, operand),
        _ => None,
    }
}
