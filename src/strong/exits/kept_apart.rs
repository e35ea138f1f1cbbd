//! Loops of functions without a result through a list whose length is kept apart from it.
//!
//! ```c
//! for (i = 0; i < server->count; i++) {
//!     item = PyList_GetItemRef(server->items, i);
//!     if (item == NULL) {
//!         PyErr_Clear();
//!         break;
//!     }
//!     total += weigh(item);
//! }
//! ```
//!
//! Where the list turns out to be shorter than that, the function does what it would have done with
//! a smaller count: nothing else asks for the count, no pass knows which one it is, and none fills
//! anything that would be read without it.

use super::bound::{inside, loop_around, mentions};
use super::branch::is_same;
use crate::ast::{BinaryOp, Expr, ExprId, ExprKind, LocalId, StmtId, StmtKind, TokenRange};
use crate::cfg::Point;
use crate::strong::scene::Scene;
use crate::strong::types::is_number;

/// The loop around `call` that may just end where that fails, if it is the first step of each pass.
pub(in crate::strong) fn loop_kept_apart(scene: &Scene<'_>, call: ExprId) -> Option<StmtId> {
    let (_, [_, index]) = scene.call(call)? else {
        return None;
    };
    let (outer, cond, body) = loop_around(scene, call)?;
    let StmtKind::Block(stmts) = &scene.tree.stmt(body).kind else {
        return None;
    };
    let ExprKind::Binary {
        op: BinaryOp::Less,
        lhs,
        rhs,
    } = scene.tree.expr(cond).kind
    else {
        return None;
    };
    let passes = Passes {
        scene,
        call,
        index: scene.as_local(*index)?,
        body: scene.tree.stmt(body).range,
        start: scene.cfg.before(body)?,
        end: scene.cfg.after(outer)?,
    };
    let whole = scene.tree.stmt(scene.function.body).range;
    let fits = scene.function.ret.is_void()
        && stmts.first().copied() == scene.stmt_of(call)
        && is_same(scene, lhs, *index)
        && mentions(scene, rhs, whole).all(|mention| mention == rhs)
        && passes.are_nameless()
        && inside(scene, passes.body).all(|(id, expr)| passes.is_harmless(id, expr));
    fits.then_some(outer)
}

/// The passes of a loop.
struct Passes<'s, 'a> {
    scene: &'s Scene<'a>,
    call: ExprId,
    index: LocalId,
    body: TokenRange,
    start: Point,
    end: Point,
}

impl Passes<'_, '_> {
    /// Whether only the lookup asks which pass it is, and nothing behind the loop how many ran.
    fn are_nameless(&self) -> bool {
        let lookup = self.scene.tree.expr(self.call).range;
        let mut parts = inside(self.scene, self.body);
        !self.scene.liveness.is_live(self.index, self.end)
            && parts.all(|(id, expr)| {
                self.scene.as_local(id) != Some(self.index) || lookup.contains(expr.range)
            })
    }

    /// Whether `expr` sets nothing but variables of the pass, or what has a value already.
    fn is_harmless(&self, id: ExprId, expr: &Expr) -> bool {
        let scene = self.scene;
        match &expr.kind {
            ExprKind::Call { .. } if id == self.call => true,
            ExprKind::Call { args, .. } => args.iter().all(|&arg| {
                let local = scene.as_local(scene.tree.without_casts(arg));
                local.is_some_and(|local| {
                    is_number(&scene.tree.local(local).ty) || self.is_own(local)
                })
            }),
            ExprKind::Assign { op: None, lhs, .. } => {
                scene.as_local(*lhs).is_some_and(|local| self.is_own(local))
            }
            _ => scene.tree.changed(id).is_none_or(|place| {
                scene.as_local(place).is_none_or(|local| {
                    is_number(&scene.tree.local(local).ty) || self.is_own(local)
                })
            }),
        }
    }

    /// Whether a pass sets `local` before it reads it, and nothing reads it behind the loop.
    fn is_own(&self, local: LocalId) -> bool {
        let is_live = |point| self.scene.liveness.is_live(local, point);
        let is_taken = self.scene.cfg.address_taken().contains(&local);
        !is_live(self.start) && !is_live(self.end) && !is_taken
    }
}
