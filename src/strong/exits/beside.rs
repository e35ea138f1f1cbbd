//! The exits that the function takes right before or behind a call: they are right for the call,
//! too, if nothing happens in between.
//!
//! ```c
//! if (PySequence_Fast_GET_SIZE(pair) != 2) {
//!     PyErr_SetString(PyExc_ValueError, "no pair");
//!     goto fail;
//! }
//! first = PySequence_Fast_GET_ITEM(pair, 0);
//! if (add(sum, first) < 0)
//!     goto fail;
//! ```

use super::made_exit::results;
use super::{Exits, declared, label_of};
use crate::ast::{ExprId, ExprKind, LocalId, StmtId, StmtKind, TokenRange, UnaryOp};
use crate::capi::{self, Returns};
use crate::cfg::{Base, Callee, InstrKind};
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

impl Exits<'_, '_> {
    /// The exit that the function takes if the next thing it does fails: it is right if nothing
    /// was taken or given back in between.
    pub(in crate::strong) fn neighbour(&self) -> Option<Vec<String>> {
        let scene = self.scene;
        let stmt = scene.stmt_of(self.call)?;
        let (siblings, _) = scene.siblings(stmt)?;
        let tests = self.next_tests()?;
        let branch = tests
            .into_iter()
            .find_map(|test| self.branches.iter().find(|branch| branch.test == test))?;
        // What the block declares is not seen outside of it, but has to be released in it:
        // `x = f(PyList_GET_ITEM(fast, 0)); Py_DECREF(fast); if (x < 0) return -1;`
        let stays = match &scene.tree.stmt(branch.jump).kind {
            StmtKind::Goto(label) => label_of(scene, label)
                .is_none_or(|label| scene.parent_of_stmt(label) == scene.parent_of_stmt(stmt)),
            _ => false,
        };
        let mut apart = if stays {
            Vec::new()
        } else {
            let owned = self.state.owned();
            let is_owned = |local: &LocalId| owned.iter().any(|it| it.local == *local);
            let mut apart = declared(scene, siblings);
            apart.retain(|local| !is_owned(local));
            apart
        };
        apart.retain(|&local| {
            let mut releases = branch.releases.iter();
            !releases.any(|&stmt| mentions(scene, scene.tree.stmt(stmt).range, local))
        });
        apart.extend(self.unread_by(branch));
        // `if (begin(PyList_GET_ITEM(list, 0)) < 0) { … }`: what the failed call began is over.
        let is_around = branch.test == stmt && branch.evident;
        let same = self.is_same_at(branch, &apart)
            && (is_around || self.undoes(branch))
            && self.is_apart_from(branch);
        if same { self.text(branch) } else { None }
    }

    /// The statements that may ask whether the next thing that the function does fails.
    pub(in crate::strong) fn next_tests(&self) -> Option<Vec<StmtId>> {
        let scene = self.scene;
        let stmt = scene.stmt_of(self.call)?;
        let (siblings, at) = scene.siblings(stmt)?;
        let mut next = siblings[at..].iter().copied();
        let test =
            next.find(|&other| is_if(scene, other) || other != stmt && !only_looks(scene, other))?;
        // `r = f(item);` may be one statement before `if (r < 0)`.
        let second = next
            .next()
            .filter(|_| test != stmt && is_plain(scene, test));
        Some([test].into_iter().chain(second).collect())
    }

    /// The exit that the function takes in the statement before, after it raised an exception:
    /// nothing has changed since.
    pub(in crate::strong) fn previous(&self) -> Option<Vec<String>> {
        let scene = self.scene;
        let stmt = scene.stmt_of(self.call)?;
        let (siblings, at) = scene.siblings(stmt)?;
        let test = *siblings[..at].last()?;
        let StmtKind::If {
            cond,
            otherwise: None,
            ..
        } = scene.tree.stmt(test).kind
        else {
            return None;
        };
        let mut branches = self.branches.iter();
        let branch = branches.find(|branch| branch.test == test && branch.evident)?;
        let same = is_quiet(scene, cond)
            && self.is_first(stmt)
            && self.agrees_at(branch, &[])
            && self.finds_the_same(branch)
            && self.asks_who_owns(branch)
            && self.is_as_far(branch)
            && results(scene).all(|local| self.is_as_good(local, cond));
        if same { self.text(branch) } else { None }
    }

