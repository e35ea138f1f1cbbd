//! What the code does with a variable from a point on.

use std::collections::BTreeSet;

use super::Follower;
use super::hold::State;
use crate::ast::{ExprId, Parent, StmtKind};
use crate::cfg::Point;
use crate::ownership::track::only_releases;
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
            .filter_map(|(local, _)| only_releases(self.scene.cfg, local, after));
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
