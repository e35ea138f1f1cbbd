//! Names of new variables that hold results of lookups.
//!
//! Where they are declared at the top of a block, statements that are done with theirs when they
//! end share one:
//!
//! ```c
//! x = PyFloat_AsDouble(PyList_GET_ITEM(list, 0));      item = PyList_GetItemRef(list, 0);
//!                                                      x = PyFloat_AsDouble(item);
//!                                                      Py_DECREF(item);
//! y = PyFloat_AsDouble(PyList_GET_ITEM(list, 1));      item = PyList_GetItemRef(list, 1);
//!                                                      …
//! ```
//!
//! Elsewhere each has its own, but where many statements would bring one each.

use std::collections::BTreeMap;

use super::saved::name_saved;
use crate::ast::{ExprId, Parent, StmtId, StmtKind};
use crate::capi::Replacement;
use crate::strong::follow::slots::Slot;
use crate::strong::guard::guarded;
use crate::strong::plan::{Lookup, Planned};
use crate::strong::reason::Reason;
use crate::strong::scene::Scene;
use crate::strong::shape::Shape;

/// From how many statements on one variable at the top serves all of them, where each could declare
/// its own.
const FEWEST_ON_TOP: usize = 4;

/// The names given so far, each with the statement in front of which it is declared.
#[derive(Default)]
pub(in crate::strong) struct Names(Vec<(String, Option<StmtId>)>);

impl Names {
    /// A name for a new variable in the block of `stmt`.
    pub(in crate::strong) fn fresh(
        &mut self,
        scene: &Scene<'_>,
        stmt: Option<StmtId>,
        wished: &str,
    ) -> String {
        let names = self.0.iter();
        let visible = names.filter(|(_, other)| scene.share_scope(stmt, *other));
        let mut taken = visible.map(|(name, _)| name.clone()).collect();
        let name = scene.unused_name(wished, &mut taken);
        self.0.push((name.clone(), stmt));
        name
    }
}

/// What the variable for a lookup is called if the name is free.
pub(in crate::strong) fn wished(lookup: &Lookup) -> &'static str {
    match lookup.shape {
        Shape::Presence(..) => "found",
        Shape::Guarded(_) => "holds",
        _ => stem(lookup.replacement),
    }
}

/// What a variable for the result is called.
pub(in crate::strong) fn stem(replacement: &Replacement) -> &'static str {
    match replacement.strong {
        name if name.starts_with("PyList") || name.starts_with("PySequence") => "item",
        name if name.starts_with("PyImport") => "module",
        name if name.starts_with("PyWeakref") => "referent",
        _ => "value",
    }
}

/// Names the fresh variables, those that can be one the same. Each change declares its own, with
/// the same edit, which is made once. `declined` are lookups that stay as they are.
pub(in crate::strong) fn name_fresh(
    scene: &Scene<'_>,
    groups: &mut [Vec<Planned>],
    declined: &BTreeMap<ExprId, Reason>,
) {
    let order = in_order(scene, groups);
    let places = order.iter().map(|&at| place(scene, groups, at));
    let places: Vec<Option<(StmtId, &str)>> = places.collect();
    let mut sharers: BTreeMap<(StmtId, &str), usize> = BTreeMap::new();
    for place in places.iter().flatten() {
        *sharers.entry(*place).or_default() += 1;
    }
    let fewest = match scene.mixes_declarations() {
        true => FEWEST_ON_TOP,
        false => 2,
    };
    let mut shared: BTreeMap<(StmtId, &str), String> = BTreeMap::new();
    let mut names = Names::default();
    for ((group, at), place) in order.into_iter().zip(places) {
        let place = place.filter(|place| sharers[place] >= fewest);
        let home = &mut groups[group][at].home;
        let lookup = &home.lookups[0];
        let (stmt, wished) = match home.is_apart {
            true => (None, &*home.name),
            false => (scene.stmt_of(lookup.call), wished(lookup)),
        };
        let own = match lookup.shape {
            Shape::Guarded(stmt) => guarded(scene, stmt, lookup.call).and_then(|it| it.local),
            _ => None,
        };
        let mut fresh = || match own {
            Some(local) => scene.name(local).to_owned(),
            None => names.fresh(scene, stmt, wished),
        };
        let name = match place {
            Some(place) => shared.entry(place).or_insert_with(fresh).clone(),
            None => fresh(),
        };
        home.is_shared = place.is_some();
        home.name = name;
    }
    name_saved(scene, groups, declined, &mut names);
}

/// The places in `groups` of the homes that get a fresh variable, in the order of their lookups.
fn in_order(scene: &Scene<'_>, groups: &[Vec<Planned>]) -> Vec<(usize, usize)> {
    let mut order = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        for (inner, planned) in group.iter().enumerate() {
            if planned.home.local.is_none() {
                let call = planned.home.lookups[0].call;
                order.push((scene.cfg.call(call), (at, inner)));
            }
        }
    }
    order.sort_unstable();
    order.into_iter().map(|(_, place)| place).collect()
}

/// The block of a lookup whose statement is done with the fresh variable when it ends, and the
/// function that looks up: changes of one rule are made in the order of their places.
fn place(
    scene: &Scene<'_>,
    groups: &[Vec<Planned>],
    (group, at): (usize, usize),
) -> Option<(StmtId, &'static str)> {
    let Planned {
        home, decisions, ..
    } = &groups[group][at];
    let [lookup] = &home.lookups[..] else {
        return None;
    };
    let Shape::Nested(stmt) = lookup.shape else {
        return None;
    };
    scene.siblings(stmt)?;
    let Parent::Stmt(block) = scene.parent_of_stmt(stmt)? else {
        return None;
    };
    let inner = scene.inner_stmts(stmt);
    let is_inside = |at: &StmtId| *at == stmt || inner.contains(at);
    let is_within = |slot: &Slot| match slot {
        Slot::After(at) | Slot::Else(at) | Slot::InReturn(at) => is_inside(at),
        Slot::Before(at) | Slot::Inside(at) => inner.contains(at),
    };
    // Two lookups of one statement need two variables.
    let beside = groups[group].iter().map(|other| &other.home.lookups);
    let mut beside = beside.flatten().filter(|other| other.call != lookup.call);
    let is_alone = !beside.any(|other| scene.stmt_of(other.call).is_some_and(|at| is_inside(&at)));
    let is_done = decisions.held.is_empty() && decisions.releases.keys().all(is_within);
    let is_decl = matches!(scene.tree.stmt(stmt).kind, StmtKind::Decl(_));
    (is_alone && is_done && !is_decl && !home.is_apart)
        .then_some((block, lookup.replacement.borrowed))
}
