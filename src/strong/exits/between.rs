//! What the function does between a call and an exit further on that is taken over for it: nothing
//! of that may matter there.
//!
//! ```c
//! int err = 0, busy = 0;
//! item = PyList_GetItemRef(list, i);            /* an exit here must not go to `end` */
//! grab(self);
//! err = PyList_Append(out, item);
//! if (err < 0)
//!     goto end;
//! …
//! end:
//!     let_go(self);
//!     return err < 0 ? NULL : out;
//! ```

use super::beside::only_asks;
use super::branch::{Branch, is_same, value_before};
use super::error_value::ErrorValue;
use super::held::frees;
use super::state::{ERROR, OTHER, UNSET};
use super::steady::{Way, acts, set_by, start};
use super::{Exits, label_of, stmts};
use crate::ast::{ExprId, ExprKind, LocalId, StmtId, StmtKind, UnaryOp};
use crate::cfg::{Instr, InstrKind, Point, Source, reaches};
use crate::strong::scene::{Parent, Scene};
use crate::strong::types::is_number;

/// Where the function takes an exit behind the call, and where the code starts that is taken over.
struct FurtherOn<'s, 'a> {
    way: Way<'s, 'a>,
    start: Point,
    /// The `if` that asks for the failure.
    test: Option<StmtId>,
}

impl<'s, 'a> Exits<'s, 'a> {
    /// Whether what the function does between the call and the exit `branch`, or the next one that
    /// goes to the same label, is nothing to what is taken over.
    pub(super) fn is_apart_from(&self, branch: &Branch) -> bool {
        self.further_on(branch).is_none_or(|further| {
            let sets = |it: &Instr| self.sets_what_is_read(it, further.start);
            let is_first = |it: &Instr| self.gets_first(it, further.start);
            // If nothing happens on one of the ways, what happens on the others does not matter.
            let is_idle = || {
                !further.way.passes(is_first) && further.way.is_free_of(|it| sets(it) || acts(it))
            };
            let matters = further.way.passes(sets) || further.way.passes(|it| begins(&further, it));
            !matters || is_idle()
        })
    }

    fn further_on(&self, branch: &Branch) -> Option<FurtherOn<'s, 'a>> {
        let scene = self.scene;
        let further = |to: Option<Point>, test| {
            let way = Way::from(self, to?)?;
            way.leads().then_some(FurtherOn {
                way,
                start: start(scene, branch)?,
                test,
            })
        };
        let here = scene.written(self.call)?.start();
        let at = |stmt| scene.stmt_span(stmt).map(|span| span.start());
        if at(branch.jump) > Some(here) {
            return further(scene.cfg.before(branch.then), Some(branch.test));
        }
        let label = self.label(branch)?;
        let goes_there = |&stmt: &StmtId| match &scene.tree.stmt(stmt).kind {
            StmtKind::Goto(name) => label_of(scene, name) == Some(label),
            _ => false,
        };
        let mut gotos: Vec<StmtId> = stmts(scene)
            .filter(|stmt| goes_there(stmt) && at(*stmt) > Some(here))
            .collect();
        gotos.sort_by_key(|&stmt| at(stmt));
        gotos
            .into_iter()
            .find_map(|goto| further(scene.cfg.before(goto), test_around(scene, goto)))
    }

    /// Whether a step sets a variable or a field that is read from `start` on. What has to be
    /// released is followed elsewhere; an error that is noted already is one there, too.
    fn sets_what_is_read(&self, instr: &Instr, start: Point) -> bool {
        let scene = self.scene;
        let is_followed = |local: LocalId| {
            let contents = self.state.of(local);
            match is_number(&scene.tree.local(local).ty) {
                true => contents == ERROR || self.is_error(local) && self.error != ErrorValue::Null,
                false => contents & OTHER == 0 || scene.tree.local(local).ty.pointee().is_none(),
            }
        };
        let matters = |local: LocalId| {
            Some(local) != self.local && !is_followed(local) && scene.liveness.is_live(local, start)
        };
        set_by(instr).any(matters) || sets_field(scene, instr, start)
    }

    /// Whether a step may give a variable that is read from `start` on its first value.
    fn gets_first(&self, instr: &Instr, start: Point) -> bool {
        let mut locals = set_by(instr);
        locals.any(|local| {
            Some(local) != self.local
                && self.state.of(local) & UNSET != 0
                && self.scene.liveness.is_live(local, start)
        })
    }
}

/// The `if` in which `stmt` stands, but for blocks.
fn test_around(scene: &Scene<'_>, stmt: StmtId) -> Option<StmtId> {
    let Some(Parent::Stmt(outer)) = scene.parent_of_stmt(stmt) else {
        return None;
    };
    match scene.tree.stmt(outer).kind {
        StmtKind::Block(_) => test_around(scene, outer),
        StmtKind::If { .. } => Some(outer),
        _ => None,
    }
}

