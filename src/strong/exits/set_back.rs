//! What the function sets back on each way out after a lookup, itself or by a function of the package,
//! and had set before.
//!
//! ```c
//! frame.outer = top;
//! top = &frame;
//! value = PyDict_GetItem(dict, key);            /* an exit here leaves `top` as it is */
//! …
//! top = frame.outer;
//! return value;
//! ```

use super::way_out::{WayOut, words};
use crate::ast::{BinaryOp, ExprId, ExprKind};
use crate::cfg::{Point, reaches};
use crate::program::{Touch, touched};
use crate::strong::scene::Scene;

/// Whether an exit leaves something set that all other ways set back.
pub(super) fn leaves_set(way_out: &WayOut<'_, '_>) -> bool {
    let scene = way_out.scene;
    let changes = changes(scene);
    let is_end = |one: &&Change| {
        one.sets_back
            && reaches(scene.cfg, way_out.at.next(), one.point, &[])
            && !way_out.speaks_of_result(one.expr)
    };
    changes.iter().filter(is_end).any(|end| {
        let same = |one: &&Change| one.touch.place == end.touch.place;
        let ends: Vec<&Change> = changes.iter().filter(is_end).filter(same).collect();
        let points: Vec<Point> = ends.iter().map(|end| end.point).collect();
        let begins = |one: &&Change| {
            let is_again = || ends.iter().any(|end| one.is_again(end, scene));
            reaches(scene.cfg, one.point.next(), way_out.at, &points) && !is_again()
        };
        changes.iter().filter(same).any(|one| begins(&one))
            && way_out.leaves_out(ends.iter().map(|end| end.expr))
    })
}

/// A change of a place that others know.
struct Change {
    expr: ExprId,
    point: Point,
    touch: Touch,
    /// It sets it back to what it was.
    sets_back: bool,
}

impl Change {
    /// Whether this only does what `end` does: `errno = 0`. What is done twice by `^=` is undone.
    fn is_again(&self, end: &Change, scene: &Scene<'_>) -> bool {
        let toggles = matches!(scene.tree.expr(end.expr).kind,
            ExprKind::Assign { op, .. } if op == Some(BinaryOp::BitXor));
        let is_one = self.expr == end.expr;
        is_one || !toggles && words(scene, self.expr) == words(scene, end.expr)
    }
}

fn changes(scene: &Scene<'_>) -> Vec<Change> {
    let of = |expr: ExprId| {
        let touches = touched(scene.cx.program, scene.tree, expr).into_iter();
        let point = scene.cfg.call(expr).or_else(|| scene.cfg.store(expr));
        let change = |touch: Touch| {
            Some(Change {
                expr,
                point: point?,
                sets_back: touch.sets_back || gives_back(scene, expr),
                touch,
            })
        };
        touches.filter_map(change).collect::<Vec<Change>>()
    };
    scene.tree.expr_ids().flat_map(of).collect()
}

/// Whether a place gets what it held before: `top = frame.outer` behind `frame.outer = top`.
fn gives_back(scene: &Scene<'_>, expr: ExprId) -> bool {
    let tree = scene.tree;
    let ExprKind::Assign { op: None, lhs, rhs } = tree.expr(expr).kind else {
        return false;
    };
    let (place, held) = (words(scene, lhs), words(scene, rhs));
    let saves = |expr: ExprId| {
        matches!(tree.expr(expr).kind, ExprKind::Assign { op: None, lhs, rhs }
            if words(scene, lhs) == held && words(scene, rhs) == place)
    };
    let mut stores = tree.stores();
    stores.any(|(given, value)| Some(given) == tree.as_local(rhs) && words(scene, value) == place)
        || tree.expr_ids().any(saves)
}
