//! The true reason where all that is known at first is that paths meet of which only some have an
//! object.

use super::Reason;
use crate::ast::{ExprId, LocalId};
use crate::calls::counts_asked;
use crate::strong::follow::Follower;
use crate::strong::scene::Scene;

/// What stands against a change, of which `meeting` found `reason`.
pub(in crate::strong) fn truer(
    follower: &mut Follower<'_, '_>,
    reason: Reason,
    meeting: impl Fn(&mut Follower<'_, '_>) -> Option<Reason>,
) -> Reason {
    let Reason::OwnedOnSomePaths(name) = &reason else {
        return reason;
    };
    if let Some(local) = follower.home
        && is_count_asked(follower.scene, local)
    {
        return Reason::Counted(name.clone());
    }
    follower.supposes_null = true;
    match meeting(follower) {
        Some(other @ (Reason::DerivedEscapes(_) | Reason::DerivedOutlives(_))) => other,
        _ => reason,
    }
}

/// Whether the function looks at the reference count of what `local` holds.
pub(in crate::strong) fn is_count_asked(scene: &Scene<'_>, local: LocalId) -> bool {
    let summaries = scene.cx.summaries();
    let exprs = scene.tree.expr_ids();
    let mut counts = exprs.flat_map(|expr| counts_asked(scene.tree, expr, summaries));
    counts.any(|object| is_local(scene, object, local))
}

/// Whether `expr` is `local`, with a cast or without.
fn is_local(scene: &Scene<'_>, expr: ExprId, local: LocalId) -> bool {
    scene.as_local(scene.tree.without_casts(expr)) == Some(local)
}
