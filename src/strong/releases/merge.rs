//! One release behind an `if` or `switch` in place of several in its branches.
//!
//! ```c
//! if (PyLong_Check(v)) {          if (PyLong_Check(v)) {
//!     n = PyLong_AsLong(v);           n = PyLong_AsLong(v);
//!     Py_DECREF(v);               } else {
//! } else {                            n = other;
//!     Py_DECREF(v);               }
//!     n = other;                  Py_DECREF(v);
//! }
//! ```

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::ast::{StmtId, StmtKind};
use crate::strong::exits::branch::stmts;
use crate::strong::follow::slots::Slot;
use crate::strong::follow::{Decisions, Follower};
use crate::strong::scene::Scene;

/// Decisions of the same effect with fewer releases.
pub(in crate::strong) fn merged(
    follower: &mut Follower<'_, '_>,
    mut decisions: Decisions,
) -> Decisions {
    let scene = follower.scene;
    let mut chains: Vec<StmtId> = stmts(scene)
        .filter(|&stmt| {
            let kind = &scene.tree.stmt(stmt).kind;
            matches!(kind, StmtKind::If { .. } | StmtKind::Switch { .. })
        })
        .collect();
    // What came together behind an inner one can come together with more behind an outer one.
    chains.sort_by_key(|&stmt| Reverse(scene.stmt_span(stmt).map(|span| span.start())));
    for chain in chains {
        if looks_up_inside(follower, chain) {
            continue;
        }
        let choices = match scene.tree.stmt(chain).kind {
            StmtKind::Switch { .. } => [slots_up_to(scene, chain, leaves_switch, &decisions), None],
            _ => [
                Some(slots_within(scene, chain)),
                // Releases stand in the middle of a branch that some path leaves, too.
                slots_up_to(scene, chain, leaves, &decisions),
            ],
        };
        for slots in choices.into_iter().flatten() {
            if are_several(&slots, &decisions) && shorten(follower, &mut decisions, slots) {
                break;
            }
        }
    }
    decisions
}

/// Whether several of `slots` have releases, or one that needs an `else` for it.
fn are_several(slots: &BTreeSet<Slot>, decisions: &Decisions) -> bool {
    let used = |slot: &&Slot| decisions.releases.contains_key(slot);
    let used: Vec<&Slot> = slots.iter().filter(used).collect();
    used.len() > 1 || matches!(used[..], [Slot::Else(_) | Slot::Inside(_)])
}

/// Does without `slots` from here on, if that is shorter.
fn shorten(
    follower: &mut Follower<'_, '_>,
    decisions: &mut Decisions,
    slots: BTreeSet<Slot>,
) -> bool {
    let before = follower.suppressed.clone();
    follower.suppressed.extend(slots);
    match follower.run() {
        Ok(other) if length(&other) < length(decisions) => *decisions = other,
        _ => {
            follower.suppressed = before;
            return false;
        }
    }
    true
}

/// All slots of a statement but those in front of jumps out of it; `None` if one of these gets no
/// release now, and stands without braces.
///
/// ```c
/// if (is_alive(v)) {              if (is_alive(v)) {
///     Py_DECREF(v);                   if (found(self)) {
///     if (found(self))                    Py_DECREF(v);
///         break;                          break;
/// } else {                            }
///     Py_DECREF(v);               }
/// }                               Py_DECREF(v);
/// ```
fn slots_up_to(
    scene: &Scene<'_>,
    chain: StmtId,
    leaves: impl Fn(&Scene<'_>, StmtId) -> bool,
    decisions: &Decisions,
) -> Option<BTreeSet<Slot>> {
    let inner = scene.inner_stmts(chain);
    let around = inner.iter().flat_map(|&stmt| Slot::around(stmt));
    let mut slots: BTreeSet<Slot> = around.chain([Slot::Else(chain)]).collect();
    for &jump in inner.iter().filter(|&&stmt| leaves(scene, stmt)) {
        slots.remove(&Slot::Before(jump));
        let Some((stmts, at)) = scene.siblings(jump) else {
            // One without braces around it would need them.
            if !decisions.releases.contains_key(&Slot::Before(jump)) {
                return None;
            }
            continue;
        };
        if let Some(before) = at.checked_sub(1) {
            slots.remove(&Slot::After(scene.tree.unlabelled(stmts[before])));
        }
    }
    Some(slots)
}

fn leaves(scene: &Scene<'_>, stmt: StmtId) -> bool {
    let is_break = matches!(scene.tree.stmt(stmt).kind, StmtKind::Break);
    is_break || leaves_switch(scene, stmt)
}

/// A `break` leads to the end of its `switch`, or to that of a loop in it.
fn leaves_switch(scene: &Scene<'_>, stmt: StmtId) -> bool {
    matches!(
        scene.tree.stmt(stmt).kind,
        StmtKind::Return(_) | StmtKind::Goto(_) | StmtKind::Continue
    )
}

/// Whether the reference, and with it perhaps its variable, is there in a branch only.
fn looks_up_inside(follower: &Follower<'_, '_>, chain: StmtId) -> bool {
    let inner: BTreeSet<StmtId> = follower.scene.inner_stmts(chain).into_iter().collect();
    let mut stmts = follower
        .lookups
        .keys()
        .map(|&call| follower.scene.stmt_of(call));
    stmts.any(|stmt| stmt.is_none_or(|stmt| inner.contains(&stmt)))
}

/// How much is written; a new `else` for a release, or a first statement in an empty one, is longer
/// than a release.
pub(in crate::strong) fn length(decisions: &Decisions) -> usize {
    let slots = decisions.releases.keys();
    let is_new = |slot: &&Slot| matches!(slot, Slot::Else(_) | Slot::Inside(_));
    let elses = slots.filter(is_new).count();
    decisions.releases.len() + decisions.replaced.len() + decisions.held.len() + elses
}

/// The slots in the branches of a chain of `if`s from which paths come to its end. Exits in a
/// branch keep theirs.
fn slots_within(scene: &Scene<'_>, chain: StmtId) -> BTreeSet<Slot> {
    let mut slots = BTreeSet::new();
    let mut at = Some(chain);
    while let Some(stmt) = at {
        let StmtKind::If {
            then, otherwise, ..
        } = scene.tree.stmt(stmt).kind
        else {
            slots.extend(slots_of_branch(scene, stmt));
            break;
        };
        if stmt != chain {
            slots.extend([Slot::Before(stmt), Slot::After(stmt)]);
        }
        slots.insert(Slot::Else(stmt));
        slots.extend(slots_of_branch(scene, then));
        at = otherwise;
    }
    slots
}

fn slots_of_branch(scene: &Scene<'_>, branch: StmtId) -> Vec<Slot> {
    if scene.is_left_early(branch) {
        return vec![Slot::After(last(scene, branch)), Slot::After(branch)];
    }
    let inner = std::iter::once(branch).chain(scene.inner_stmts(branch));
    inner.flat_map(Slot::around).collect()
}

fn last(scene: &Scene<'_>, stmt: StmtId) -> StmtId {
    match &scene.tree.stmt(stmt).kind {
        StmtKind::Block(stmts) => stmts.last().copied().unwrap_or(stmt),
        _ => stmt,
    }
}
