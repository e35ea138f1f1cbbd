//! Lookups behind which the code asks at once for another error, and does about that what is right
//! for a failed lookup, too: both are asked for together.
//!
//! ```c
//! item = PyList_GetItemRef(list, i);
//! if (item == NULL || convert(item, &handles[i]) < 0) {
//!     Py_XDECREF(item);
//!     for (j = 0; j < i; j++)
//!         handle_release(handles[j]);
//!     return NULL;
//! }
//! ```
//!
//! The branch may not speak of anything that the call which is left out would have set.

use super::branch::{is_failure, is_same};
use super::exit::Failure;
use super::held::frees;
use super::locks::is_end;
use super::read_behind::sets_what_decides;
use crate::ast::{
    Below, BinaryOp, ExprId, ExprKind, LocalId, Name, StmtId, StmtKind, TokenRange, UnaryOp,
};
use crate::capi;
use crate::cfg::{BlockId, InstrKind};
use crate::strong::emit::Draft;
use crate::strong::follow::counts::{Effect, effect};
use crate::strong::plan::Lookup;
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::shape::Shape;
use crate::strong::types::is_number;

/// The `if` behind, or around, the lookup `call` that can ask for its failure as well.
pub(in crate::strong) fn joined(scene: &Scene<'_>, call: ExprId, shape: Shape) -> Option<StmtId> {
    let test = match shape {
        Shape::Assigned(stmt, _) | Shape::Initialised(stmt, _) => scene.next_step(stmt)?,
        Shape::Nested(stmt) => stmt,
        _ => return None,
    };
    let StmtKind::If { cond, then, .. } = scene.tree.stmt(test).kind else {
        return None;
    };
    let left_out = LeftOut {
        scene,
        item: shape.local(),
        cond: scene.tree.expr(cond).range,
    };
    let is_right = scene.span(cond).is_some()
        && is_failure(scene, test, cond)
        && left_out.is_harmless(call)
        && left_out.is_unread(then)
        && left_out.fits(then)
        && scene.cfg.before(then)?.index == 0;
    is_right.then_some(test)
}

/// The condition of an `if` that is not evaluated where a lookup before it fails.
struct LeftOut<'s, 'a> {
    scene: &'s Scene<'a>,
    /// The variable that holds `NULL` then.
    item: Option<LocalId>,
    cond: TokenRange,
}

impl LeftOut<'_, '_> {
    /// Whether the condition holds no other lookup beside `call`, and takes nothing over.
    fn is_harmless(&self, call: ExprId) -> bool {
        let scene = self.scene;
        let takes = |name: &str, call: ExprId| {
            let args = scene.cfg.call(call).and_then(|point| {
                let block = scene.cfg.block(point.block);
                match &block.instrs.get(point.index)?.kind {
                    InstrKind::Call { args, .. } => Some(&args[..]),
                    _ => None,
                }
            });
            args.is_none_or(|args| {
                (0..args.len()).any(|at| {
                    !matches!(
                        effect(scene, name, args, at),
                        Effect::Use | Effect::KeepInside | Effect::Copy
                    )
                })
            })
        };
        self.parts(self.cond)
            .all(|part| match &scene.tree.expr(part).kind {
                ExprKind::Call { .. } if part == call => true,
                ExprKind::Call { .. } => scene.call(part).is_some_and(|(name, _)| {
                    capi::replacement(name).is_none() && !takes(name, part)
                }),
                _ => true,
            })
    }

    /// Whether nothing that the condition sets is read from `then` on, as far as that shows.
    fn is_unread(&self, then: StmtId) -> bool {
        let scene = self.scene;
        let Some(start) = scene.cfg.before(then) else {
            return false;
        };
        let leaves = self.ends(then) == Some(End::Function);
        self.parts(self.cond)
            .all(|part| match scene.tree.expr(part).kind {
                ExprKind::Unary {
                    op: UnaryOp::AddressOf,
                    ..
                } => leaves,
                ExprKind::Call { .. } => !sets_what_decides(scene, part, start),
                _ => scene.tree.changed(part).is_none_or(|place| {
                    scene
                        .as_local(place)
                        .is_some_and(|local| !scene.liveness.is_live(local, start))
                }),
            })
    }

