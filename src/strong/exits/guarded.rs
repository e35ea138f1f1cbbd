//! Undoing that the function does under a condition of its own, or in some builds only.
//!
//! ```c
//! int nested = in_update;
//! in_update = 1;
//! hook = PyDict_GetItemString(hooks, "before");  /* an exit here needs the same condition */
//! …
//! if (!nested)
//!     in_update = 0;
//! return result;
//! ```

use crate::ast::{Parent, StmtId, StmtKind};
use crate::cfg::{Point, reaches};
use crate::source::ByteSpan;
use crate::strong::scene::Scene;

/// Whether one of the statements `same`, which do one thing, is not done in each build and wherever
/// the block ends in which it stands. `point` is where an exit would be.
pub(super) fn is_guarded(scene: &Scene<'_>, point: Point, same: &[StmtId]) -> bool {
    let done = same.iter().filter_map(|&stmt| scene.cfg.before(stmt));
    let done: Vec<Point> = done.collect();
    let mut same = same.iter();
    same.any(|&stmt| is_in_some_builds(scene, stmt) || is_conditional(scene, point, stmt, &done))
}

/// Whether an `#if` in the function stands around a statement.
fn is_in_some_builds(scene: &Scene<'_>, stmt: StmtId) -> bool {
    let index = &scene.cx.program.index[scene.file.index()];
    let branches = |span: ByteSpan| index.branches_at(span.start());
    let body = scene.stmt_span(scene.function.body).map(branches);
    // What a macro makes has no place of its own.
    let own = scene.stmt_span(stmt).map(branches);
    own.is_some() && own != body
}

/// Whether a condition that is not about the exit at `point` decides if `stmt` is done.
fn is_conditional(scene: &Scene<'_>, point: Point, stmt: StmtId, done: &[Point]) -> bool {
    let (cfg, tree) = (scene.cfg, scene.tree);
    let mut at = stmt;
    while let Some(Parent::Stmt(outer)) = scene.parent_of_stmt(at) {
        let is_around = match (cfg.before(outer), cfg.after(outer)) {
            (Some(start), Some(end)) => reaches(cfg, start, point, &[end]),
            _ => true,
        };
        match tree.stmt(outer).kind {
            StmtKind::If { .. } if tree.leaves(at) => {
                let start = cfg.before(at);
                let mut ends = cfg.returns();
                return start.is_some_and(|start| ends.any(|end| reaches(cfg, start, end, done)));
            }
            StmtKind::If { .. } if !is_around => return true,
            StmtKind::Block(_) | StmtKind::If { .. } => at = outer,
            _ => return false,
        }
    }
    false
}
