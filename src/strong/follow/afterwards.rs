//! What the code does with a variable from a point on.

use std::collections::BTreeSet;

use super::Follower;
use super::hold::State;
use crate::ast::{ExprId, LocalId, Parent, StmtKind};
use crate::cfg::{Base, BlockId, Callee, Instr, InstrKind, Operand, Point, Source};
use crate::strong::exits::branch::is_failure;
use crate::strong::scene::Scene;

impl Follower<'_, '_> {
    /// The releases of the object where the call `taker` failed, which took it nevertheless.
    pub(in crate::strong) fn released_though_taken(
        &self,
        state: &State,
        point: Point,
        taker: ExprId,
    ) -> BTreeSet<ExprId> {
        let index = point.index + 1;
        let after = Point { index, ..point };
        let releases = state
            .locals()
            .filter_map(|(local, _)| only_releases(self.scene, local, after));
        let releases: BTreeSet<ExprId> = releases.flatten().collect();
        let mut all = releases.iter();
        match all.all(|&release| is_where_it_failed(self.scene, release, taker)) {
            true => releases,
            false => BTreeSet::new(),
        }
    }
}

/// Whether `release` is a statement of the block that runs if the call `taker` failed.
fn is_where_it_failed(scene: &Scene<'_>, release: ExprId, taker: ExprId) -> bool {
    let stmt = match scene.parent_of_expr(release) {
        Some(Parent::Stmt(stmt)) if scene.siblings(stmt).is_some() => stmt,
        _ => return false,
    };
    let Some(test) = scene.stmt_of(taker) else {
        return false;
    };
    match scene.tree.stmt(test).kind {
        StmtKind::If { cond, then, .. } => {
            scene.parent_of_stmt(stmt) == Some(Parent::Stmt(then)) && is_failure(scene, test, cond)
        }
        _ => false,
    }
}

/// The releases of `local` behind `point`; `None` if it is read there for anything else. What it
/// held is given away at `point`, so that they are too many, with the new reference as without it:
///
/// ```c
/// Py_INCREF(item);
/// if (PyList_SetItem(list, i, item) < 0) {   /* takes the item even if it fails */
///     Py_DECREF(item);
///     return -1;
/// }
/// ```
pub(in crate::strong) fn only_releases(
    scene: &Scene<'_>,
    local: LocalId,
    point: Point,
) -> Option<BTreeSet<ExprId>> {
    let mut releases = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![point];
    while let Some(point) = waiting.pop() {
        let block = scene.cfg.block(point.block);
        match walk(&block.instrs[point.index..], local, &mut releases) {
            Walk::Used => return None,
            Walk::Ended => {}
            Walk::GoesOn => {
                let next = block.terminator.targets().into_iter();
                let new: Vec<BlockId> = next.filter(|&target| seen.insert(target)).collect();
                waiting.extend(new.into_iter().map(|block| Point { block, index: 0 }));
            }
        }
    }
    Some(releases)
}

enum Walk {
    Used,
    /// The variable gets another value or goes out of scope.
    Ended,
    GoesOn,
}

fn walk(instrs: &[Instr], local: LocalId, releases: &mut BTreeSet<ExprId>) -> Walk {
    for (at, instr) in instrs.iter().enumerate() {
        match &instr.kind {
            InstrKind::Load { dst, place } if place.base == Base::Local(local) => {
                let release = instrs.get(at + 1).filter(|next| {
                    matches!(&next.kind, InstrKind::Call { callee: Callee::Named(name), args, .. }
                        if matches!(&**name, "Py_DECREF" | "Py_XDECREF")
                            && matches!(args[..], [Operand::Temp(arg)] if arg == *dst))
                });
                match release.map(|release| release.source) {
                    Some(Source::Expr(call)) => releases.insert(call),
                    _ => return Walk::Used,
                };
            }
            InstrKind::Store { place, .. } if place.as_local() == Some(local) => {
                return Walk::Ended;
            }
            InstrKind::Declare { local: ended } if *ended == local => return Walk::Ended,
            InstrKind::ScopeEnd { locals } if locals.contains(&local) => return Walk::Ended,
            _ => {}
        }
    }
    Walk::GoesOn
}