    /// What the branch `then` leaves at its end.
    fn ends(&self, then: StmtId) -> Option<End> {
        match &self.scene.tree.stmt(then).kind {
            StmtKind::Block(stmts) => self.ends(*stmts.last()?),
            StmtKind::Return(_) => Some(End::Function),
            StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue => Some(End::Block),
            _ => None,
        }
    }

    /// Whether the branch `then` only releases, notes a failure, and leaves.
    fn fits(&self, then: StmtId) -> bool {
        let (last, before) = match &self.scene.tree.stmt(then).kind {
            StmtKind::Block(stmts) => match stmts.split_last() {
                Some((&last, before)) => (last, before),
                None => return false,
            },
            _ => (then, &[][..]),
        };
        let leaves = match self.scene.tree.stmt(last).kind {
            StmtKind::Return(Some(value)) => self.is_apart(value) && self.is_plain(value),
            StmtKind::Return(None) | StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue => {
                true
            }
            _ => false,
        };
        leaves && before.iter().all(|&stmt| self.undoes(stmt, None))
    }

    /// Whether `stmt` just releases or notes a failure; `index` counts in the loop around it.
    fn undoes(&self, stmt: StmtId, index: Option<&Below>) -> bool {
        match &self.scene.tree.stmt(stmt).kind {
            StmtKind::Block(stmts) => stmts.iter().all(|&stmt| self.undoes(stmt, index)),
            StmtKind::Expr(expr) => self.is_release(*expr, index) || self.is_note(*expr),
            StmtKind::For { body, .. } if index.is_none() => self
                .counted(stmt)
                .is_some_and(|index| self.undoes(*body, Some(&index))),
            _ => false,
        }
    }

    /// `Py_DECREF(out)`, `free(buffer)`, `Py_LeaveRecursiveCall()`
    fn is_release(&self, expr: ExprId, index: Option<&Below>) -> bool {
        let Some((name, args)) = self.scene.call(expr) else {
            return false;
        };
        // The object itself is there, whatever the call in the condition does with it.
        let counts = matches!(name, "Py_DECREF" | "Py_XDECREF" | "Py_CLEAR");
        let is_other = |arg: ExprId| {
            let local = self.scene.as_local(self.scene.tree.without_casts(arg));
            counts && local.is_some_and(|local| Some(local) != self.item)
        };
        let is_known = |&arg: &ExprId| {
            is_other(arg)
                || self.is_apart(arg)
                || index.is_some_and(|index| self.is_below(arg, index))
        };
        (counts || frees(name) || is_end(self.scene, name))
            && args.iter().all(|arg| self.is_plain(*arg) && is_known(arg))
    }

    /// `status = -1`, `result = NULL`
    fn is_note(&self, expr: ExprId) -> bool {
        let ExprKind::Assign { op: None, lhs, rhs } = self.scene.tree.expr(expr).kind else {
            return false;
        };
        self.scene.as_local(lhs).is_some() && self.is_plain(rhs) && self.is_apart(rhs)
    }

    /// `for (j = 0; j < i; j++)`
    fn counted(&self, stmt: StmtId) -> Option<Below> {
        let below = Below::of(self.scene.tree, stmt)?;
        let starts = match self.scene.tree.stmt(below.init?).kind {
            StmtKind::Expr(expr) => self.is_note(expr),
            _ => true,
        };
        starts.then_some(below)
    }

    /// Whether `arg` is an element before the one whose address the condition hands out:
    /// `handles[j]` where that is `&handles[i]`, and `j < i`.
    fn is_below(&self, arg: ExprId, below: &Below) -> bool {
        let Some(array) = below.array(self.scene.tree, arg) else {
            return false;
        };
        let mut mentions = self
            .parts(self.cond)
            .filter(|&part| self.scene.as_local(part) == Some(array));
        mentions.all(|mention| self.is_end_of(mention, below))
    }