/// Whether a step stores to a place outside of the function's variables that is read from `start`
/// on: `self->rc = -1; … return self->rc;`.
fn sets_field(scene: &Scene<'_>, instr: &Instr, start: Point) -> bool {
    let (InstrKind::Store { place, .. }, Source::Expr(source)) = (&instr.kind, instr.source) else {
        return false;
    };
    let set = scene.tree.changed(source);
    // What arrays of the function hold is followed.
    let is_own = |set| {
        let root = root(scene, set).and_then(|root| scene.as_local(root));
        matches!(scene.tree.expr(set).kind, ExprKind::Index { .. })
            && root.is_some_and(|local| !scene.tree.local(local).is_param)
    };
    let Some(set) = set.filter(|&set| place.as_local().is_none() && !is_own(set)) else {
        return false;
    };
    let is_it = |expr: ExprId| match (&scene.tree.expr(set).kind, &scene.tree.expr(expr).kind) {
        (ExprKind::Member { field, .. }, ExprKind::Member { field: other, .. }) => field == other,
        _ => is_same(scene, set, expr),
    };
    let is_target = |expr: ExprId| match scene.parent_of_expr(expr) {
        Some(Parent::Expr(outer)) => matches!(scene.tree.expr(outer).kind,
            ExprKind::Assign { op: None, lhs, .. } if lhs == expr),
        _ => false,
    };
    let mut exprs = scene.tree.expr_ids();
    exprs.any(|expr| is_it(expr) && !is_target(expr) && is_behind(scene, expr, start))
}

fn is_behind(scene: &Scene<'_>, expr: ExprId, start: Point) -> bool {
    let at = scene.stmt_of(expr).and_then(|stmt| scene.cfg.before(stmt));
    at.is_some_and(|at| reaches(scene.cfg, start, at, &[]))
}

/// Whether a step is a call that may begin what a call of the exit ends: both get the same. What the
/// exit asks for has failed where it is taken.
fn begins(further: &FurtherOn<'_, '_>, instr: &Instr) -> bool {
    let scene = further.way.scene;
    let (InstrKind::Call { .. }, Source::Expr(call)) = (&instr.kind, instr.source) else {
        return false;
    };
    let Some((name, args)) = scene.call(call) else {
        return false;
    };
    let is_plain = !acts(instr) || counts(name) || name.starts_with("PyErr_");
    if is_plain
        || further
            .test
            .is_some_and(|test| is_asked_for(scene, test, call))
    {
        return false;
    }
    let mut calls = scene.tree.calls();
    calls.any(|(end, _)| {
        scene
            .call(end)
            .is_some_and(|(end, with)| may_end(scene, end, with) && share(scene, args, with))
            && is_behind(scene, end, further.start)
    })
}

/// Whether the condition of `test` is about the result of `call`.
fn is_asked_for(scene: &Scene<'_>, test: StmtId, call: ExprId) -> bool {
    let StmtKind::If { cond, .. } = scene.tree.stmt(test).kind else {
        return false;
    };
    let is_in = |whole: ExprId| {
        let whole = scene.tree.expr(whole).range;
        whole.contains(scene.tree.expr(call).range)
    };
    let mut parts = scene.tree.exprs_in(scene.tree.expr(cond).range);
    is_in(cond) || parts.any(|(part, _)| value_before(scene, test, part).is_some_and(is_in))
}

/// Whether a call may end what another one began. References and memory are followed elsewhere.
fn may_end(scene: &Scene<'_>, name: &str, args: &[ExprId]) -> bool {
    let is_own = |&arg: &ExprId| {
        let local = root(scene, arg).and_then(|root| scene.as_local(root));
        local.is_some_and(|local| !scene.tree.local(local).is_param)
    };
    let is_followed = counts(name) || frees(name) && args.iter().all(is_own) && !args.is_empty();
    !is_followed && !only_asks(name) && !name.starts_with("PyErr_")
}

fn counts(name: &str) -> bool {
    matches!(
        name,
        "Py_INCREF"
            | "Py_XINCREF"
            | "Py_NewRef"
            | "Py_XNewRef"
            | "Py_DECREF"
            | "Py_XDECREF"
            | "Py_CLEAR"
    )
}

/// Whether two calls get something of the same variable, or both get nothing.
fn share(scene: &Scene<'_>, one: &[ExprId], other: &[ExprId]) -> bool {
    let roots = |args: &[ExprId]| -> Vec<ExprId> {
        let roots = args.iter().filter_map(|&arg| root(scene, arg));
        roots.filter(|&root| !scene.is_null(root)).collect()
    };
    let (roots_of_one, roots_of_other) = (roots(one), roots(other));
    let mut pairs = roots_of_one
        .iter()
        .flat_map(|&one| roots_of_other.iter().map(move |&other| (one, other)));
    one.is_empty() && other.is_empty() || pairs.any(|(one, other)| is_same(scene, one, other))
}

/// The name that a place is reached by: `self` of `&self->lock`.
fn root(scene: &Scene<'_>, place: ExprId) -> Option<ExprId> {
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