    /// Whether nothing that matters runs in `stmt` before the call.
    fn is_first(&self, stmt: StmtId) -> bool {
        let cfg = self.scene.cfg;
        let (Some(start), Some(call)) = (cfg.before(stmt), cfg.call(self.call)) else {
            return false;
        };
        start.block == call.block
            && cfg.block(call.block).instrs[start.index..call.index]
                .iter()
                .all(|instr| match &instr.kind {
                    InstrKind::Call {
                        callee: Callee::Named(name),
                        ..
                    } => only_asks(name),
                    InstrKind::Call { .. } | InstrKind::Store { .. } | InstrKind::Asm => false,
                    _ => true,
                })
    }

    /// Whether a variable that a label returns says the same of success here as where `cond` holds.
    fn is_as_good(&self, result: LocalId, cond: ExprId) -> bool {
        let is_tested = mentions(self.scene, self.scene.tree.expr(cond).range, result);
        !is_number(&self.scene.tree.local(result).ty) || !is_tested || self.is_error(result)
    }
}

fn mentions(scene: &Scene<'_>, within: TokenRange, local: LocalId) -> bool {
    let mut inner = scene.tree.exprs_in(within);
    inner.any(|(id, _)| scene.as_local(id) == Some(local))
}

/// Whether a condition changes nothing.
pub(super) fn is_quiet(scene: &Scene<'_>, cond: ExprId) -> bool {
    match &scene.tree.expr(cond).kind {
        ExprKind::Call { args, .. } => {
            scene.call(cond).is_some_and(|(name, _)| only_asks(name))
                && args.iter().all(|&arg| is_quiet(scene, arg))
        }
        ExprKind::Unary { op, operand } => {
            matches!(
                op,
                UnaryOp::Not | UnaryOp::Minus | UnaryOp::Deref | UnaryOp::AddressOf
            ) && is_quiet(scene, *operand)
        }
        ExprKind::Binary { lhs, rhs, .. } => is_quiet(scene, *lhs) && is_quiet(scene, *rhs),
        ExprKind::Member { base, .. } => is_quiet(scene, *base),
        ExprKind::Index { base, index } => is_quiet(scene, *base) && is_quiet(scene, *index),
        ExprKind::Cast { operand, .. } => is_quiet(scene, *operand),
        ExprKind::Name(_) | ExprKind::Int(_) => true,
        _ => false,
    }
}

/// Whether a function of the C API runs no other code and changes nothing.
pub(super) fn only_asks(name: &str) -> bool {
    name.starts_with("Py")
        && ["_Check", "_CheckExact", "_GET_SIZE"]
            .iter()
            .any(|end| name.ends_with(end))
        || matches!(
            name,
            "Py_SIZE" | "Py_TYPE" | "PyList_Size" | "PyTuple_Size" | "PyErr_Occurred"
        )
}

fn is_plain(scene: &Scene<'_>, stmt: StmtId) -> bool {
    matches!(
        scene.tree.stmt(stmt).kind,
        StmtKind::Expr(_) | StmtKind::Decl(_)
    )
}

fn is_if(scene: &Scene<'_>, stmt: StmtId) -> bool {
    matches!(scene.tree.stmt(stmt).kind, StmtKind::If { .. })
}

/// Whether a statement declares variables without a value, or just computes.
fn only_looks(scene: &Scene<'_>, stmt: StmtId) -> bool {
    let (Some(start), Some(end)) = (scene.cfg.before(stmt), scene.cfg.after(stmt)) else {
        return false;
    };
    start.block == end.block
        && !is_if(scene, stmt)
        && scene.cfg.block(start.block).instrs[start.index..end.index]
            .iter()
            .all(|instr| match &instr.kind {
                InstrKind::Call {
                    callee: Callee::Named(name),
                    ..
                } => looks(name),
                InstrKind::Call { .. } | InstrKind::Asm => false,
                InstrKind::Store { place, .. } => matches!(place.base, Base::Local(_)),
                _ => true,
            })
}

/// Whether a function of the C API gives nothing that has to be released, and takes nothing.
fn looks(name: &str) -> bool {
    capi::effects(name).is_some_and(|effects| {
        effects.returns != Returns::New && effects.steals.is_empty() && effects.outs.is_empty()
    }) && !matches!(
        name,
        "Py_INCREF" | "Py_XINCREF" | "Py_DECREF" | "Py_XDECREF" | "Py_CLEAR"
    ) && !name.contains("lloc")
}
