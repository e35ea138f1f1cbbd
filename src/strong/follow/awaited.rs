//! Parts of the object that memory gets, and a reference right behind.
//!
//! ```c
//! self->dict = PyModule_GetDict(m);
//! if (self->dict == NULL)
//!     return -1;
//! Py_INCREF(self->dict);          /* the dict lives by itself from here on, and needs `m` no more */
//! ```

use std::collections::BTreeSet;

use super::Follower;
use super::hold::State;
use crate::ast::{BinaryOp, ExprId, ExprKind};
use crate::capi;
use crate::cfg::{Comparison, Condition, Instr, InstrKind, Point, Source, Terminator};
use crate::strong::exits::branch::is_same;

/// What comes of a walk over some steps.
enum Walk {
    /// The call that takes the reference.
    Taken(ExprId),
    /// Nothing yet; whether the place still holds what it got.
    GoesOn(bool),
}

impl Follower<'_, '_> {
    /// A pointer into the object is stored at `point` where others may use it; whether that is right.
    pub(in crate::strong) fn stores_inside(
        &self,
        point: Point,
        source: Source,
        state: &mut State,
    ) -> bool {
        !self.is_as_before(state) && self.awaits(point, source, state) || self.pins(state)
    }

    /// Notes the calls behind the store `source` at `point` that take a reference to what is stored,
    /// by the name of the place; whether one comes on every path on which that is not `NULL`. The
    /// object is needed until then.
    fn awaits(&self, point: Point, source: Source, state: &mut State) -> bool {
        let Source::Expr(assignment) = source else {
            return false;
        };
        let ExprKind::Assign { op: None, lhs, rhs } = self.scene.tree.expr(assignment).kind else {
            return false;
        };
        let is_object = self.is_object_of_its_own(rhs);
        let Some(calls) = self.takers(point.next(), lhs).filter(|_| is_object) else {
            return false;
        };
        let awaited = calls.into_iter().map(|call| (call, lhs));
        state.awaited.extend(awaited);
        true
    }

    /// Whether `part` is an object that a count of its own keeps, as all that the C API gives.
    ///
    /// ```c
    /// self->x = (PyObject *)&((Outer *)v)->inner;     /* dies with `v`, whatever its count */
    /// self->x = inner_of(v);                          /* and so may this */
    /// ```
    fn is_object_of_its_own(&self, part: ExprId) -> bool {
        let scene = self.scene;
        let part = scene.tree.without_casts(part);
        match scene.tree.expr(part).kind {
            ExprKind::Call { .. } => {
                let name = scene.call(part).map(|(name, _)| name);
                name.and_then(capi::effects).is_some()
            }
            // An array is a part of `v`, too.
            ExprKind::Member { .. } | ExprKind::Index { .. } => {
                let types = scene.cx.types();
                let ty = types.of(scene.tree, part);
                ty.is_none_or(|ty| types.is_object_pointer(ty))
            }
            _ => false,
        }
    }

    /// The calls on the paths from `start` that take a reference to what `place` names; `None` if
    /// one does not come to such a call before anything may have changed the place.
    fn takers(&self, start: Point, place: ExprId) -> Option<Vec<ExprId>> {
        let (mut takers, mut seen) = (Vec::new(), BTreeSet::new());
        let mut waiting = vec![(start, true)];
        while let Some((at, is_same)) = waiting.pop() {
            let block = self.scene.cfg.block(at.block);
            let is_same = match self.walk(&block.instrs[at.index..], place, is_same) {
                Walk::Taken(call) => {
                    takers.push(call);
                    continue;
                }
                Walk::GoesOn(is_same) => is_same,
            };
            let null = match &block.terminator {
                Terminator::Return(..) => return None,
                Terminator::Branch { condition, .. } => self.null_edge(condition, place),
                _ => None,
            };
            let targets = block.terminator.targets().into_iter().enumerate();
            let targets = targets.filter(|&(edge, _)| Some(edge) != null || !is_same);
            for (_, block) in targets {
                if seen.insert((block, is_same)) {
                    waiting.push((Point { block, index: 0 }, is_same));
                }
            }
        }
        Some(takers).filter(|takers| !takers.is_empty())
    }

    /// `is_same` tells whether `place` holds in front of the steps what was stored.
    fn walk(&self, instrs: &[Instr], place: ExprId, mut is_same: bool) -> Walk {
        for instr in instrs {
            match (&instr.kind, instr.source) {
                (InstrKind::Call { .. }, Source::Expr(call))
                    if is_same && self.takes(call, place) =>
                {
                    return Walk::Taken(call);
                }
                (InstrKind::Call { .. } | InstrKind::Store { .. } | InstrKind::Asm, _) => {
                    is_same = false;
                }
                _ => {}
            }
        }
        Walk::GoesOn(is_same)
    }

    fn takes(&self, call: ExprId, place: ExprId) -> bool {
        let scene = self.scene;
        match scene.call(call) {
            Some(("Py_INCREF" | "Py_XINCREF" | "Py_IncRef", [taken])) => {
                is_same(scene, scene.tree.without_casts(*taken), place)
            }
            _ => false,
        }
    }

    /// The edge of a branch on which `place` is `NULL`.
    fn null_edge(&self, condition: &Condition, place: ExprId) -> Option<usize> {
        let scene = self.scene;
        let tested = match scene.tree.expr(condition.expr).kind {
            ExprKind::Binary {
                op: BinaryOp::Equals | BinaryOp::NotEquals,
                lhs,
                ..
            } => lhs,
            _ => condition.expr,
        };
        let is_it = condition.rhs.is_zero() && is_same(scene, tested, place);
        match condition.comparison {
            Comparison::Equal if is_it => Some(0),
            Comparison::NotEqual if is_it => Some(1),
            _ => None,
        }
    }

    /// Notes what a branch says of stored parts: where one is `NULL`, nobody needs the object for it.
    pub(in crate::strong) fn refine_awaited(
        &self,
        condition: &Condition,
        edge: usize,
        state: &mut State,
    ) {
        let is_null = |place| self.null_edge(condition, place) == Some(edge);
        state.awaited.retain(|_, &mut place| !is_null(place));
    }
}
