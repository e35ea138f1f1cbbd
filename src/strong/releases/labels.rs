//! Releases at the labels where a function cleans up.
//!
//! ```c
//! error:
//!     Py_DECREF(v);           /* for all who jump here, in place of one release each */
//!     Py_XDECREF(other);
//!     return NULL;
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::merge::length;
use super::{meeting, starting_null};
use crate::ast::{ExprId, Parent, StmtId, StmtKind};
use crate::strong::exits::branch::stmts;
use crate::strong::exits::exit::Failure;
use crate::strong::follow::slots::Slot;
use crate::strong::follow::{Decisions, Follower};
use crate::strong::plan::{Home, Lookup};
use crate::strong::scene::Scene;

/// The shortest decisions that release behind a label.
pub(in crate::strong) fn at_label(
    follower: &mut Follower<'_, '_>,
    home: &Home,
) -> Option<Decisions> {
    // A fresh variable may be out of scope at the label.
    if home.local.is_none() && !home.is_apart {
        return None;
    }
    // New exits of lookups that can fail now jump to the label as well, or release by themselves.
    let new_exit = |lookup: &Lookup| matches!(lookup.failure, Failure::Exit(_));
    if home.lookups.iter().any(new_exit) {
        return None;
    }
    let scene = follower.scene;
    let alone = before_last_label(scene).and_then(|slots| without(follower, slots));
    let alone = alone.filter(|decisions| decisions.releases.len() == 1);
    let mut found: Vec<Decisions> = alone.into_iter().collect();
    for slots in before_jumps(scene) {
        let shared = without(follower, slots);
        found.extend(shared.filter(|decisions| !carries_over(follower, decisions)));
    }
    found.retain(|decisions| decisions.held.is_empty());
    found.into_iter().min_by_key(length)
}

/// The decisions that do without these slots.
fn without(follower: &mut Follower<'_, '_>, slots: BTreeSet<Slot>) -> Option<Decisions> {
    follower.suppressed = slots;
    let direct = meeting(follower).ok();
    let found = direct.or_else(|| starting_null(follower));
    follower.starts_null = false;
    found
}

/// Whether a loop would release the object of one pass in the next.
fn carries_over(follower: &Follower<'_, '_>, decisions: &Decisions) -> bool {
    let mut lookups = follower.lookups.keys();
    decisions.starts_null && lookups.any(|&call| is_in_loop(follower.scene, call))
}

fn is_in_loop(scene: &Scene<'_>, expr: ExprId) -> bool {
    let mut around = std::iter::successors(scene.stmt_of(expr), |&stmt| parent(scene, stmt));
    around.any(|stmt| {
        let kind = &scene.tree.stmt(stmt).kind;
        kind.is_loop()
    })
}

fn parent(scene: &Scene<'_>, stmt: StmtId) -> Option<StmtId> {
    match scene.parent_of_stmt(stmt)? {
        Parent::Stmt(parent) => Some(parent),
        Parent::Expr(expr) => scene.stmt_of(expr),
    }
}

/// The slots of all statements in front of the last label.
fn before_last_label(scene: &Scene<'_>) -> Option<BTreeSet<Slot>> {
    let labels = scene.tree.stmts.iter().filter_map(|stmt| match stmt.kind {
        StmtKind::Label { body, .. } => scene.stmt_span(body),
        _ => None,
    });
    let last = labels.map(|span| span.start()).max()?;
    let before = stmts(scene).filter(|&stmt| {
        let span = scene.stmt_span(stmt);
        span.is_some_and(|span| span.start() < last)
    });
    Some(before.flat_map(Slot::around).collect())
}

/// The slots on the way to the jumps to each label that several jump to: those in front of a
/// `goto`, and of what stands with it in the branch of an `if`.
fn before_jumps(scene: &Scene<'_>) -> Vec<BTreeSet<Slot>> {
    let mut jumps: BTreeMap<&str, Vec<StmtId>> = BTreeMap::new();
    for stmt in stmts(scene) {
        if let StmtKind::Goto(label) = &scene.tree.stmt(stmt).kind {
            jumps.entry(label).or_default().push(stmt);
        }
    }
    let shared = jumps.into_values().filter(|jumps| jumps.len() > 1);
    let slots = shared.map(|jumps| {
        let on_the_way = jumps
            .into_iter()
            .flat_map(|jump| on_the_way_to(scene, jump));
        on_the_way.flat_map(Slot::around).collect()
    });
    slots.collect()
}

fn on_the_way_to(scene: &Scene<'_>, jump: StmtId) -> Vec<StmtId> {
    match scene.siblings(jump).filter(|_| is_in_branch(scene, jump)) {
        Some((stmts, at)) => {
            let inner = stmts[..at].iter().flat_map(|&stmt| scene.inner_stmts(stmt));
            inner.chain(stmts[..=at].iter().copied()).collect()
        }
        None => vec![jump],
    }
}

/// Whether the block around `stmt` is a branch of an `if`.
fn is_in_branch(scene: &Scene<'_>, stmt: StmtId) -> bool {
    let outer = parent(scene, stmt).and_then(|block| parent(scene, block));
    outer.is_some_and(|outer| matches!(scene.tree.stmt(outer).kind, StmtKind::If { .. }))
}