    /// Whether `mention` is the `handles` of `&handles[i]`.
    fn is_end_of(&self, mention: ExprId, below: &Below) -> bool {
        let scene = self.scene;
        let is_same = |one, other| is_same(scene, one, other);
        let is_it = |place: ExprId| match scene.tree.expr(place).kind {
            ExprKind::Index { base, .. } => {
                base == mention && below.is_end(scene.tree, place, is_same)
            }
            _ => false,
        };
        self.parts(self.cond)
            .any(|part| match self.scene.tree.expr(part).kind {
                ExprKind::Unary {
                    op: UnaryOp::AddressOf,
                    operand,
                } => is_it(operand),
                _ => false,
            })
    }

    /// Whether `part` calls nothing and changes nothing.
    fn is_plain(&self, part: ExprId) -> bool {
        let mut parts = self.parts(self.scene.tree.expr(part).range);
        parts.all(|part| {
            self.scene.tree.changed(part).is_none()
                && !matches!(self.scene.tree.expr(part).kind, ExprKind::Call { .. })
        })
    }

    /// Whether no variable in `part` is the item, or stands in the condition, but for numbers.
    fn is_apart(&self, part: ExprId) -> bool {
        let asked: Vec<LocalId> = self.locals(self.cond).collect();
        let mut locals = self.locals(self.scene.tree.expr(part).range);
        locals.all(|local| Some(local) != self.item && !asked.contains(&local))
    }

    /// The variables in `within` that are no numbers, or of which it takes the address.
    fn locals(&self, within: TokenRange) -> impl Iterator<Item = LocalId> {
        let scene = self.scene;
        let taken = scene.cfg.address_taken();
        self.parts(within).filter_map(move |part| {
            let local = match scene.tree.expr(part).kind {
                ExprKind::Name(Name::Local(local)) => local,
                _ => return None,
            };
            let is_known = is_number(&scene.tree.local(local).ty) && !taken.contains(&local);
            (!is_known).then_some(local)
        })
    }

    fn parts(&self, within: TokenRange) -> impl Iterator<Item = ExprId> {
        self.scene.tree.exprs_in(within).map(|(part, _)| part)
    }
}

/// Where a branch leads.
#[derive(PartialEq, Eq)]
enum End {
    Function,
    Block,
}

/// The blocks at whose start the result of one of `lookups` may be `NULL`, because a lookup that
/// failed leads there as well.
pub(in crate::strong) fn entered_with_null(scene: &Scene<'_>, lookups: &[Lookup]) -> Vec<BlockId> {
    let tests = lookups.iter().filter_map(|lookup| match lookup.failure {
        Failure::Joined(test) => Some(test),
        _ => None,
    });
    let starts = tests.filter_map(|test| match scene.tree.stmt(test).kind {
        StmtKind::If { then, .. } => scene.cfg.before(then),
        _ => None,
    });
    starts.map(|start| start.block).collect()
}

impl Draft<'_, '_> {
    /// Makes the condition of `test` ask whether `name` is `NULL` as well.
    ///
    /// # Errors
    /// The condition is not the file's own text.
    pub(in crate::strong) fn ask_for_null(
        &mut self,
        test: StmtId,
        name: &str,
    ) -> Result<(), Reason> {
        let made = || Reason::InMacro("around it".to_owned());
        let StmtKind::If { cond, .. } = self.scene.tree.stmt(test).kind else {
            return Err(made());
        };
        let span = self.scene.span(cond).ok_or_else(made)?;
        let is_and = matches!(
            self.scene.tree.expr(cond).kind,
            ExprKind::Binary {
                op: BinaryOp::LogicalAnd,
                ..
            }
        );
        if is_and {
            self.insert(span.start(), format!("{name} == NULL || ("));
            self.insert(span.end(), ")");
        } else {
            self.insert(span.start(), format!("{name} == NULL || "));
        }
        Ok(())
    }
}
