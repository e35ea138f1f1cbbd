//! Whether the size that the reads of a copy go by is that of the copy.
//!
//! ```c
//! n = PySequence_Size(arg);                       /* 3 */
//! fast = PySequence_Fast(arg, "no sequence");     /* another thread left 2, and the copy has these */
//! for (i = 0; i < n; i++)
//!     total += PyBytes_GET_SIZE(PySequence_Fast_GET_ITEM(fast, i));
//! ```

use crate::ast::{BinaryOp, ExprId, ExprKind, LocalId, Parent, UnaryOp};
use crate::capi::LIST_SIZES;
use crate::cfg::{Point, reaches};
use crate::strong::items::ITEMS;
use crate::strong::scene::Scene;

/// Which size the reads of a copy go by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// That of the copy.
    Copied,
    /// That of the list, which was asked before the copy was made.
    Earlier,
    /// One that does not show here.
    Unseen,
}

impl Size {
    /// The size that the reads of `local` go by, which the calls `made` make of a sequence.
    pub(super) fn of(scene: &Scene<'_>, local: LocalId, made: &[ExprId]) -> Self {
        let copied: Vec<Point> = points(scene, made.iter().copied());
        let of = |local: LocalId| asks(scene, local).collect::<Vec<ExprId>>();
        let sources = made.iter().filter_map(|&call| match scene.call(call) {
            Some((_, [source, ..])) => scene.as_local(*source),
            _ => None,
        });
        let mut earlier = sources.flat_map(of).filter(|&ask| {
            let at = scene.cfg.call(ask);
            at.is_none_or(|at| copied.iter().any(|&to| reaches(scene.cfg, at, to, &[])))
        });
        let own: Vec<Point> = points(scene, asks(scene, local));
        let is_after = |from: &Point, to: Point| reaches(scene.cfg, from.next(), to, &own);
        let is_asked = |name: &str, read: Point| match name {
            // What is read through the pointer comes behind.
            ITEMS => own
                .iter()
                .any(|&ask| copied.iter().any(|from| is_after(from, ask))),
            _ => !copied.iter().any(|from| is_after(from, read)),
        };
        let mut reads = reads(scene, local);
        if earlier.any(|ask| !decides_only_whether(scene, ask, &copied)) {
            Self::Earlier
        } else if reads.all(|(name, read)| is_asked(name, read)) {
            Self::Copied
        } else {
            Self::Unseen
        }
    }
}

/// The points of those of `calls` that run.
fn points(scene: &Scene<'_>, calls: impl Iterator<Item = ExprId>) -> Vec<Point> {
    calls.filter_map(|call| scene.cfg.call(call)).collect()
}

/// The calls that ask for the size of what `local` holds.
fn asks(scene: &Scene<'_>, local: LocalId) -> impl Iterator<Item = ExprId> {
    scene.tree.expr_ids().filter(move |&expr| {
        matches!(scene.call(expr), Some((name, [sequence])) if LIST_SIZES.contains(&name)
            && scene.as_local(scene.tree.without_casts(*sequence)) == Some(local))
    })
}

/// The reads of `local`, by name and place.
fn reads<'a>(scene: &Scene<'a>, local: LocalId) -> impl Iterator<Item = (&'a str, Point)> {
    scene.tree.expr_ids().filter_map(move |expr| {
        let (name, [sequence, ..]) = scene.call(expr)? else {
            return None;
        };
        let is_read = name == ITEMS || name == "PySequence_Fast_GET_ITEM";
        let is_own = is_read && scene.as_local(*sequence) == Some(local);
        Some((name, scene.cfg.call(expr).filter(|_| is_own)?))
    })
}

/// Whether the size that `ask` gives says before the copies are made whether there are items, and
/// nothing else: neither is room made for so many, nor are so many read.
///
/// ```c
/// n = PySequence_Size(arg);
/// if (n < 0)
///     return NULL;
/// ```
fn decides_only_whether(scene: &Scene<'_>, ask: ExprId, copied: &[Point]) -> bool {
    let whole = |expr: ExprId| match scene.parent_of_expr(expr) {
        Some(Parent::Expr(outer)) if scene.tree.without_casts(outer) == expr => outer,
        _ => expr,
    };
    let ask = whole(ask);
    if is_tested(scene, ask) {
        return true;
    }
    let mut stores = scene.tree.stores().filter(|(_, value)| *value == ask);
    let Some((local, _)) = stores.next() else {
        return false;
    };
    let is_set = |name: ExprId| match scene.parent_of_expr(name) {
        Some(Parent::Expr(outer)) => match scene.tree.expr(outer).kind {
            ExprKind::Assign { op: None, lhs, .. } => {
                let is_statement = matches!(scene.parent_of_expr(outer), Some(Parent::Stmt(_)));
                lhs == name && (is_statement || is_tested(scene, outer))
            }
            _ => false,
        },
        _ => false,
    };
    let is_plain = !scene.cfg.address_taken().contains(&local)
        && copied.iter().all(|&at| !scene.is_live(local, at));
    let mut names = scene.tree.expr_ids();
    // What comes behind the copies reads another value.
    let is_behind = |name: ExprId| {
        let point = scene.stmt_of(name).and_then(|stmt| scene.cfg.before(stmt));
        point.is_some_and(|to| !copied.iter().any(|&at| reaches(scene.cfg, to, at, &[])))
    };
    is_plain
        && names.all(|name| {
            scene.as_local(name) != Some(local)
                || is_set(name)
                || is_tested(scene, name)
                || is_behind(name)
        })
}

/// Whether a number is only compared with 0, or with an error: `n < 0`, `n == -1`, `!n`.
fn is_tested(scene: &Scene<'_>, number: ExprId) -> bool {
    let is_limit = |value: ExprId| match scene.tree.expr(value).kind {
        ExprKind::Unary {
            op: UnaryOp::Minus, ..
        } => true,
        _ => scene.is_null(value),
    };
    let Some(Parent::Expr(outer)) = scene.parent_of_expr(number) else {
        return false;
    };
    match scene.tree.expr(outer).kind {
        ExprKind::Unary { op, .. } => op == UnaryOp::Not,
        ExprKind::Binary { op, lhs, rhs } => {
            let other = if lhs == number { rhs } else { lhs };
            let joins = matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr);
            op.is_comparison() && is_limit(other) || joins
        }
        _ => false,
    }
}
